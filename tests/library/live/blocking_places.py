"""Makes every call of the blocking face in every place, and prints what became of each.

Run as a process of its own: `python blocking_places.py`. Each line is a JSON object with a place, a
call, and ``done`` (it returned, and its effect is there), ``begun`` (it returned, and the effect
came later), ``nothing`` (it returned, and there was no effect) or ``refused`` (`CommunityError`).
"""

from __future__ import annotations

import asyncio
import atexit
import faulthandler
import gc
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from camcast import CommunityError
from camcast.app import blocking

HANG_SECONDS = 20.0
LOOK_SECONDS = 0.001


def rearm() -> None:
    """End the process with all its stacks when the next place hangs."""
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)


class Objects:
    """What calls are made on: a running manager, a community, feeds with something to read."""

    def __init__(self) -> None:
        self.folder = TemporaryDirectory()
        self.manager = blocking.CommunityManager(archive=Path(self.folder.name, "archive"))
        self.manager.start()
        self.community = self.manager.join(".a")
        self.events = self.community.subscribe()
        self.others = self.community.subscribe()
        self.ended = self.community.subscribe()
        self.durable = self.community.subscribe(durable="places", ack=True)
        self.changes = self.community.changes()
        self.quitted = self.manager.join(".b")
        self.quitted.publish(b"1")  # and so takes part until `stop_publishing`
        self.left = self.manager.join(".c")
        for _ in range(20):
            self.community.publish(b"x")
        self.fresh = blocking.CommunityManager()

    def calls(self) -> Iterator[tuple[str, Callable[[], Any], Callable[[], bool] | None]]:
        """Yield each call with its name, and whether its effect is there if that can be asked."""
        manager, community, events = self.manager, self.community, self.events
        for name in ("contact", "address", "gateway", "counters", "discovery_state"):
            yield name, partial(getattr, manager, name), None
        yield "stats", manager.stats, None
        yield "peers", manager.peers, None
        for name in ("state", "peers", "links", "size", "unsent", "latest"):
            yield f"Community.{name}", partial(getattr, community, name), None
        for name in ("topic", "super_topics", "parameters"):
            yield f"Community.{name}", partial(getattr, community, name), None
        for name in ("missed", "errors", "closed"):
            yield f"Subscription.{name}", partial(getattr, events, name), None
        yield "Subscription.stats", events.stats, None
        yield "Subscription.position", lambda: events.position, None
        yield "community", lambda: manager.community(".d"), None
        yield "join", lambda: manager.join(".e"), None
        yield "super_communities", lambda: manager.super_communities(".a.b"), None
        yield "ask_gateways", lambda: manager.ask_gateways(0.0), None
        yield "Community.join", community.join, None
        yield "Community.ready", lambda: community.ready(0), None
        yield "Community.publish", lambda: community.publish(b"x"), None
        yield "Community.subscribe", lambda: community.subscribe().close(), None
        yield "Community.changes", lambda: community.changes().close(), None
        yield "Community.tune", lambda: community.tune(c=2), None
        yield "Community.link", lambda: community.link(".z"), None
        yield "Community.unlink", lambda: community.unlink(".z"), None
        yield "Subscription.next", lambda: events.next(5.0), None
        yield "Subscription.__next__", lambda: next(events), None
        yield "Subscription.batches", lambda: next(events.batches()), None
        yield "Subscription.until_quiet", lambda: next(self.others.until_quiet(5.0)), None
        yield "Subscription.ack", self.durable.ack, None
        yield "Changes.next", lambda: self.changes.next(5.0), None
        yield (
            "Community.unsubscribe",
            lambda: community.unsubscribe(self.ended),
            lambda: self.ended.closed,
        )
        quitted, left = self.quitted._inner, self.left._inner
        yield (
            "Community.stop_publishing",
            self.quitted.stop_publishing,
            lambda: quitted.state == "left",
        )
        yield "Community.leave", self.left.leave, lambda: left.state == "left"
        yield "Subscription.close", events.close, lambda: events.closed
        yield "Changes.close", self.changes.close, lambda: self.changes.closed
        inner = manager._inner
        yield "close", manager.close, lambda: inner._lifetime.runner is None
        yield "start", self.fresh.start, None

    def end(self) -> None:
        """Close the managers."""
        self.manager.close()
        self.fresh.close()
        self.folder.cleanup()


