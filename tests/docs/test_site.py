"""The documentation: programs run, names exist, references are complete, the site builds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.core import TyperGroup

import camcast
from camcast.cli.app import app
from camcast.research.scenarios.virtual import LIES
from tests.python_process import python

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_EXAMPLES = ROOT / "docs/plugs"  # its programs need examples/: tests/docs/test_plug_pages.py
PRINTS = {
    ("README.md", 0): "payload=b'Roma 3, Lazio 2'",  # of an event's repr; its id differs each time
    ("api.md", 0): "b'21.5'\n",
    ("recipes.md", 0): "",  # a test, which asserts
    ("tutorial.md", 0): "b'Roma 3, Lazio 2'\n",
    ("tutorial.md", 1): "Reading(site='roof', celsius=34.0)\n",
    ("tutorial.md", 2): "too slow: 3 events were dropped here\ngot b'3'\ngot b'4'\n",
}


def programs() -> list[tuple[str, int, str]]:
    """Return the page, the number and the text of every Python block that is a whole program."""
    return [
        (page.name, number, text)
        for page in PAGES
        if page.parent != OF_EXAMPLES
        for number, text in enumerate(
            block
            for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
            if "asyncio.run(" in block
        )
    ]


@pytest.mark.parametrize(("page", "number", "text"), programs())
def test_a_program_prints_what_its_page_says(page: str, number: int, text: str) -> None:
    tests = [f"{name}()\n" for name in re.findall(r"^def (test_\w+)\(\)", text, re.M)]
    done = python("-W", "error", "-c", text + "".join(tests))
    assert (done.returncode, done.stderr) == (0, "")
    assert PRINTS[page, number] in done.stdout


def test_the_readme_is_one_page() -> None:
    """800 words, by `wc -w`: what a newcomer reads before the first decision."""
    assert len((ROOT / "README.md").read_text().split()) <= 800


@pytest.fixture(scope="module")
def site_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs/site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_the_command_line_has_every_command(site_pages: ModuleType) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    names = [name for name, _ in site_pages.commands("camcast", group)]
    described = re.findall(r"^## (.*)$", site_pages.cli_page(), re.M)
    assert described == names
    assert {"camcast subscribe", "camcast keys new", "camcast simulate virtual"} <= set(names)


def test_every_command_of_the_reference_has_an_example_of_itself(site_pages: ModuleType) -> None:
    for section in site_pages.cli_page().split("\n## ")[1:]:
        name = section.partition("\n")[0]
        examples = re.findall(r"^`(camcast .*)`$", section, re.M)
        assert examples, name
        assert all(example.startswith(name) for example in examples), name
        assert len(examples) == len(set(examples)), name


def test_the_reference_of_the_command_line_has_every_option(site_pages: ModuleType) -> None:
    sections = dict(
        section.partition("\n")[::2] for section in site_pages.cli_page().split("\n## ")[1:]
    )
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for name, command in site_pages.commands("camcast", group):
        for one in command.params:
            if not getattr(one, "hidden", False) and one.opts[0].startswith("--"):
                assert one.opts[0] in sections[name], (name, one.opts[0])


def test_the_reference_of_the_interface_has_all_that_is_exported() -> None:
    named = set(re.findall(r"^::: camcast\.(\w+)$", (ROOT / "docs/reference.md").read_text(), re.M))
    assert set(camcast.__all__) - named == {"ROOT", "__version__"}


def test_every_lie_of_the_virtual_network_is_described() -> None:
    table = (ROOT / "docs/research/running.md").read_text().partition("| `sends` |")[2]
    told = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.M)
    assert told == list(LIES)


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    build = ("-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site")
    done = python(*build, cwd=ROOT, NO_MKDOCS_2_WARNING="1")
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = [page for page in (tmp_path / "site").rglob("*.html") if "source" not in page.parts]
    assert len(pages) == len(PAGES) + 2  # the commands, and the page of what is not there
    fetched = re.compile(r"<(?:script|img|iframe)[^>]*src=\"?https?:|<link[^>]*href=\"?https?:")
    assert not [page.name for page in pages if fetched.search(page.read_text())]
