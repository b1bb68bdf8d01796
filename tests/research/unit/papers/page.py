"""A page of a reproduction as a browser reads it."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any

from typing_extensions import override


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
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            loads = name in ("src", "href", "xlink:href", "data", "action", "srcset")
            if loads and not (value or "").startswith("#"):  # else a place in the page itself
                self.loads.append(value or "")
            if name == "id":
                self.ids.append(value or "")
