"""The wall clock of a live process is read at the start, and followed when it is set.

No clock of the machine is touched: what the driver reads as the wall clock is made to be wrong by
some seconds, for each process of the event loop as the test says.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from camcast import CommunityManager, Received
from camcast.doors.transport import InputPipe
from camcast.live import wall_clock
from camcast.live.transports import ZMQ, ZMTP
from camcast.live.wire.zmtp.zmtp_pipes import ZmtpPipes
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from tests.authority import ADA, CLUB, ROOT
from tests.library.live.communities import CERTAIN, OPTIONS
from tests.library.live.identities import enrol, known_as
from tests.patience import eventually, live

GATE = SecretKey(b"g" * 32)
SETTINGS: dict[str, Any] = {"options": OPTIONS, "parameters": CERTAIN}
_RIGHT = [0.0]
_AHEAD: ContextVar[list[float]] = ContextVar("ahead", default=_RIGHT)
"""By how many seconds the wall clock is ahead, for what runs in a context."""


@pytest.fixture(autouse=True)
def clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the driver read a wall clock that each process has for itself."""
    read = SimpleNamespace(time=lambda: time.time() + _AHEAD.get()[0])
    monkeypatch.setattr(wall_clock, "time", read)


async def start_ahead(manager: CommunityManager, ahead: list[float]) -> None:
    """Start a process that has a wall clock of its own: its timers run in this context."""
    context = copy_context()
    context.run(_AHEAD.set, ahead)
    await asyncio.create_task(manager.start(), context=context)


@live
async def test_an_event_is_not_published_in_the_future_by_the_time_of_the_bind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half a second is too little to be taken for a clock that was set."""
    bind = ZmtpPipes.open_input

    def slow(self: ZmtpPipes, *given: Any, **named: Any) -> InputPipe:
        time.sleep(0.5)
        opened: InputPipe = bind(self, *given, **named)
        time.sleep(0.1)
        return opened

    monkeypatch.setattr(ZmtpPipes, "open_input", slow)
    got: list[Received] = []
    before = time.time()
    async with CommunityManager(**SETTINGS) as manager:
        community = await manager.join(".a")
        community.subscribe(got.append)
        await community.publish(b"!")
        await eventually(lambda: bool(got))
        assert before + 0.6 - 0.001 <= got[0].published <= time.time() + 0.001  # in whole ms
        assert manager.stats().taken <= time.time()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "gate", GATE, ".", Rights.SERVE)
    enrol(tmp_path, "ada", ADA, ".soccer")
    enrol(tmp_path, "club", CLUB, ".soccer")
    return tmp_path


@pytest.mark.parametrize(
    ("transport", "set_by"),
    [(ZMTP, 600.0), (ZMTP, -600.0), (ZMTP, 3600.0), (ZMTP, -5000.0), (ZMQ, 5000.0), (ZMQ, -5000.0)],
)
@live
async def test_a_signed_process_is_let_in_when_its_clock_is_set_right(
    transport: str, set_by: float, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """NTP after the boot of a machine without a clock battery, or a resume from suspend."""
    caplog.set_level(logging.WARNING)
    settings = {**SETTINGS, "transport": transport}
    ahead = [-set_by]
    async with (
        CommunityManager(**known_as(files, "gate"), **settings) as gate,
        CommunityManager(**known_as(files, "ada"), gateways=[gate.gateway], **settings) as ada,
    ):
        soccer = await ada.join(".soccer")
        there: list[Received] = []
        soccer.subscribe(there.append)
        late = CommunityManager(**known_as(files, "club"), gateways=[gate.gateway], **settings)
        await start_ahead(late, ahead)
        try:
            joining = asyncio.create_task(late.join(".soccer", retry=True, timeout=60))
            await eventually(lambda: _is_refused(caplog))
            ahead[0] = 0.0
            theirs = await joining
            await theirs.ready(timeout=30)
            here: list[Received] = []
            theirs.subscribe(here.append)
            await theirs.publish(b"from the late one")
            await eventually(_has(there, b"from the late one"))
            await soccer.publish(b"to the late one")
            await eventually(_has(here, b"to the late one"))
            for one in (*here, *there):
                assert abs(one.published - time.time()) < 60.0
        finally:
            await late.close()
    (said,) = (one for one in caplog.records if "the clock of this machine was set" in one.message)
    assert said.levelno == logging.WARNING
    fields: dict[str, Any] = vars(said)["camcast"]
    assert fields["seconds"] == pytest.approx(set_by, abs=1.0)
    before, after = (datetime.fromisoformat(fields[name]) for name in ("from", "to"))
    assert (after - before).total_seconds() == pytest.approx(set_by, abs=2.0)


@live
async def test_what_a_process_says_of_the_time_follows_its_clock(tmp_path: Path) -> None:
    """Its events, the account of an event, its snapshot; how long it is up is no matter of that."""
    ahead, got = [0.0], list[Received]()
    manager = CommunityManager(control=tmp_path / "socket", **SETTINGS)
    await start_ahead(manager, ahead)
    try:
        community = await manager.join(".a")
        community.subscribe(got.append)
        before = await community.publish(b"before")
        ahead[0] = 3600.0
        await eventually(lambda: manager.stats().taken > time.time() + 3000.0)
        after = await community.publish(b"after")
        await eventually(lambda: len(got) == 2)
        assert got[1].published - got[0].published > 3000.0
        for event in (before.id, after.id):  # both by the time that other processes have now
            moments = manager._trace_event({"event": str(event)}).moments
            assert moments
            assert all(abs(one.when - time.time() - 3600.0) < 60.0 for one in moments)
        assert manager.stats().up_seconds < 600.0
    finally:
        await manager.close()


@live
async def test_datagrams_of_a_group_with_a_passphrase_count_once_the_clock_is_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They are sealed and opened by the same clock as all else."""
    caplog.set_level(logging.WARNING)
    ours: dict[str, Any] = {"membership": "dht", "passphrase": "five random words make one"}
    ahead = [-600.0]
    async with CommunityManager(**ours) as first:
        await first.join(".a")
        late = CommunityManager(gateways=[first.address], **ours)
        await start_ahead(late, ahead)
        try:
            joining = asyncio.create_task(late.join(".a", retry=True, timeout=60))
            await eventually(lambda: _is_refused(caplog))
            ahead[0] = 0.0
            await (await joining).ready(timeout=30)
        finally:
            await late.close()
    assert "its clock differs from ours by -600 s; look at the clock" in caplog.text


def _is_refused(caplog: pytest.LogCaptureFixture) -> bool:
    return any("look at the clock" in one.message for one in caplog.records)


def _has(got: list[Received], payload: bytes) -> Callable[[], bool]:
    return lambda: any(one.payload == payload for one in got)
