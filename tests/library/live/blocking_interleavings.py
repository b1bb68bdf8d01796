"""Random interleavings of the blocking face, each judged by a model: nothing lost, nothing twice.

Run as a process of its own: `python blocking_interleavings.py SEED COUNT`. In a bout the main
thread reads and publishes while a timer's signals interrupt it, with an exception or with further
calls; other threads read and publish; the garbage collector runs the `__del__` of objects that do
so; the process forks; and somebody may close the manager. A bout that takes 20 s ends the process
with the stacks of all threads; one that lost or doubled an event ends it with its number.

The model is a list: what was published for certain is read exactly once, what may have been
published (the call was interrupted) at most once, and nothing else. Items are moved into a list by
one step of Python, `list.extend`, so that no signal comes between the call and the test's note.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import signal
import sys
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from camcast import CommunityError, Received
from camcast.app import blocking

HANG_SECONDS = 20.0
LONGEST = 0.004
"""Seconds until a signal, and of a limit; a bout takes about as long."""

EXPECTED = (CommunityError, TimeoutError)


OF_A_SIGNAL: Final = "A handler of signals raised it."


class Interrupted(Exception):
    """Raised by a signal handler."""


class Alarm:
    """The signals that interrupt the main thread, from `set` to `end`."""

    def __init__(self) -> None:
        self.rings = False
        """Cleared first of all: from there on no handler raises in the test's own steps."""
        self.act: Callable[[], None]
        self.more: list[float] = []
        """The seconds until the signals that follow, each from the one before."""

    def set(self, act: Callable[[], None], *seconds: float) -> None:
        first, *self.more = seconds
        self.act = act
        self.rings = True
        signal.setitimer(signal.ITIMER_REAL, first)

    def end(self) -> None:
        self.more = []
        signal.setitimer(signal.ITIMER_REAL, 0)

    def on_signal(self, *_: object) -> None:
        if self.rings:
            if self.more:  # then handlers are interrupted, too
                signal.setitimer(signal.ITIMER_REAL, self.more.pop())
            try:
                self.act()
            except (Interrupted, *EXPECTED) as error:
                error.add_note(OF_A_SIGNAL)
                raise


alarm = Alarm()


class Bout:
    """One interleaving: a community, its readers, and what they and the publishers noted."""

    def __init__(self, manager: blocking.CommunityManager, rng: random.Random, number: int) -> None:
        self.manager = manager
        self.rng = rng
        self.topic = f".bout.n{number % 50}"
        self.community = manager.join(self.topic)
        self.events = self.community.subscribe()
        self.by_callback: list[Any] = []
        self.called = None
        if rng.random() < 0.3:
            self.called = self.community.subscribe(self.by_callback.append)
        self.got: list[Any] = []
        """What all readers of `events` got; appending is one step."""
        self.certain: list[int] = []
        self.possible: list[int] = []
        self.numbers = iter(range(1_000_000))
        self.spare = [self.community.subscribe() for _ in range(2)]
        self.threads: list[threading.Thread] = []

    # -- what anybody does -------------------------------------------------------------------

    def publish(self) -> None:
        number = next(self.numbers)
        self.possible.append(number)
        if self.community.publish(b"%d" % number).accepted:
            self.certain.append(number)

    def read(self, rng: random.Random) -> None:
        kind = rng.randrange(5)
        if kind == 0:
            self.got.extend([self.events.next(rng.random() * LONGEST)])
        elif kind == 1:
            self.got.extend(islice(self.events.until_quiet(rng.random() * LONGEST), 3))
        elif kind == 2:
            with blocking.timeout(rng.random() * LONGEST):
                self.got.extend(islice(self.events, 2))
        elif kind == 3:
            self.got.extend([self.events.next(0)])
        else:
            with blocking.timeout(rng.random() * LONGEST):
                self.got.extend(islice(self.events.batches(), 1))

    def look(self) -> None:
        _ = self.community.state, self.events.stats(), self.manager.stats()

    def close_a_spare(self) -> None:
        if self.spare:
            self.spare.pop().close()

    def subscribe_and_close(self) -> None:
        self.community.subscribe().close()

    def anything(self, rng: random.Random) -> None:
        """Make some call; `CommunityError` and time limits are what calls may end with."""
        calls: list[Callable[[], None]] = [
            *(self.publish, self.publish, lambda: self.read(rng), lambda: self.read(rng)),
            *(self.look, self.close_a_spare, self.subscribe_and_close),
        ]
        with suppress(*EXPECTED):
            rng.choice(calls)()

    # -- who does it -------------------------------------------------------------------------

    def in_thread(self) -> None:
        rng = random.Random(self.rng.random())
        steps = rng.randrange(1, 8)

        def work() -> None:
            for _ in range(steps):
                self.anything(rng)

        self.threads.append(threading.Thread(target=work, daemon=True))

    def close_in_thread(self) -> None:
        self.threads.append(threading.Thread(target=self.manager.close, daemon=True))

    def on_signal(self) -> None:
        kind = self.rng.random()
        if kind < 0.6:
            raise Interrupted
        if kind < 0.9:
            self.anything(self.rng)
        else:
            self.manager.close()

    def fork(self) -> None:
        child = os.fork()
        if not child:
            code = 1
            try:
                self.community.publish(b"of the child")
            except CommunityError:
                self.events.close()
                self.manager.close()
                code = 0
            finally:
                os._exit(code)
        alarm.rings = False
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def main(self) -> None:
        """Do something in the main thread, while signals come."""
        for _ in range(self.rng.randrange(1, 6)):
            times = [1, 1, 2, 4][self.rng.randrange(4)]
            delays = [self.rng.random() * LONGEST + 1e-6 for _ in range(times)]
            try:
                alarm.set(self.on_signal, *delays)
                if self.rng.random() < 0.05:
                    self.fork()
                if self.rng.random() < 0.3:
                    Cycle(self)
                self.anything(self.rng)
                if self.rng.random() < 0.1:
                    gc.collect()
                self.anything(self.rng)
            except Interrupted:
                pass
            finally:
                alarm.rings = False
                alarm.end()

    def run(self) -> None:
        """Go through it, end all, and compare with the model."""
        for _ in range(self.rng.randrange(3)):
            self.in_thread()
        if self.rng.random() < 0.1:
            self.close_in_thread()
        for thread in self.threads:
            thread.start()
        self.main()
        for thread in self.threads:
            thread.join()
        gc.collect()
        self.events.close()
        self.got.extend(self.events)
        if self.called is not None:
            self.called.close()
            running = self.called._inner._feed.running
            while (
                running is not None and not running.done() and not self.events._run.ended.happened
            ):
                threading.Event().wait(0.0005)
        self.judge("the readers", self.got)
        if self.called is not None and not self.events._run.ended.happened:
            self.judge("the callback", self.by_callback)

    def judge(self, who: str, items: list[Any]) -> None:
        read: Counter[int] = Counter()
        for item in items:
            if item is None:
                continue
            for event in [item] if isinstance(item, Received) else item:
                read[int(event.payload)] += 1
        twice = [number for number, times in read.items() if times > 1]
        lost = sorted(set(self.certain) - read.keys())
        unknown = sorted(read.keys() - set(self.possible))
        if twice or lost or unknown:
            sys.exit(f"{who}: lost {lost}, twice {twice}, never published {unknown}")


