"""Questions and answers over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import pytest

from camcast import CommunityError, CommunityManager, Topic
from camcast.app.requests import Answer, NoAnswer, Requests
from camcast.observe import failure_log
from tests.library.live.communities import assert_left_whenever_cancelled, managers
from tests.patience import PATIENCE_SECONDS, eventually, live


def sensor(manager: CommunityManager, site: str) -> Requests:
    async def celsius(question: bytes) -> bytes | None:
        if question == b"defect":
            raise RuntimeError("a defect")
        return f"{site} 21.5".encode() if question in (b"all", site.encode()) else None

    return Requests(manager, ".plant", celsius)


@live
async def test_one_or_all_answer_and_each_is_told_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        managers(3) as (first, second, third),
        sensor(first, "roof"),
        sensor(second, "cellar"),
        Requests(third, ".plant") as plant,
    ):
        [answer] = await plant.ask(b"cellar", timeout=60)
        assert (answer.peer, answer.payload) == (second.contact.peer, b"cellar 21.5")
        both = await plant.ask(b"all", answers=2, timeout=60)
        assert sorted(answer.payload for answer in both) == [b"cellar 21.5", b"roof 21.5"]
        together = await asyncio.gather(*(plant.ask(s, timeout=60) for s in (b"roof", b"cellar")))
        assert [[one.payload for one in each] for each in together] == [
            [b"roof 21.5"],
            [b"cellar 21.5"],
        ]
        with pytest.raises(NoAnswer, match=r"nobody in \.plant\.requests answered within 0\.1 s"):
            await plant.ask(b"attic", timeout=0.1)
        with pytest.raises(NoAnswer):
            await plant.ask(b"defect", timeout=0.1)
        in_time, seconds = list[Answer](), 0.25
        while len(in_time) < 2:  # where the machine is busy, answers take longer
            with suppress(NoAnswer):
                in_time = await plant.ask(b"all", answers=3, timeout=seconds)
            seconds *= 2
        assert sorted(answer.payload for answer in in_time) == [b"cellar 21.5", b"roof 21.5"]
        await eventually(lambda: "a defect" in caplog.text)


@live
async def test_nobody_to_ask_and_nonsense_are_no_answer() -> None:
    async with managers(3) as (first, second, third), Requests(first, ".plant") as plant:
        with pytest.raises(NoAnswer):
            await plant.ask(b"roof", timeout=0.05)
        raw = second.community(".plant.requests", super_topics=())
        await raw.ready()
        await raw.publish(b"\xc1")
        for tag in b"?", b"!":  # as a question and as an answer, with too deep a list behind it
            await raw.publish(b"\x94\xa1" + tag + 2 * b"\xc4\x01a" + 60_000 * b"\x91" + b"\xc0")
        async with sensor(third, "roof"):
            assert len(await plant.ask(b"roof", timeout=60)) == 1


@live
async def test_two_in_one_process_come_and_go_by_themselves() -> None:
    async with managers(2) as (first, second), sensor(first, "roof"):
        async with Requests(second, ".plant") as plant:
            async with Requests(second, ".plant") as other:
                assert len(await other.ask(b"roof", timeout=60)) == 1
            assert len(await plant.ask(b"roof", timeout=60)) == 1
            with pytest.raises(CommunityError, match="inside `async with` only"):
                await other.ask(b"roof")
        assert second.community(".plant.requests").state == "left"


@live
async def test_what_is_no_question_or_no_answer_is_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure_log, "INTERVAL_SECONDS", 0.0)  # both are to be read
    wrong: Any = "21.5"

    async def answer(question: bytes) -> bytes | None:
        if question == b"panic":  # of an extension in Rust
            raise BaseException("no Exception")
        if question == b"cancelled":
            raise asyncio.CancelledError("by itself")
        return wrong if question == b"text" else bytes(1 << 20)

    async with (
        managers(2) as (first, second),
        Requests(first, ".plant", answer),
        Requests(second, ".plant") as plant,
    ):
        for given, error, message in (
            ({"question": wrong}, TypeError, "question is bytes, and not '21.5'"),
            ({"question": b"", "answers": 0}, ValueError, "at least 1 answer, not 0"),
            ({"question": b"", "timeout": "1"}, TypeError, "timeout is a number, and not '1'"),
        ):
            with pytest.raises(error, match=message):
                await plant.ask(**given)
        for question, reason in (
            *((b"text", "bytes or None, and not '21.5'"), (b"long", "over the")),
            *((b"panic", "no Exception"), (b"cancelled", "by itself")),
        ):
            asking = asyncio.create_task(plant.ask(question, timeout=60))
            await eventually(lambda reason=reason: reason in caplog.text)
            asking.cancel()
            await asyncio.wait([asking])
        for handler in (5, print, _generator_function):
            with pytest.raises(TypeError, match="a handler is a coroutine function, and not "):
                Requests(first, ".other", cast("Any", handler))


@live
async def test_bytes_are_sent_whatever_class_of_bytes_they_are() -> None:
    class Read(bytes):
        """As numpy's, which MessagePack does not know."""

    async def answer(question: bytes) -> bytes:
        return cast("bytes", memoryview(question)[::2]) if question == b"text" else Read(b"ok")

    async with (
        managers(2) as (first, second),
        Requests(first, Topic(("plant",)), answer),
        Requests(second, ".plant") as plant,
    ):
        for question, answered in ((Read(b"roof"), b"ok"), (memoryview(b"t.e.x.t")[::2], b"tx")):
            [one] = await plant.ask(cast("bytes", question), timeout=60)
            assert one.payload == answered


@live
async def test_a_handler_may_end_what_calls_it() -> None:
    ended = asyncio.Event()

    async def answer(_: bytes) -> None:
        await roof.__aexit__()
        ended.set()

    async with managers(2) as (first, second), Requests(second, ".plant") as plant:
        roof = await Requests(first, ".plant", answer).__aenter__()
        asking = asyncio.create_task(plant.ask(b"end", timeout=60))
        await asyncio.wait_for(ended.wait(), PATIENCE_SECONDS)
        asking.cancel()
        await asyncio.wait([asking])
        assert first.community(".plant.requests").state == "left"


async def _generator_function(_: bytes) -> AsyncIterator[bytes]:
    yield b""


@live
async def test_who_is_cancelled_at_whatever_moment_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await assert_left_whenever_cancelled(
        monkeypatch, lambda manager: Requests(manager, ".plant"), ".plant.requests"
    )
