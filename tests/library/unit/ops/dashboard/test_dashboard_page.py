"""The script of the dashboard's page, in Node, over a small document of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from camcast.ops.dashboard.dashboard_page import page
from tests.patience import PATIENCE_SECONDS

NODE: Final = shutil.which("node")
CLAIMS: Final = Path(__file__).with_name("page_claims.js")
DEAR: Final = "a_thousand_processes_take_a_bounded_heap_however_long_the_page_is_open"  # 5 CPU s
NAMES: Final = re.findall(r"^  async (\w+)", CLAIMS.read_text(), re.M)


@pytest.mark.skipif(NODE is None, reason="there is no Node")
@pytest.mark.parametrize(
    "claim", [pytest.param(one, marks=[pytest.mark.slow] * (one == DEAR)) for one in NAMES]
)
def test_the_page_holds_to(claim: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page())
    command = [str(NODE), "--expose-gc", str(CLAIMS), claim, str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
