"""A page of a reproduction, or of a comparison, as a browser reads it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any, Final

from typing_extensions import override

_VOID: Final = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
"""The elements of HTML that have no end."""


def assert_whole(text: str) -> None:
    """Every element ends where it should, no id is there twice, each picture is XML, and nothing is
    loaded from elsewhere: a browser without a network shows all of it."""
    page = Page(text)
    page.close()
    assert text.startswith("<!doctype html>")
    assert (page.unclosed, page.misplaced) == ([], [])
    assert len(page.ids) == len(set(page.ids))
    assert [load for load in page.loads if not load.startswith("data:")] == []
    shown = re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)
    pictures = re.findall(r"<svg\b.*?</svg>", shown, re.DOTALL)
    assert 0 < len(pictures) == page.tags.count("svg")
    for picture in pictures:
        ET.fromstring(picture)


def specs_in(text: str) -> dict[str, Any]:
    """Return the specifications in a page, by the names of their figures."""
    (packed,) = re.findall(r'<script type="application/octet-stream" id="specs">(.*?)<', text)
    specs: dict[str, Any] = json.loads(zlib.decompress(b64decode(packed)))
    return specs


class Page(HTMLParser):
    """What a browser would load, and which elements there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.unclosed: list[str] = []
        self.misplaced: list[str] = []
        """The ends of elements that are not the innermost one."""
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in _VOID:
            self.unclosed.append(tag)
        for name, value in attrs:
            loads = name in ("src", "href", "xlink:href", "data", "action", "srcset")
            if loads and not (value or "").startswith("#"):  # else a place in the page itself
                self.loads.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.unclosed.pop()

    @override
    def handle_endtag(self, tag: str) -> None:
        if self.unclosed[-1:] == [tag]:
            self.unclosed.pop()
        else:
            self.misplaced.append(f"{tag} at {self.getpos()}")
