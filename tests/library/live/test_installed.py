"""What is built of this checkout, installed elsewhere: the source distribution and its wheel."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import camcast
from tests.python_process import output_of

ROOT = Path(__file__).parents[3]
BUILD = "from hatchling.build import build_sdist; build_sdist('.')"
BUILD_TWICE = """
import pathlib
from hatchling.build import build_wheel
gone = pathlib.Path("camcast/gone.py")
gone.touch()
build_wheel(".")
gone.unlink()
print(build_wheel("."))
"""


def ignored(folder: str, names: list[str]) -> set[str]:
    """Return what is not the checkout's: what builds, and runs beside the sources, left there."""
    patterns = [
        ".*",
        "build",
        "*.egg-info",
        "__pycache__",
        *(["runs"] if folder == str(ROOT) else []),
    ]
    return shutil.ignore_patterns(*patterns)(folder, names)


def run(*command: object, cwd: Path, path: Path | None = None) -> str:
    """Run a command that sees no checkout but `path`; return what it printed."""
    return output_of(*command, cwd=cwd, PYTHONPATH=str(path or ""))


def test_it_works_where_the_checkout_is_not(tmp_path: Path) -> None:
    """Built without an index: a distribution that can be tested, and a wheel that runs."""
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(ROOT, source, ignore=ignored)
    run("-c", BUILD, cwd=source)
    [archive] = source.glob("*.tar.gz")
    assert archive.name == f"camcast-{camcast.__version__}.tar.gz"
    with tarfile.open(archive) as members:
        names = {name.partition("/")[2] for name in members.getnames()}
    tracked = {str(path.relative_to(source)) for path in source.rglob("*.*") if path.is_file()}
    assert tracked - names == {archive.name}

    # an earlier build leaves nothing in a later one, and what is no module comes along
    wheel = run("-c", BUILD_TWICE, cwd=source).strip()
    packaged = {
        name for name in tracked if name.startswith(("camcast/", "membership/", "overlays/"))
    }
    with zipfile.ZipFile(source / wheel) as members:
        assert {n for n in members.namelist() if ".dist-info/" not in n} == packaged

    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run("-m", "pip", "install", *options, "--target", site, archive, cwd=tmp_path)
    where = "import camcast, membership, overlays; print(camcast.__file__)"
    assert run("-c", where, cwd=tmp_path, path=site).startswith(str(site))
    arguments = ("run", "--community", ".a=3", "--events", 3, "--processes", 1, "--json")
    summary = json.loads(run("-m", "camcast", *arguments, cwd=tmp_path, path=site))
    assert (summary["events"], summary["lost"]) == (3, 0)
