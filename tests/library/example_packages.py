"""The packages of examples/, as if they were installed: a folder for `sys.path`."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGES = ("full_view", "newscast", "shared_directory", "push_pull")


def install(site: Path, *packages: str) -> None:
    """Write modules and entry points into a folder, which costs less than pip does."""
    for package in packages or PACKAGES:
        shutil.copy(EXAMPLES / package / f"{package}.py", site)
        project = tomllib.loads((EXAMPLES / package / "pyproject.toml").read_text())["project"]
        information = site / f"{package}-{project['version']}.dist-info"
        information.mkdir()
        metadata = (
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        (information / "METADATA").write_text(metadata)
        lines = []
        for group, entries in project["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
        (information / "entry_points.txt").write_text(os.linesep.join(lines))
