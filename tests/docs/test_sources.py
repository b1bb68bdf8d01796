"""A bracketed source beside a number can be looked up: a paper, a standard, or a page of docs/."""

from __future__ import annotations

import re
import tokenize
from pathlib import Path
from typing import Final

import pytest

from tests.docs.test_names import ROOT, is_there

FILES: Final = sorted(
    path
    for folder in ("camcast", "membership", "overlays", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)
BRACKETED: Final = re.compile(r"(?<![\w\])])\[([^\[\]]+)\]")
NO_SOURCE: Final = re.compile(r"[-+]?\d{1,2}|\w|[^\w]*|:?\w*:?\w*")
"""An index, a slice or an interval in a comment."""
PAPERS: Final = re.compile(r"(?:00[0-4]|CAMCAST|daMulticast|hpmcast|percolation)\b")
BY_NAME: Final = re.compile(r"(?:SCAMP|Lifeguard|Cyclon|HyParView|Kademlia)\b")
PUBLISHED: Final = re.compile(
    r"(?:ZeroMQ )?RFC \d+"
    r"|[A-Z][\w.]+(?: and [A-Z]\w+| et al\.)? (?:19|20)\d\d"  # authors and a year
    r"|(?:POSIX|NIST|OWASP|WHATWG|Wikipedia|NaCl|Ed25519|Abramowitz and Stegun|Lentz)\b"
    r"|(?:convention|shell convention)\b"
    r"|\w+\(\d\)|linux/\w+\.h"  # pages of the manual, headers of the kernel
    r"|(?:kademlia|rpcudp|pyspark|Spark) [\d.]+"
    r"|(?:pyspark|org\.apache\.spark)\b|PythonGatewayServer"
)
PAGE: Final = re.compile(r"docs/[\w/.-]+\.md")
"""A source that names a page names one that is there."""


def comments(path: Path) -> list[str]:
    """Return the comments of a file, those in successive lines as one."""
    found: list[str] = []
    at = -1
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type != tokenize.COMMENT:
                continue
            text = token.string.removeprefix("#").strip()
            if at == token.start[0] - 1 and found:
                found[-1] += " " + text
            else:
                found.append(text)
            at = token.start[0]
    return found


def sources(comment: str) -> list[str]:
    """Return the bracketed sources in a comment; those of an ignore are none."""
    if re.match(r"type: ignore|noqa", comment):
        return []
    return [source for source in BRACKETED.findall(comment) if not NO_SOURCE.fullmatch(source)]


def can_be_looked_up(source: str) -> bool:
    if pages := PAGE.findall(source):
        return all((ROOT / page).exists() for page in pages)
    if any(form.match(source) for form in (PAPERS, BY_NAME, PUBLISHED)):
        return True
    name = re.match(r"[\w.]+", source)
    return name is not None and "." in name[0] and is_there(name[0])


def test_every_bracketed_source_can_be_looked_up() -> None:
    found = [
        (str(path.relative_to(ROOT)), source)
        for path in FILES
        for comment in comments(path)
        for source in sources(comment)
    ]
    assert len(found) > 100
    assert not [one for one in found if not can_be_looked_up(one[1])]


def test_papers_that_a_source_names_are_in_the_list_of_papers() -> None:
    page = (ROOT / "docs/architecture.md").read_text().partition("## Where numbers come from")[2]
    for name in ("000", "001", "002", "003", "004", "SCAMP", "Lifeguard", "Cyclon", "HyParView"):
        assert name in page


@pytest.mark.parametrize(
    "source",
    ["NOTES 4", "ticket 12", "docs/no-such-page.md", "membership.scamp.no_such_name", "the paper"],
)
def test_what_cannot_be_looked_up_is_found(source: str) -> None:
    (found,) = sources(f"[{source}] chosen: a reason")
    assert not can_be_looked_up(found)
