"""A page as a browser lays it out in a window of a given width, where Chromium is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from attrs import frozen

from tests.patience import PATIENCE_SECONDS

PHONE_PIXELS = 390
_CHROMIUM = shutil.which("chromium")
_MEASURE = """
const frame = document.querySelector("iframe");
frame.onload = () => {
  const inner = frame.contentDocument;
  const tables = [...inner.querySelectorAll(".scroll table")].filter(t => t.offsetParent);
  const values = tables.map(t => t.querySelector("tbody td:not(.how):not(:first-child)"));
  const found = {
    page: inner.documentElement.scrollWidth,
    first_values: values.filter(v => v).map(v => Math.round(v.getBoundingClientRect().left)),
  };
  document.querySelector("output").textContent = JSON.stringify(found);
};
"""


@frozen
class Layout:
    """What there is to see of a page without scrolling sideways."""

    page: int
    """How many pixels wide all of it is; more than the window if it overflows."""
    first_values: list[int]
    """Where the first value of each table that is not folded away begins."""


def laid_out(html: str, folder: Path, width: int = PHONE_PIXELS) -> Layout:
    """Lay a page out, without its scripts; skips the test where there is no Chromium."""
    if _CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    still = re.sub(r"<script.*?</script>|<meta http-equiv[^>]*>", "", html, flags=re.DOTALL)
    wrapped = (
        f'<!doctype html><iframe style="border:0;height:800px;width:{width}px"></iframe><output>'
        f"</output><script>{_MEASURE}"
        f"frame.srcdoc = {json.dumps(still).replace('</', '<' + chr(92) + '/')};</script>"
    )
    file = folder / "narrow.html"
    file.write_text(wrapped, "utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000")
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [_CHROMIUM, *options, profile, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    shown = re.search(r"<output>(\{.*?\})</output>", done.stdout)
    assert shown is not None, done.stderr
    return Layout(**json.loads(unescape(shown[1])))
