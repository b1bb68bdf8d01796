"""Who keeps a connection where all are taken, and how many one process gets."""

from __future__ import annotations

from typing import Any, cast

import pytest

from camcast.doors.transport import PipeLimits
from camcast.live.wire.zmtp.zmtp_input import (
    HOST_SHARE,
    IDLE_SECONDS,
    OF_A_PROCESS,
    Accepted,
    Connection,
    ZmtpInput,
)
from camcast.vocabulary.identity import PeerId

NOW = 100.0
MOST = 2 * HOST_SHARE
HERE, FAR, OTHER = "127.0.0.1", "192.0.2.1", "2001:db8::1"
ONE, TWO = (cast(ZmtpInput, object()) for _ in range(2))
"""Two inputs of one event loop."""


def connection(host: str, heard: float, owner: ZmtpInput = ONE) -> Connection:
    nothing: Any = None
    return Connection(nothing, host, owner, 0.0, nothing, heard)


def full(*connections: Connection) -> Accepted:
    accepted = Accepted(MOST, PipeLimits())
    for one in connections:
        accepted.add(one)
    return accepted


@pytest.mark.parametrize("host", [HERE, FAR])
def test_the_connection_that_is_idle_for_longest_makes_room(host: str) -> None:
    """420 connections that said nothing, with one certificate or none, kept everybody else out."""
    idle = [connection(host, NOW - IDLE_SECONDS - number) for number in range(MOST)]
    accepted = full(*idle)
    assert accepted.place_for(host, NOW) is idle[-1]
    accepted.discard(idle[-1])
    idle[-2].heard = NOW  # it has said something meanwhile
    assert accepted.place_for(host, NOW) is idle[-3]


def test_nobody_makes_room_who_says_something() -> None:
    accepted = full(*(connection(HERE, NOW - IDLE_SECONDS + 0.1) for _ in range(MOST)))
    assert accepted.place_for(HERE, NOW) is None
    assert accepted.place_for(HERE, NOW + 0.2) is not None


@pytest.mark.parametrize("other", [HERE, OTHER])
def test_a_remote_host_makes_room_for_other_hosts_down_to_its_share(other: str) -> None:
    busy = [connection(FAR, NOW - number / MOST) for number in range(MOST)]
    accepted = full(*busy)
    assert accepted.place_for(FAR, NOW) is None
    for left in range(MOST, MOST // HOST_SHARE, -1):
        assert accepted.place_for(other, NOW) is busy[left - 1]
        accepted.discard(busy[left - 1])
        accepted.add(connection(HERE, NOW))
    assert accepted.place_for(other, NOW) is None


def test_an_ipv6_network_is_one_host_and_the_mapped_loopback_none() -> None:
    """Whoever has one address of a network of 64 bits can take as many as a process has places."""
    busy = [connection(f"2001:db8::{number}", NOW - number / MOST) for number in range(MOST)]
    assert full(*busy).place_for(FAR, NOW) is busy[-1]
    assert full(*busy).place_for("2001:db8::ffff", NOW) is None
    assert full(*(connection(f"::ffff:{HERE}", NOW) for _ in busy)).place_for(FAR, NOW) is None


def test_a_process_has_two_connections_to_an_input_the_latest() -> None:
    ada, eve = PeerId(b"a" * 16), PeerId(b"e" * 16)
    accepted = Accepted(MOST, PipeLimits())

    def prove(heard: float, link: PeerId, owner: ZmtpInput = ONE) -> Connection | None:
        made.append(connection(FAR, heard, owner))
        accepted.add(made[-1])
        return accepted.has_proved(made[-1], link)

    made: list[Connection] = []
    assert [prove(9.0, eve), prove(1.0, eve), prove(0.0, ada, TWO)] == [None] * 3
    assert [prove(1.0, ada), prove(2.0, ada)] == [None, None]
    assert prove(3.0, ada) is made[3]
    accepted.discard(made[3])
    assert prove(4.0, eve) is made[1]
    assert prove(5.0, ada) is made[4]
    assert OF_A_PROCESS == 2
