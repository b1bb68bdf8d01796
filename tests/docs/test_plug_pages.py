"""The pages on plugs: each block of code is a quotation from examples/, or runs beside them."""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import shutil
import sys
import tokenize
from pathlib import Path
from typing import Final

import pytest

from tests.docs.test_names import ROOT
from tests.library.example_packages import EXAMPLES, PACKAGES, install
from tests.python_process import output_of

PAGES: Final = [ROOT / "docs/plugs.md", *sorted((ROOT / "docs/plugs").glob("*.md"))]
QUOTED: Final = [
    path.read_text()
    for package in PACKAGES
    for path in (EXAMPLES / package / f"{package}.py", EXAMPLES / package / "pyproject.toml")
]
WORDS: Final = re.compile(r"`\.?(\w+)(?:\([^`]*\)|\.py)?`")
SOURCES: Final = [
    *(ROOT / "camcast").rglob("*.py"),
    *EXAMPLES.rglob("*.py"),
    *ROOT.glob("overlays/*.py"),
]
OF_PYTHON: Final = {"False", "True", "nan", "infinity", "KeyboardInterrupt", "SystemExit"}


def blocks(language: str) -> list[tuple[str, str]]:
    """Return the blocks of a language that are no quotations, each with its page."""
    return [
        (page.name, text)
        for page in PAGES
        for text in re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)
        if not any(text in quoted for quoted in QUOTED)
    ]


def lines_of_code(text: str) -> int:
    """Count the lines that have more than comments and docstrings."""
    no_code = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in no_code | {tokenize.ENDMARKER}
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


@pytest.mark.parametrize(
    ("package", "lines_max"),
    [("full_view", 80), ("newscast", 80), ("shared_directory", 40), ("push_pull", 50)],
)
def test_an_example_is_as_short_as_the_page_says(package: str, lines_max: int) -> None:
    lines = lines_of_code((EXAMPLES / package / f"{package}.py").read_text())
    assert 40 <= lines <= lines_max


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder of the installed examples."""
    site = tmp_path / "site"
    site.mkdir()
    install(site)
    return site


def test_every_block_has_a_language_that_is_tried() -> None:
    languages = [
        language for page in PAGES for language in re.findall(r"^```(.*)$", page.read_text(), re.M)
    ]
    assert set(languages) == {"", "python", "toml", "console"}  # the end of a block has none
    assert languages.count("") == len(languages) / 2


@pytest.mark.parametrize(("page", "text"), blocks("python"))
def test_a_program_runs(page: str, text: str, site: Path) -> None:
    tests = [
        f"{name}().test_the_first_one_founds_the_community()\n"
        for name in re.findall(r"^class (Test\w+)", text, re.M)
    ]
    printed = output_of("-W", "error", "-c", text + "".join(tests), PYTHONPATH=str(site))
    assert printed == ("b'21.5'\n" if "asyncio.run(" in text else "")


def test_a_toml_file_is_an_examples_or_a_scenario() -> None:
    assert [page for page, text in blocks("toml") if "[workload]" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), blocks("console"))
def test_commands_end_well(page: str, text: str, site: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    for scenario in [text for of, text in blocks("toml") if of == page]:
        (tmp_path / "scenario.toml").write_text(scenario)
    folder = tmp_path
    for line in text.splitlines():
        prompt, *command = shlex.split(line)
        assert prompt == "$"
        match command:
            case ["pip", "install", path]:
                assert (folder / path / "pyproject.toml").is_file()
            case ["cd", path]:
                folder /= path
            case ["camcast", *arguments]:
                output_of("-m", "camcast", *arguments, cwd=folder, PYTHONPATH=_path(site))
            case ["python", *arguments]:
                output_of(*arguments, cwd=folder, PYTHONPATH=_path(site))
            case _:
                raise AssertionError(line)


def _path(site: Path) -> str:
    return os.pathsep.join([str(site), *filter(None, sys.path)])


def test_every_word_in_type_of_code_is_in_the_code() -> None:
    sources = "\n".join(path.read_text() for path in SOURCES)
    known = set(re.findall(r"\w+", sources)) | OF_PYTHON
    words = {word for page in PAGES for word in WORDS.findall(page.read_text())}
    assert len(words) > 50
    assert words <= known, words - known
