"""A publisher's events within some milliseconds share a signature; an introduction is paid once."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from camcast import CommunityManager, CommunitySettings
from camcast.security.keys import Domain, PublicKey, SecretKey
from tests.authority import ADA, CLUB, ROOT
from tests.library.live.communities import OPTIONS, Inbox
from tests.library.live.identities import enrol, known_as
from tests.patience import eventually, live

EVENTS = 40


@pytest.fixture
def files(tmp_path: Path) -> Path:
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "ada", ADA, ".soccer")
    enrol(tmp_path, "club", CLUB, ".soccer")
    return tmp_path


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, Domain]]:
    """Count what is signed and verified, by what it is for."""
    counts = Counter[tuple[str, Domain]]()
    sign, verify = SecretKey.sign, PublicKey.verify

    def counting_sign(self: SecretKey, domain: Domain, message: bytes) -> bytes:
        counts["sign", domain] += 1
        return sign(self, domain, message)

    def counting_verify(self: PublicKey, domain: Domain, message: bytes, signature: bytes) -> bool:
        counts["verify", domain] += 1
        return verify(self, domain, message, signature)

    monkeypatch.setattr(SecretKey, "sign", counting_sign)
    monkeypatch.setattr(PublicKey, "verify", counting_verify)
    return counts


@live
@pytest.mark.slow  # 1 s each
@pytest.mark.parametrize("gather_seconds", [0.0, 0.02])
async def test_lone_events_that_are_gathered_share_signatures(
    gather_seconds: float, files: Path, counted: Counter[tuple[str, Domain]]
) -> None:
    parameters = CommunitySettings(gather_seconds=gather_seconds)
    known: dict[str, Any] = {"options": OPTIONS, "parameters": parameters}
    async with CommunityManager(**known_as(files, "club"), **known) as club:
        inbox = Inbox()
        (await club.join(".soccer")).subscribe(inbox)
        gateways = [club.address]
        async with CommunityManager(**known_as(files, "ada"), gateways=gateways, **known) as ada:
            soccer = await ada.join(".soccer")
            await soccer.ready()
            await soccer.publish(b"first")
            await eventually(lambda: inbox.payloads == [b"first"])
            counted.clear()
            for number in range(EVENTS):
                await soccer.publish(b"%d" % number)
                await asyncio.sleep(0.002)
            await eventually(lambda: len(inbox.payloads) == EVENTS + 1)
            assert inbox.payloads[1:] == [b"%d" % number for number in range(EVENTS)]
            signed = counted["sign", Domain.BATCH]
            assert counted["verify", Domain.BATCH] == signed
            if gather_seconds:
                assert signed <= EVENTS // 3
            else:
                assert signed > EVENTS // 2


@live
@pytest.mark.slow  # 3 s
async def test_an_introduction_is_verified_once_by_each_process_however_many_events_follow(
    tmp_path: Path, counted: Counter[tuple[str, Domain]]
) -> None:
    count = 6
    enrol(tmp_path, "root", ROOT)
    for number in range(count):
        enrol(tmp_path, str(number), SecretKey(bytes([number + 1]) * 32), ".soccer")
    async with AsyncExitStack() as stack:
        inboxes, gateways = list[Inbox](), list[str]()
        for number in range(count):
            known = known_as(tmp_path, str(number))
            manager = CommunityManager(**known, gateways=gateways, options=OPTIONS)
            await stack.enter_async_context(manager)
            gateways = gateways or [manager.address]
            soccer = await manager.join(".soccer")
            inboxes.append(Inbox())
            soccer.subscribe(inboxes[-1])
        await soccer.ready(2)
        await asyncio.sleep(3.0)
        introduced = counted["verify", Domain.PEER_RECORD]
        assert introduced <= count * (count - 1)
        counted.clear()
        for number in range(EVENTS):
            await soccer.publish(b"%d" % number)
            await asyncio.sleep(0.01)
        await eventually(lambda: all(len(inbox.payloads) == EVENTS for inbox in inboxes))
        assert counted["verify", Domain.BATCH] <= EVENTS * (count - 1)
        assert counted["verify", Domain.PEER_RECORD] + counted["verify", Domain.CERTIFICATE] == 0
        assert counted["sign", Domain.PEER_RECORD] == 0
