"""A page runs its own script and no other, whatever stands in its data."""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from camcast.ops.dashboard.dashboard_page import page
from camcast.ops.page_security import embedded_json
from camcast.research.report.drawing import Drawing
from camcast.research.report.page import document, picture

HOSTILE = "x<!--<script></script><img src=x onerror=alert(1)>\"'&"
MOMENT = {"taken": 1.0, "nodes": [{"socket": HOSTILE, "error": HOSTILE}]}


class Scripts(HTMLParser):
    """The elements of a page: its policy, its scripts by type, and all tags that begin."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.policy, self.scripts, self.tags = "", dict[str, str](), list[str]()
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        assert not [name for name in given if name.startswith("on")]
        if given.get("http-equiv") == "Content-Security-Policy":
            assert not self.scripts  # what stands before it is not under it
            self.policy = given["content"] or ""
        self._within = given.get("type") or "classic" if tag == "script" else ""

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within:
            self.scripts[self._within] = self.scripts.get(self._within, "") + data


def report() -> str:
    drawing = Drawing(spec={"title": HOSTILE}, svg="<svg></svg>", svg_file="", png=b"")
    name = f"benchmark-{HOSTILE}"
    return document(HOSTILE, [picture(name, HOSTILE, HOSTILE, drawing)], {name: drawing})


@pytest.mark.parametrize(
    ("make", "script", "data"),
    [
        (report, "module", "application/octet-stream"),
        (lambda: page([MOMENT]), "classic", "application/json"),
    ],
    ids=["report", "dashboard"],
)
def test_the_only_script_is_the_one_that_the_policy_names(
    make: Callable[[], str], script: str, data: str
) -> None:
    found = Scripts(make())
    assert set(found.scripts) == {data, script}
    assert "img" not in found.tags
    digest = base64.b64encode(hashlib.sha256(found.scripts[script].encode()).digest()).decode()
    rules = dict(rule.split(None, 1) for rule in re.sub(r"\s+", " ", found.policy).split(";"))
    assert rules["default-src"].strip() == "'none'"
    assert rules["script-src"].strip() == f"'sha256-{digest}'"
    assert "<" not in found.scripts[data]
    said = found.scripts[data]
    if data == "application/octet-stream":
        said = zlib.decompress(base64.b64decode(said)).decode()
    assert HOSTILE in json.dumps(json.loads(said)).replace('\\"', '"')


def test_embedded_json_means_the_same() -> None:
    assert json.loads(embedded_json(json.dumps([HOSTILE]))) == [HOSTILE]
