"""What the benchmarks measure: `--membership` and `--protocol`, by default scamp and camcast."""

from __future__ import annotations

import pytest
from plug_options import chosen, discoveries_of

from camcast.doors.plugs import MEMBERSHIP_GROUP, installed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Measure each chosen backend and protocol, and the discoveries of the chosen backends.

    A discovery is measured by itself, in a second, so without a choice all of them are.
    """
    memberships = chosen(metafunc.config, "--membership")
    values = {
        "membership": memberships or ["scamp"],
        "protocol": chosen(metafunc.config, "--protocol") or ["camcast"],
        "discovery": discoveries_of(memberships or installed(MEMBERSHIP_GROUP)),
    }
    for name, names in values.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, names, scope="module")
