"""The code of others in a running process: what it raises is logged and counted, and stops nothing.

Plugs, handlers of the log, sinks; callbacks are in `test_community_subscribers`.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest
from typing_extensions import override

from camcast import Community
from camcast.engine.node import Node
from camcast.observe.trace import TraceRecord
from camcast.vocabulary.outbox import Token
from camcast.vocabulary.wire import Kind
from membership.scamp.scamp import Scamp
from tests.library.live.communities import Inbox, managers
from tests.patience import eventually, live

BROKEN, WHOLE = ".t0", ".t1"


async def exchange(sender: Community, inbox: Inbox, payload: bytes) -> None:
    await sender.publish(payload)
    await eventually(lambda: payload in inbox.payloads)


@live
async def test_a_plug_that_raises_and_answers_wrongly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(verb: str, fault: Any) -> None:
        whole = getattr(Scamp, verb)

        def call(self: Any, *arguments: Any) -> Any:
            here = self._topic.name == BROKEN
            return fault() if here else whole(self, *arguments)

        monkeypatch.setattr(Scamp, verb, call)

    def fail() -> None:
        raise SystemExit("boom")

    async with managers(2) as (one, other):
        for topic in (BROKEN, WHOLE):
            await one.join(topic)
        inbox = Inbox()
        community = await other.join(WHOLE)
        community.subscribe(inbox)
        await other.join(BROKEN)
        broken("wake", fail)
        broken("leave", fail)
        broken("size", lambda: float("nan"))
        await eventually(lambda: one.counters.plug_errors > 0)
        await one.community(BROKEN).publish(b"of the broken one")
        await exchange(one.community(WHOLE), inbox, b"of the other")
        before = one.counters.plug_errors
        assert one.stats().as_dict()["counters"]["plug_errors"] >= before
        assert all(community.size >= 1 for community in one.stats().communities)
        await one.community(BROKEN).leave()
        assert one.counters.plug_errors > before
    logged = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert {record.name for record in logged} == {"camcast.observe.failure_log"}
    assert all("membership 'scamp' failed in `" in record.message for record in logged)
    assert all(BROKEN in record.message for record in logged)


@live
async def test_a_timer_that_fails_takes_no_other_timer_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wake, failed, came = Node.wake, list[Token](), list[Token]()

    def once(node: Node, token: Token, now: float) -> None:
        if not failed and token.kind is Kind.MEMBERSHIP:
            failed.append(token)
            raise RuntimeError("a defect")
        came.append(token)
        wake(node, token, now)

    async with managers(1) as (manager,):
        communities = [await manager.join(f".t{number}") for number in range(4)]
        monkeypatch.setattr(Node, "wake", once)
        groups = {community.topic.group for community in communities}

        def all_came() -> bool:
            ticked = {one.group for one in came if one.kind is Kind.MEMBERSHIP}
            return bool(failed) and groups - {failed[0].group} <= ticked

        await eventually(all_came)
        assert manager.counters.failures == 1
    assert "a timer of tcp://127.0.0.1:" in caplog.text


class RaisesInEmit(logging.Handler):
    @override
    def emit(self, record: logging.LogRecord) -> None:
        raise SystemError(record.getMessage())


class Panic(BaseException):
    """What a panic of an extension in Rust is: no `Exception`."""


class Panics(logging.Handler):
    @override
    def emit(self, record: logging.LogRecord) -> None:
        raise Panic(record.getMessage())


class RaisesInHandle(logging.Handler):
    @override
    def handle(self, record: logging.LogRecord) -> bool:
        raise SystemExit(record.getMessage())


class RaisesInFilter(logging.StreamHandler[Any]):
    @override
    def filter(self, record: logging.LogRecord) -> bool:
        raise KeyError(record.getMessage())


@pytest.mark.parametrize("handler", [RaisesInEmit, RaisesInHandle, RaisesInFilter, Panics])
@live
async def test_a_handler_of_the_log_and_a_sink_that_raise(
    handler: type[logging.Handler],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The steps of the node in which a line was logged go on to their end."""

    class Sink:
        def write(self, record: TraceRecord) -> None:
            raise Panic(record.kind) if handler is Panics else SystemExit(record.kind)

    caplog.set_level(logging.INFO, "camcast")
    monkeypatch.setattr(logging.getLogger("camcast"), "handlers", [handler()])
    async with managers(2, trace=Sink()) as (one, other):
        inbox = Inbox()
        (await other.join(".a")).subscribe(inbox)
        community = await one.join(".a")
        await community.ready(1)
        await exchange(community, inbox, b"x")
        assert one.counters.trace_failures > 0
        assert one.counters.failures == 0
    assert "joined .a" in capsys.readouterr().err
