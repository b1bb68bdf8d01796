"""Connections that say nothing keep nobody out, as many as one process makes of them."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from camcast import CommunityManager, open_pipes
from camcast.doors.transport import OutputPipes, PipeLimits
from camcast.live.profiles.certificate_file import certificate_text
from camcast.live.profiles.key_file import write_key_pair
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.transports import find_transport
from camcast.live.wire.zmtp import zmtp_input
from camcast.live.wire.zmtp.zmtp_input import OF_A_PROCESS
from camcast.security.keys import SecretKey
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.wire import FRAME_HEADER
from tests.authority import ADA, CLUB, EVE, ROOT
from tests.library.hostile.victim import PUSH
from tests.library.live.pipe_ends import ANY_PORT, HEADER, Inbox, at, knock, make_record
from tests.patience import eventually, live
from tests.signed_world import certificate, key, with_own

ZMTP = find_transport("zmtp")
MOST = 8


@live
async def test_connections_that_say_nothing_make_room_for_a_newcomer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that a gateway could take were kept by one stranger, in `open`, for 0.04 s of CPU."""
    theirs = ZMTP(PipeLimits(connections_max=MOST), frame_header=HEADER)
    inbox, newcomer = Inbox(), ZMTP(None, frame_header=HEADER)
    pipe, loop = theirs.open_input(ANY_PORT, inbox), asyncio.get_running_loop()
    with ExitStack() as stack:
        for _ in range(MOST):
            silent = stack.enter_context(knock(pipe.address))
            silent.setblocking(False)
            await loop.sock_sendall(silent, PUSH)
            await loop.sock_recv(silent, 1024)
        await eventually(lambda: len(theirs.connections) == MOST)
        monkeypatch.setattr(zmtp_input, "IDLE_SECONDS", 0.0)
        newcomer.send([at(pipe.address)], make_record(1))
        assert await inbox.has_numbers(1) == [1]
        assert len(theirs.connections) == MOST
        assert pipe.counters.connections_replaced == 1
    newcomer.close()
    theirs.close()


def test_a_certified_process_has_two_connections_however_many_it_makes(tmp_path: Path) -> None:
    """420 connections, with a certificate for whatever topic, kept everybody else out."""
    for name, secret in (("root", ROOT), ("ada", ADA)):
        write_key_pair(tmp_path / f"{name}.key", secret)
    (tmp_path / "ada.cert").write_text(certificate_text([certificate(ADA)]))

    links = SignedLinks.of(with_own(EVE, certificate(EVE, ".a.x")), {}, Clock(), time.time)
    links.known.reached_at("tcp://127.0.0.1:9")

    async def test() -> None:
        async with CommunityManager(
            identity=tmp_path / "ada.key",
            certificates=tmp_path / "ada.cert",
            trust=tmp_path / "root.pub",
        ) as ada:
            links.pin(ada.address, ADA.public.raw)
            made = [ZMTP(frame_header=FRAME_HEADER, profile=links) for _ in range(MOST)]
            for pipes in made:
                pipes.send([Contact(UNKNOWN_PEER, ada.address)], make_record(1))
            await eventually(lambda: ada.counters.input.connections_replaced == MOST - OF_A_PROCESS)
            assert len(ada.pipes.connections) == OF_A_PROCESS
            for pipes in made:
                pipes.close(0)

    live(test)()


@pytest.mark.parametrize("profile", ["open", "shared-key", "signed"])
def test_a_newcomer_joins_though_all_places_are_kept_by_the_silent(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In `signed` each of the silent has a certificate of its own, for another topic."""
    write_key_pair(tmp_path / "root.key", ROOT)

    def process(name: str, secret: SecretKey) -> dict[str, Any]:
        if profile == "open":
            return {}
        if profile == "shared-key":
            return {"passphrase": "correct horse battery staple"}
        write_key_pair(tmp_path / f"{name}.key", secret)
        path = tmp_path / f"{name}.cert"
        path.write_text(certificate_text([certificate(secret)]))
        identity = {"identity": tmp_path / f"{name}.key", "certificates": path}
        return {**identity, "trust": tmp_path / "root.pub"}

    def silent(number: int, address: str) -> OutputPipes:
        if profile != "signed":
            return open_pipes("tcp", **process("", EVE))
        links = SignedLinks.of(
            *(with_own(key(number), certificate(key(number), ".x")), {}, Clock(), time.time)
        )
        links.known.reached_at("tcp://127.0.0.1:9")
        links.pin(address, ADA.public.raw)
        return ZMTP(frame_header=FRAME_HEADER, profile=links)

    async def test() -> None:
        async with CommunityManager(**process("ada", ADA)) as ada:
            await ada.join(".soccer")
            ada.pipes._accepted.most = MOST  # type: ignore[attr-defined]  # of `zmtp`
            made = [silent(number, ada.address) for number in range(1, MOST + 1)]
            for pipes in made:
                pipes.send([Contact(UNKNOWN_PEER, ada.address)], make_record(1))
            await eventually(lambda: len(ada.pipes.connections) == MOST)
            monkeypatch.setattr(zmtp_input, "IDLE_SECONDS", 0.0)
            gateway = ada.address + (f"#{ADA.public.text}" if profile == "signed" else "")
            async with CommunityManager(
                gateways=[gateway], transport="tcp", **process("eve", CLUB)
            ) as newcomer:
                community = await newcomer.join(".soccer")
                await community.ready()
            assert ada.counters.input.connections_replaced
            for pipes in made:
                pipes.close(0)

    live(test)()
