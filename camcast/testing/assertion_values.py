"""Assertions of contracts that show values: pytest rewrites those of the modules named here.

It does so only for modules that are imported after this one, and only if pytest runs.
"""

import sys
from typing import Final

REWRITTEN: Final = (
    "camcast.research.testing.protocol_contract",
    "camcast.testing.discovery_contract",
    "camcast.testing.membership_contract",
    "camcast.testing.pressed_membership_contract",
    "camcast.testing.super_table_contract",
)

if (_pytest := sys.modules.get("pytest")) is not None:
    _pytest.register_assert_rewrite(*REWRITTEN)
