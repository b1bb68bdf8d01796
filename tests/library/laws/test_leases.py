"""No lease outlasts the patience of whoever waits for it: all leases, and all patiences.

A lease is a time in which a process that died is still named, shown or believed. Whoever is led to
it by that finds out and goes on, within the time beside it, before the call that waits gives up.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Final

import pytest

import camcast
import membership
import overlays
from camcast.app.community import JOIN_SECONDS
from camcast.cli.publish import WAIT_SECONDS
from camcast.doors.first_contacts import ANSWER_SECONDS, CONTACTS_WANTED
from camcast.engine.joining import SILENT_TIMES
from camcast.engine.questions import QUESTION_SECONDS
from camcast.engine.repair.asking import AGAIN_SECONDS_MAX, GIVE_UP_SECONDS, HOLDERS_MAX
from camcast.engine.super_topic_table import CHECK_TIMEOUT_SECONDS
from camcast.live.wire.zmtp.zmtp_pipes import CONNECT_SECONDS_MAX
from overlays.gateways import CHECK_SECONDS
from overlays.kademlia.timeouts import ATTEMPTS, SECONDS_MIN
from overlays.lan import LOOK_SECONDS

ASKED: Final = CONTACTS_WANTED * ANSWER_SECONDS
"""How long a newcomer asks the contacts of one answer."""
CALL: Final = sum(ATTEMPTS) * SECONDS_MIN
"""How long a call in the DHT lasts without an answer."""

WAITS: Final = {
    # Asked in vain, said so, checked at the gateway; the same for what the next answer names.
    "overlays.register.LEASE_SECONDS": (2 * ASKED + 2 * CHECK_SECONDS + CALL, JOIN_SECONDS),
    # Named so many times, and then left out by the process itself.
    "overlays.lan.LEASE_SECONDS": (LOOK_SECONDS + SILENT_TIMES * ASKED, JOIN_SECONDS),
    # A node that failed twice is not asked again while a process joins.
    "overlays.kademlia.protocol.DEAD_SECONDS": (3 * CALL, JOIN_SECONDS),
    # What is named as living is asked before it is taken into a table.
    "camcast.engine.super_topic_table.LIVED_SECONDS": (2 * CHECK_TIMEOUT_SECONDS, WAIT_SECONDS),
    # The next holder is asked when one does not answer.
    "camcast.engine.remote_queries.BELOW_SECONDS": (
        HOLDERS_MAX * AGAIN_SECONDS_MAX,
        GIVE_UP_SECONDS,
    ),
    # A link to the address of a record that is out of date is not made.
    "camcast.security.records.LIFETIME_SECONDS": (CONNECT_SECONDS_MAX, JOIN_SECONDS),
    # Nobody waits for the cold list: it is tried beside what goes on.
    "camcast.vocabulary.cold_list.COLD_SECONDS": (0.0, JOIN_SECONDS),
    # An address that was proved once may be dead: what is sent there is lost, and nobody waits.
    "camcast.engine.questions.PROVED_SECONDS": (QUESTION_SECONDS, JOIN_SECONDS),
    "overlays.kademlia.protocol.PROVEN_SECONDS": (0.0, JOIN_SECONDS),
    # A super-topic that members told of is searched for beside those above it.
    "camcast.vocabulary.hierarchy.TOLD_SECONDS": (0.0, WAIT_SECONDS),
}
"""By lease: how long whoever waits is held up at most, and its patience, in seconds."""

NAMES: Final = re.compile(r"(LEASE|LIVED|LIFETIME|COLD|BELOW|PROVED|PROVEN|TOLD|DEAD)_SECONDS")


def leases() -> dict[str, float]:
    found: dict[str, float] = {}
    for package in (camcast, membership, overlays):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith("camcast.research") or module.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                if NAMES.fullmatch(name):
                    found.setdefault(f"{module.name}.{name}", float(value))
    return found


def test_every_lease_stands_here() -> None:
    defined = {name.rpartition(".")[2]: value for name, value in leases().items()}
    assert {name.rpartition(".")[2] for name in WAITS} == set(defined)
    assert WAITS.keys() <= leases().keys()


@pytest.mark.parametrize("lease", WAITS)
def test_nobody_gives_up_before_it_finds_out(lease: str) -> None:
    held_up, patience = WAITS[lease]
    assert held_up < patience