def make_calls(place: str, objects: Objects) -> list[Any]:
    """Make all calls; return what is still to be seen: lines whose effect was not there at once."""
    later = []
    for name, call, has_effect in objects.calls():
        line = {"place": place, "call": name}
        try:
            call()
        except CommunityError:
            line["became"] = "refused"
        except BaseException as error:  # which no cell has
            line["became"] = repr(error)
        else:
            if has_effect is not None and not has_effect():
                later.append((line, has_effect))
                continue
            line["became"] = "done"
        print(json.dumps(line), flush=True)
    return later


def see(later: list[Any], seconds: float = 10.0) -> None:
    """Wait for effects that were not there at once, and print whether they came."""
    for line, has_effect in later:
        until = time.monotonic() + seconds
        while not has_effect() and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        line["became"] = "begun" if has_effect() else "nothing"
        print(json.dumps(line), flush=True)


def in_a_signal_handler(objects: Objects) -> list[Any]:
    later: list[Any] = []
    signal.signal(signal.SIGUSR1, lambda *_: later.extend(make_calls("a signal handler", objects)))
    waits = objects.manager.community(".waits").subscribe()
    timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    with suppress(CommunityError):
        waits.next()  # which the handler interrupts, and `close` in it ends
    timer.join()
    return later


def in_another_thread(objects: Objects) -> list[Any]:
    later: list[Any] = []
    thread = threading.Thread(target=lambda: later.extend(make_calls("another thread", objects)))
    thread.start()
    thread.join()
    return later


def in_callback(place: str, caller: Objects, objects: Objects, *, plain: bool) -> list[Any]:
    """Make the calls on `objects` in a callback of the manager of `caller`.

    If these are two, the loop of `objects` stands still meanwhile: no call may wait for it.
    """
    later: list[Any] = []
    done = threading.Event()
    if objects is not caller:
        objects.manager._run.post(done.wait)

    def callback(_event: object) -> None:
        later.extend(make_calls(place, objects))
        done.set()

    async def coroutine_callback(_event: object) -> None:
        callback(_event)

    community = caller.manager.join(".callback")
    community.subscribe(callback if plain else coroutine_callback)
    community.publish(b"x")
    done.wait()
    return later


class Cycle:
    """An object that only the garbage collector frees; `__del__` makes the calls."""

    def __init__(self, place: str, objects: Objects, later: list[Any]) -> None:
        self.me = self
        self.given = place, objects, later

    def __del__(self) -> None:
        place, objects, later = self.given
        later.extend(make_calls(place, objects))


def collected(objects: Objects) -> list[Any]:
    later: list[Any] = []
    Cycle("`__del__`", objects, later)
    gc.collect()
    return later


def collected_in_the_loop(objects: Objects) -> list[Any]:
    later: list[Any] = []
    done = threading.Event()

    async def collect(_event: object) -> None:
        gc.collect()
        done.set()

    community = objects.manager.join(".callback")
    community.subscribe(collect)
    Cycle("`__del__`, collected in the thread of the loop", objects, later)
    community.publish(b"x")
    done.wait()
    return later


def in_an_own_loop(objects: Objects) -> list[Any]:
    async def main() -> list[Any]:
        return make_calls("a coroutine of another event loop", objects)

    return asyncio.run(main())


def in_a_fork(objects: Objects) -> None:
    child = os.fork()
    if not child:
        see(make_calls("a forked child", objects), seconds=0.0)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert objects.manager.join(".still").state == "alone"  # the child closed nothing


class AtTheEnd:
    """Freed when the interpreter clears the modules."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects

    def __del__(self) -> None:
        see(make_calls("`__del__` at the interpreter's end", self.objects), seconds=0.0)


def main() -> None:
    """Go from place to place."""
    for place in (
        in_a_signal_handler,
        in_another_thread,
        lambda them: in_callback("a plain callback", them, them, plain=True),
        lambda them: in_callback("a coroutine callback", them, them, plain=False),
        collected,
        collected_in_the_loop,
        in_an_own_loop,
    ):
        rearm()
        gc.disable()  # but where a place collects
        objects = Objects()
        see(place(objects))
        objects.end()
    rearm()
    caller, objects = Objects(), Objects()
    see(in_callback("a coroutine callback of another manager", caller, objects, plain=False))
    for them in (caller, objects):
        them.end()
    forked = Objects()
    in_a_fork(forked)
    forked.end()
    atexit.register(lambda: see(make_calls("`atexit`", last)))
    global last, at_the_end
    last = Objects()
    at_the_end = AtTheEnd(Objects())
    rearm()


last: Objects
at_the_end: AtTheEnd

if __name__ == "__main__":
    main()
