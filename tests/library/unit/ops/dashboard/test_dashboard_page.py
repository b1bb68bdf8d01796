"""The page is one file; what is in it tests/library/unit/ops/test_page_security.py looks at."""

import re

from camcast.ops.dashboard.dashboard_page import page


def test_the_page_asks_nobody_but_its_own_server() -> None:
    assert "default-src 'none'" in page()
    assert not re.findall(r'(?:src|href)="', page())
