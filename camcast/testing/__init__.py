"""Worlds and contracts for the tests of plugs: ours, and a third party's (docs/plugs.md).

`World` runs real nodes, and `Town` discoveries without nodes, both on virtual time; tests that need
more inherit from one of them. `LoneProcess`, of which a town is made, is for a test of one part of
a process. `MembershipContract` and `DiscoveryContract` test the promises of every plug: a test
class inherits one of them and names its plug. `SuperTableContract` holds a membership and its
discovery to the laws of super-topic tables. The contract of protocols is in
`camcast.research.testing`. `camcast.testing.mutation_score` says which mistakes in a plug its tests
find.
The package does not import pytest. If pytest runs, it rewrites the assertions of contracts, so that
they show values: for that it is told of their modules before these are imported.
"""

import sys

if (_pytest := sys.modules.get("pytest")) is not None:
    _pytest.register_assert_rewrite(
        "camcast.research.testing.protocol_contract",
        "camcast.testing.discovery_contract",
        "camcast.testing.membership_contract",
        "camcast.testing.pressed_membership_contract",
        "camcast.testing.super_table_contract",
    )

from camcast.testing.discovery_contract import DiscoveryContract
from camcast.testing.lone_process import LoneProcess
from camcast.testing.membership_contract import MembershipContract
from camcast.testing.super_table_contract import SuperTableContract
from camcast.testing.town import Town
from camcast.testing.world import World

__all__ = [
    "DiscoveryContract",
    "LoneProcess",
    "MembershipContract",
    "SuperTableContract",
    "Town",
    "World",
]
