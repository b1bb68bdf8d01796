"""The page is one file that can hold a recording, whatever names are in it."""

import json
import re

from camcast.dashboard.page import page


def test_a_name_in_a_recording_ends_no_script() -> None:
    moment = {"taken": 1.0, "nodes": [{"socket": "</script><script>alert(1)</script>"}]}
    text = page([moment])
    assert "alert(1)</script>" not in text
    [embedded] = re.findall(r'<script id="recording" type="application/json">(.*?)</script>', text)
    assert json.loads(embedded) == [moment]


def test_the_page_asks_nobody_but_its_own_server() -> None:
    assert "default-src 'none'" in page()
    assert not re.findall(r'(?:src|href)="', page())
