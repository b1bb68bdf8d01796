"""The life of a manager, from `start` to `close`, and which calls are allowed when."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from camcast.inbox.feed import Feed, running_loop
from camcast.inbox.step import here
from camcast.live.runner import Runner
from camcast.vocabulary.errors import CommunityError


class Lifetime:
    """Where a manager runs: in one process of the operating system, and in one event loop.

    A manager may live several times, one after the other. Its communities share the object, and ask
    it for the runner at every command of the application.
    """

    def __init__(self) -> None:
        self.runner: Runner | None = None
        """From the end of `start` to the end of `close`."""
        self.under_way = asyncio.Lock()
        """Held by the `start` or the `close` that is under way: others wait for it."""
        self.callbacks: set[asyncio.Future[None]] = set()
        """Of the application's feeds, until they have ended: `close` waits for them."""
        self._process = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def closing(self) -> bool:
        """Whether a `close` is under way."""
        return self.runner is not None and self.under_way.locked()

    def begin(self) -> None:
        """Live in this process, and in the running loop."""
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()

    def forget_closed_loop(self) -> bool:
        """Say whether the loop was closed before `close`; nothing of it can be awaited then."""
        if self._loop is None or not self._loop.is_closed():
            return False
        self._loop = self.runner = None
        self.under_way = asyncio.Lock()
        self.callbacks = set()
        return True

    def note_callback(self, feed: Feed[Any]) -> None:
        """Remember a feed's callback until it has ended."""
        if feed.running is not None:
            self.callbacks.add(feed.running)
            feed.running.add_done_callback(self.callbacks.discard)

    def running(self) -> Runner:
        """Return the runner; raises `CommunityError` if there is none, or if it is the parent's."""
        if self.runner is None:
            was = "it was closed, or could not start" if self._process else "use `async with`"
            raise CommunityError(f"the manager is not running: {was}; call start()")
        check_not_forked(self._process)
        return self.runner

    def open(self) -> Runner:
        """Return the runner for a command, which also needs the loop, and that nothing closes."""
        if self.under_way.locked():
            raise CommunityError(
                "the manager is closing"
                if self.closing
                else "the manager is starting: await that first"
            )
        runner = self.running()
        self.check_loop()
        self.check_no_step()
        return runner

    def check_no_step(self) -> None:
        """Raise `CommunityError` in the midst of a step (`camcast.inbox.step`)."""
        if here.steps.in_step:
            raise CommunityError(
                "the process is in the midst of a step, in which a signal handler, a `__del__`, a"
                " handler of the log or a sink was called: have the call made there by"
                " `loop.call_soon_threadsafe`, or use `loop.add_signal_handler`"
            )

    def in_process(self) -> bool:
        """Say whether this is the process in which the manager lives, and no fork of it."""
        return os.getpid() == self._process

    def check_loop(self) -> None:
        """Raise `CommunityError` in any event loop but the one in which the manager was started."""
        if running_loop() is self._loop:
            return
        if self._loop is not None and self._loop.is_closed():
            raise CommunityError(
                "the event loop of the manager was closed before the manager; start it again"
            )
        raise CommunityError(
            "the manager was started in another event loop: call it there (with"
            " asyncio.run_coroutine_threadsafe, from a thread), or use camcast.app.blocking"
        )


def check_not_forked(process: int) -> None:
    """Raise `CommunityError` unless this is still the process that a manager was started in."""
    if os.getpid() != process:
        raise CommunityError(
            f"the manager belongs to process {process}, of which this one is a fork: sockets and"
            " threads are not inherited; start a manager of its own here"
        )
