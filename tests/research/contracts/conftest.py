"""The contract of protocols runs on every one that is installed, or on `--protocol=multicast`."""

from __future__ import annotations

import pytest
from plug_options import chosen

from camcast.doors.plugs import PROTOCOL_GROUP, installed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the contract once for every protocol."""
    if "protocol" in metafunc.fixturenames:
        protocols = chosen(metafunc.config, "--protocol") or installed(PROTOCOL_GROUP)
        metafunc.parametrize("protocol", protocols)
