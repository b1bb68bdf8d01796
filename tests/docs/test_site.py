"""The documentation: its programs run, its reference is that of the commands, its site builds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import camcast
from camcast.research.scenarios.virtual import LIES
from tests.python_process import python

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PRINTS = {
    ("README.md", 0): "",  # an event's repr, with an id that is another each time
    ("api.md", 0): "b'21.5'\n",
    ("tutorial.md", 0): "b'Roma 3, Lazio 2'\n",
    ("tutorial.md", 1): "Reading(site='roof', celsius=34.0)\n",
    ("tutorial.md", 2): "too slow: 3 events were dropped here\ngot b'3'\ngot b'4'\n",
}


def programs() -> list[tuple[str, int, str]]:
    """Return the page, the number and the text of every Python block that is a whole program."""
    return [
        (page.name, number, text)
        for page in PAGES
        for number, text in enumerate(
            block
            for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
            if "asyncio.run(" in block
        )
    ]


@pytest.mark.parametrize(("page", "number", "text"), programs())
def test_a_program_prints_what_its_page_says(page: str, number: int, text: str) -> None:
    done = python("-W", "error", "-c", text)
    assert (done.returncode, done.stderr) == (0, "")
    assert PRINTS[page, number] in done.stdout


def test_the_reference_of_the_command_line_is_that_of_the_commands() -> None:
    """If not: ``python docs/site_pages.py``."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs/site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    assert (ROOT / "docs/cli.md").read_text() == pages.cli_page()


def test_the_reference_of_the_interface_has_all_that_is_exported() -> None:
    named = set(re.findall(r"^::: camcast\.(\w+)$", (ROOT / "docs/reference.md").read_text(), re.M))
    assert set(camcast.__all__) - named == {"ROOT", "__version__"}


def test_no_command_gives_an_example_twice() -> None:
    for command in (ROOT / "docs/cli.md").read_text().split("\n## ")[1:]:
        examples = re.findall(r"^`(camcast .*)`$", command, re.M)
        assert len(examples) == len(set(examples)), command.partition("\n")[0]


def test_every_lie_of_the_virtual_network_is_described() -> None:
    table = (ROOT / "docs/simulation.md").read_text().partition("| `sends` |")[2]
    told = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.M)
    assert told == list(LIES)


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    build = ("-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site")
    done = python(*build, cwd=ROOT, NO_MKDOCS_2_WARNING="1")
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list((tmp_path / "site").glob("*.html"))
    assert len(pages) == len(PAGES) + 1  # and that of what is not there
    fetched = re.compile(r"<(?:script|img|iframe)[^>]*src=\"?https?:|<link[^>]*href=\"?https?:")
    assert not [page.name for page in pages if fetched.search(page.read_text())]
