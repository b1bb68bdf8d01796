"""Questions to a community, and their answers.

::

    async def celsius(question: bytes) -> bytes | None:
        return b"21.5" if question == b"roof" else None  # None: no answer from this process

    async with Requests(manager, ".plant", celsius):      # in one process
        ...
    async with Requests(manager, ".plant") as plant:      # in another one
        [answer] = await plant.ask(b"roof")

Questions and answers are events of a community of its own below the topic, ``.plant.requests``,
which is linked to nothing above: every process in it hears them all, so that a question to one of
many is for small communities. Nothing is answered twice, and nothing by the process that asks.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec
from attrs import frozen

from camcast.app.community import Community
from camcast.app.manager import CommunityManager
from camcast.app.topic_arguments import TopicLike, topic_of
from camcast.inbox.own_exceptions import is_for_task
from camcast.inbox.received import Received
from camcast.inbox.subscription import Subscription
from camcast.live.wire.reading_time import patience
from camcast.observe.failure_log import FailureLog
from camcast.vocabulary.arguments import (
    BYTES,
    check_timeout,
    check_type,
    check_whole,
    is_coroutine_function,
)
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import UNDECODABLE
from camcast.vocabulary.minute_log import MinuteLog

ASK_SECONDS: Final = 5.0  # chosen: repair brings what was lost on the way in 2 s or so
_HANDLED_MAX: Final = 64  # chosen: questions in work; of more, none is answered, which is logged
_TOKEN_BYTES: Final = 8  # chosen: no two questions in the life of a community have the same

_log = Logger(__name__)

Handler = Callable[[bytes], Awaitable[bytes | None]]


class NoAnswer(CommunityError, TimeoutError):  # a state, as users say it
    """Nobody answered a question in time."""


@frozen
class Answer:
    """An answer, and the process that gave it."""

    peer: PeerId
    payload: bytes


class _Question(msgspec.Struct, array_like=True, tag="?"):
    token: bytes
    payload: bytes


class _Reply(msgspec.Struct, array_like=True, tag="!"):
    token: bytes
    payload: bytes


class Requests:
    """Asks the processes of a community, and answers them; use it as an async context manager.

    `handler` answers the questions of others, each in a task of its own; None is no answer, and so
    is what it raises, or an answer that is too long, which are logged. Raises `TopicError`, and
    what `Community.join` raises.
    """

    def __init__(
        self, manager: CommunityManager, topic: TopicLike, handler: Handler | None = None
    ) -> None:
        check_type("manager", manager, CommunityManager, "a CommunityManager of asyncio")
        if handler is not None and not is_coroutine_function(handler):
            raise TypeError(f"a handler is a coroutine function, and not {handler!r}")
        below = topic_of(topic).child("requests")
        self._community: Community = manager.community(below, super_topics=())
        self._handler = handler
        self._waiting: dict[bytes, asyncio.Queue[Answer]] = {}
        self._events: Subscription | None = None
        self._log = MinuteLog()
        self._failures = FailureLog()
        self._tasks: list[asyncio.Task[None]] = []  # that which listens, and those that answer

    async def ask(
        self, question: bytes, *, answers: int = 1, timeout: float = ASK_SECONDS
    ) -> list[Answer]:
        """Ask all others; return the first so many answers, or those that came in time.

        Raises `NoAnswer` if none came, and what `Community.publish` raises; `CommunityError`
        outside of the ``async with``.
        """
        check_type("question", question, BYTES, "bytes")
        check_whole("answers", answers)
        check_timeout(timeout)
        if answers < 1:
            raise ValueError(f"ask for at least 1 answer, not {answers}")
        if self._events is None or self._events.closed:
            raise CommunityError("answers are heard inside `async with` only: ask there")
        token = secrets.token_bytes(_TOKEN_BYTES)
        got = self._waiting[token] = asyncio.Queue(answers)
        found: list[Answer] = []
        try:
            with suppress(TimeoutError):
                async with patience(timeout):
                    await self._community.ready(1, timeout=None)
                    await self._community.publish(
                        msgspec.msgpack.encode(_Question(token, bytes(question)))
                    )
                    while len(found) < answers:
                        found.append(await got.get())
        finally:
            del self._waiting[token]
        if not found:
            raise NoAnswer(f"nobody in {self._community.topic} answered within {timeout} s")
        return found

    async def __aenter__(self) -> Requests:
        if self._events is not None and not self._events.closed:
            raise CommunityError("this is open already: make another `Requests`, or use this one")
        events = self._events = self._community.subscribe(own=False)
        try:
            await self._community.join()
        except BaseException:
            events.close()  # and leave, unless somebody else is here
            raise
        self._tasks = [asyncio.create_task(self._listen(events))]
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, self._tasks = self._tasks, []
        # A handler that ends this is one of them, and would wait for itself.
        tasks = [task for task in tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            if self._events is not None:
                self._events.close()
            self._community.stop_publishing()  # and leave, unless somebody else is here

    async def _listen(self, events: Subscription) -> None:
        async for event in events:
            if not isinstance(event, Received):
                continue
            try:
                heard = msgspec.msgpack.decode(event.payload, type=_Question | _Reply)
            except UNDECODABLE:
                continue
            if isinstance(heard, _Question):
                if self._handler is None:
                    continue
                if len(self._tasks) > _HANDLED_MAX:
                    if self._log.due("busy", asyncio.get_running_loop().time()):
                        _log.warning(
                            "%d questions in %s are being answered: further ones are not",
                            _HANDLED_MAX,
                            self._community.topic,
                        )
                else:
                    task = asyncio.create_task(self._answer(self._handler, heard))
                    self._tasks.append(task)
                    task.add_done_callback(self._answered)
            elif (asked := self._waiting.get(heard.token)) is not None and not asked.full():
                asked.put_nowait(Answer(event.id.publisher, heard.payload))

    async def _answer(self, handler: Handler, question: _Question) -> None:
        try:
            payload = await handler(question.payload)
            if payload is None:
                return
            check_type("an answer", payload, BYTES, "bytes or None")
            with suppress(CommunityError):  # it leaves, or the manager closes
                await self._community.publish(
                    msgspec.msgpack.encode(_Reply(question.token, bytes(payload)))
                )
        except BaseException as error:
            if is_for_task(error):
                raise
            said = f"a question in {self._community.topic} could not be answered"
            self._failures.take(said, error, asyncio.get_running_loop().time())

    def _answered(self, task: asyncio.Task[None]) -> None:
        with suppress(ValueError):  # `close` has taken the list
            self._tasks.remove(task)
