"""The contracts run on every plug that is installed, or on those that were chosen.

`--membership=scamp,hybrid`: on these backends and their discoveries.
"""

from __future__ import annotations

import pytest
from plug_options import chosen, discoveries_of

from camcast.doors.plugs import (
    MEMBERSHIP_GROUP,
    OVERLAY_GROUP,
    find_discovery,
    installed,
)
from camcast.testing.pressed_membership_contract import PressedMembership


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a contract once for every plug of its kind."""
    memberships = chosen(metafunc.config, "--membership")
    plugs = {
        "membership": memberships or installed(MEMBERSHIP_GROUP),
        "discovery": discoveries_of(memberships) if memberships else _in_towns(),
    }
    for kind, names in plugs.items():
        if kind in metafunc.fixturenames:
            metafunc.parametrize(kind, names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what presses a membership to the slow suite, except for one: 6 s of CPU for each."""
    for item in items:
        pressed = hasattr(PressedMembership, getattr(item, "originalname", ""))
        if pressed and item.nodeid.partition("[")[2] not in ("", "cyclon]"):
            item.add_marker(pytest.mark.slow)


def _in_towns() -> list[str]:
    """Return the discoveries that speak through the driver: a town cannot carry others' sockets."""
    return [
        name
        for name in installed(OVERLAY_GROUP)
        if not getattr(find_discovery(name), "hears_strangers", False)
    ]
