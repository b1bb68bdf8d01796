"""Files and names of the code that the documentation mentions are there, and nothing else is."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("docs/**/*.md")))]
FOLDERS: Final = "camcast|membership|overlays|tests|benchmarks|examples|docs"
PATH: Final = re.compile(rf"`((?:{FOLDERS})/[\w./-]*\w)`")
LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
NAME: Final = re.compile(r"`((?:camcast|membership|overlays)(?:\.\w+)+)`")
NO_MODULES: Final = {
    *(
        "camcast.membership",
        "camcast.overlays",
        "camcast.protocols",
        "camcast.commands",
    ),  # groups of entry points
    *("camcast.trace", "camcast.comparison", "camcast.sweep"),  # keys in Parquet's metadata
}
ABSENT: Final = re.compile(
    r"\b(?:DESIGN|TRUST|HABITS)\b|\b(?:PROTOCOLS|MEASURES)(?: \d|\.md)|\bissues? \d|\bstudies/"
    r"|\.\./shared|[\"']shared[\"']"
)
"""References to documents that a reader of the repository does not have."""


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    paths = PATH.findall((ROOT / page).read_text())
    assert not [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_of_the_checkout(page: str) -> None:
    """The page of the commands is made for the site alone: no page links to it."""
    links = LINK.findall((ROOT / page).read_text())
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_the_code_that_a_page_mentions_is_there(page: str) -> None:
    names = set(NAME.findall((ROOT / page).read_text())) - NO_MODULES
    assert not [name for name in names if not is_there(name)]


def test_no_file_refers_to_a_document_that_is_not_here() -> None:
    texts = {path: path.read_text() for path in files_of_the_project()}
    assert len(texts) > 1000
    assert not [(path, ABSENT.findall(text)) for path, text in texts.items() if ABSENT.search(text)]


@pytest.mark.parametrize(
    "text",
    ["(DESIGN 4)", "[issue 14]", "TRUST, profiles", "studies/x.md", '"shared" / "data"'],
)
def test_references_to_such_documents_are_found(text: str) -> None:
    assert ABSENT.search(text)


def files_of_the_project() -> list[Path]:
    """Return the files of text of the checkout, but for this one and what tools leave behind."""
    folders = ("camcast", "membership", "overlays", "tests", "benchmarks", "examples", "docs")
    paths = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*")]
    suffixes = {".py", ".md", ".toml", ".txt", ".csv", ".json", ".html", ".j2", ".yml", ".ipynb"}
    found = [path for path in (*paths, *ROOT.iterdir()) if path.is_file()]
    own = {*(ROOT / name for name in ("Makefile", "MANIFEST.in", "LICENSE"))}
    return sorted(
        path
        for path in found
        if (path.suffix in suffixes or path in own)
        and path != Path(__file__)
        and not {"build", "__pycache__"} & set(path.parts)
    )


def test_the_page_of_identity_lists_every_module_of_security() -> None:
    listed = set(PATH.findall((ROOT / "docs/identity.md").read_text()))
    modules = {str(p.relative_to(ROOT)) for p in ROOT.glob("camcast/security/[a-z]*.py")}
    assert len(modules) > 10
    assert modules <= listed


def is_there(name: str) -> bool:
    """Return True if a name is a module's, or leads from a module to an attribute."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if is_module(module := ".".join(parts[:length])):
            found: object = import_module(module)
            for part in parts[length:]:
                if part not in {*getattr(found, "__annotations__", {}), *dir(found)}:
                    return False
                found = getattr(found, part, None)
            return True
    return False


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
