"""Docstrings say what a thing is, in a noun or an act, before they say more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs.test_names import ROOT

HEADLESS: Final = re.compile(r"\s*(?:What|Who|Whose|Whom)\b")
HEADLESS_MAX: Final = 10  # chosen: a question is now and then the best head of a module


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Return the docstrings of a file, those of attributes too, with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    yield statement.lineno, text


def test_docstrings_do_not_begin_with_a_headless_clause() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.partition(chr(10))[0]}"
        for folder in ("camcast", "membership", "overlays")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in docstrings(path)
        if HEADLESS.match(text)
    ]
    assert len(found) <= HEADLESS_MAX, "\n".join(found)


def test_docstrings_of_attributes_and_of_modules_are_found() -> None:
    texts = [text for _, text in docstrings(ROOT / "camcast/observe/counters.py")]
    assert len(texts) > 20
