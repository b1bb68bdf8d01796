"""The events that `camcast publish` takes, and when each is due."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from camcast.cli import publish
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX
from tests.camcast_command import Capture, camcast, refusal


def test_events_leave_at_the_rate_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only sleeping moves: the first at once, and none is made up for."""
    now, left = 100.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def lines() -> AsyncIterator[bytes | None]:
        nonlocal now
        for pause in (0.0, 0.0, 5.0, 0.0):
            now += pause
            yield b"line"

    async def run() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        monkeypatch.setattr(asyncio, "sleep", sleep)
        async for _ in publish._paced(lines(), 2.0):
            left.append(now)
        monkeypatch.undo()

    asyncio.run(run())
    assert left == [100.0, 100.5, 105.5, 106.0]


def test_a_file_that_is_no_event_is_refused_in_a_sentence(tmp_path: Path, capfd: Capture) -> None:
    (long := tmp_path / "long").write_bytes(b"x" * (PAYLOAD_BYTES_MAX + 1))
    code, error = refusal(capfd, "publish", ".a", "--file", long)
    assert (code, "1,048,576 bytes" in error) == (1, True)
    code, error = refusal(capfd, "publish", ".a", "hi", "--file", long)
    assert (code, "not both" in error) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "limit", "is_raised"),
    [
        ((), "1,048,576", True),
        (("--event-bytes-max", 2 << 20), "2,097,152", True),
        (("--event-bytes-max", 16 << 20), "16,777,216", False),
        (("--event-bytes-max", 2 << 20, "--key", "k"), "1,048,576", False),
        (("--event-bytes-max", 2 << 20, "--no-repair"), "1,048,576", False),
    ],
)
def test_an_event_above_the_limit_is_refused_with_the_option_that_raises_it(
    arguments: tuple[object, ...], limit: str, is_raised: bool, tmp_path: Path, capfd: Capture
) -> None:
    """Where one does: neither an event with a key nor one without repair travels in pieces."""
    (long := tmp_path / "long").write_bytes(bytes((16 << 20) + 1))
    code, error = refusal(capfd, "publish", ".a", "--file", long, *arguments)
    assert (code, f"is over {limit} bytes" in error) == (1, True)
    assert ("--event-bytes-max, here and at all subscribers" in error) is is_raised


@pytest.mark.parametrize("value", [(1 << 20) - 1, (16 << 20) + 1, "4MiB"])
def test_a_limit_that_cannot_be_is_refused_by_the_name_of_its_option(
    value: object, capfd: Capture
) -> None:
    assert camcast("publish", ".a", "hi", "--event-bytes-max", value) == 2
    assert "Invalid value for '--event-bytes-max'" in capfd.readouterr().err


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_key_that_cannot_be_is_refused_before_anything_is_looked_for(
    key: str, capfd: Capture
) -> None:
    code, error = refusal(capfd, "publish", ".a", "hi", "--key", key)
    assert (code, error) == (1, f"camcast: --key has 1 to 255 bytes, not {len(key)}\n")
