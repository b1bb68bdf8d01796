"""A remote host that floods a process with handshakes, or with datagrams of unknown keys."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest

from camcast.doors.datagrams import Endpoint
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.profiles.signed_port import STRANGERS_A_SECOND, SignedPort
from camcast.live.transports import find_transport
from camcast.live.wire.zmtp.zmtp_input import HANDSHAKES_A_SECOND
from camcast.security.keys import SecretKey
from camcast.vocabulary import host_rates
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.host_rates import AT_ONCE_SECONDS
from tests.authority import ADA
from tests.library.live.pipe_ends import ANY_PORT, HEADER, Inbox, at, knock, make_record
from tests.patience import eventually, live
from tests.signed_world import certificate, key, with_own

ZMTP = find_transport("zmtp")
FLOODING, OTHER = ("192.0.2.1", 4000), ("192.0.2.2", 4000)
CLOCK = Clock(0.0, 1_000.0)
NONCES = count(1)


class Victim:
    """A process of `signed` that hears datagrams, and how often it did curve arithmetic."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.heard: list[bytes] = []
        self.met = 0
        links = self.process(ADA)
        meet = links.boxes._meet

        def counting(sender: bytes) -> Any:
            self.met += 1
            return meet(sender)

        monkeypatch.setattr(links.boxes, "_meet", counting)

        def beneath(take: Callable[[int, Endpoint, bytes], None]) -> Any:
            self._take = take

        self.port = SignedPort(lambda *said: self.heard.append(said[2]), links, beneath)

    def process(self, secret: SecretKey) -> SignedLinks:
        own = with_own(secret, certificate(secret))
        links = SignedLinks.of(own, {}, CLOCK, lambda: self.now)
        links.known.reached_at("tcp://192.0.2.9:4000")
        return links

    def hears(self, sender: SignedLinks, source: Endpoint) -> bool:
        """Say whether something that a process sends from a source is taken."""
        said = b"%d" % next(NONCES)
        nonces = next(NONCES).to_bytes(24), next(NONCES).to_bytes(24)
        for datagram in sender.boxes.seal(said, ADA.public.raw, nonces, sender.wall()):
            self._take(4000, source, datagram)
        return said in self.heard

    def flooded(self, datagrams: int) -> int:
        """Return of how many of so many datagrams of unknown keys the arithmetic is done."""
        before = self.met
        for _ in range(datagrams):
            self._take(4000, FLOODING, next(NONCES).to_bytes(32) + bytes(400))
        return self.met - before


@live
async def test_a_host_that_dials_without_end_is_refused_and_its_honest_process_comes_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loopback stands for a remote host; a burst is of three handshakes here."""
    monkeypatch.setattr(host_rates, "network_of", lambda host: host)
    monkeypatch.setattr(host_rates, "AT_ONCE_SECONDS", 3 / HANDSHAKES_A_SECOND)
    theirs, inbox = ZMTP(None, frame_header=HEADER), Inbox()
    pipe = theirs.open_input(ANY_PORT, inbox)
    newcomer = ZMTP(None, frame_header=HEADER)
    with ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(knock(pipe.address))
        await eventually(lambda: pipe.counters.handshakes_refused >= 30)
        newcomer.send([at(pipe.address)], make_record(1))
        assert await inbox.has_numbers(1) == [1]
    assert pipe.counters.connections_refused == 0
    newcomer.close()
    theirs.close()


def test_datagrams_of_unknown_keys_cost_a_bounded_rate_and_known_processes_are_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    victim = Victim(monkeypatch)
    burst = int(STRANGERS_A_SECOND * AT_ONCE_SECONDS)
    known = victim.process(key(1))
    assert victim.hears(known, FLOODING)
    assert victim.flooded(2 * burst) == burst - 1
    assert not victim.hears(victim.process(key(2)), FLOODING)
    assert victim.hears(victim.process(key(3)), OTHER)
    assert victim.hears(known, FLOODING)
    victim.now += 1.0
    assert victim.flooded(2 * burst) == STRANGERS_A_SECOND
    victim.now += 1.0
    assert victim.hears(victim.process(key(2)), FLOODING)


def test_a_hundred_newcomers_at_once_are_heard_from_one_host_and_from_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    victim = Victim(monkeypatch)
    for number in range(100):
        for source in (FLOODING, (f"198.51.100.{number}", 4000)):
            assert victim.hears(victim.process(key(1000 + number)), source)


@live
async def test_a_hundred_newcomers_that_dial_at_once_from_one_host_are_all_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loopback stands for a remote host."""
    monkeypatch.setattr(host_rates, "network_of", lambda host: host)
    theirs, inbox = ZMTP(None, frame_header=HEADER), Inbox()
    pipe = theirs.open_input(ANY_PORT, inbox)
    newcomers = [ZMTP(None, frame_header=HEADER) for _ in range(100)]
    for number, newcomer in enumerate(newcomers):
        newcomer.send([at(pipe.address)], make_record(number))
    assert sorted(await inbox.has_numbers(100)) == list(range(100))
    assert pipe.counters.handshakes_refused == pipe.counters.connections_refused == 0
    for newcomer in newcomers:
        newcomer.close()
    theirs.close()