class Cycle:
    """Garbage that makes a call when it is collected, in whichever thread."""

    def __init__(self, bout: Bout) -> None:
        self.given = bout, random.Random(bout.rng.random())
        self.me = self

    def __del__(self) -> None:
        if hasattr(self, "me"):  # else a signal came before it was a cycle
            bout, rng = self.given
            bout.anything(rng)


def interrupt() -> None:
    """Raise in the main thread."""
    raise Interrupted


def start(manager: blocking.CommunityManager, rng: random.Random) -> None:
    """Start, sometimes against a signal."""
    if rng.random() < 0.5:
        try:
            alarm.set(interrupt, rng.random() * 2 * LONGEST + 1e-6)
            manager.start()
        except Interrupted:
            pass
        finally:
            alarm.rings = False
            alarm.end()
    manager.start()


def is_expected(error: BaseException) -> bool:
    """Return whether an error that nobody could catch is that of a signal, or follows from one.

    A handler raised in a `__del__`, while Python had half started a thread, or in what Python does
    before a fork: then it has not taken the lock of the log which it releases after the fork.
    """
    if OF_A_SIGNAL in getattr(error, "__notes__", ()) or "Thread(" in str(error):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].name == "_releaseLock"


def main(seed: int, count: int) -> None:
    """Run some bouts, and say how many events were read."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads: that is tried
    signal.signal(signal.SIGALRM, alarm.on_signal)
    unraisable: list[Any] = []
    sys.unraisablehook = unraisable.append  # one step: the hook may be interrupted, too
    gc.freeze()  # collections look at what the bouts make
    gc.set_threshold(300)
    manager = blocking.CommunityManager()
    events = 0
    for number in range(count):
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        rng = random.Random(f"{seed} {number}")
        if manager._run.stopping and rng.random() < 0.5:
            manager = blocking.CommunityManager()
        start(manager, rng)
        bout = Bout(manager, rng, number)
        try:
            bout.run()
        except SystemExit as error:
            sys.exit(f"seed {seed}, bout {number}: {error}")
        # Nothing keeps them: whoever has one that ended the exit of a `timeout` has its limit.
        wrong = [one for one in (each.exc_value for each in unraisable) if not is_expected(one)]
        unraisable.clear()
        if wrong:
            raise wrong[0]
        events += len(bout.certain)
        if not manager._run.stopping:
            bout.community.leave()
    print(events)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
