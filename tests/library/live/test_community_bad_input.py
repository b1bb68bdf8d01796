"""What is wrong in settings is said in words, and what is wrong on the wire is counted."""

import asyncio
import contextlib
import copy
import os
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any, cast

import pytest
import zmq

import camcast
from camcast import (
    CamcastError,
    CommunityError,
    CommunityManager,
    GatewayError,
    GatewayTimeout,
    InsecureError,
    Interest,
    JsonLinesSink,
    Parameters,
    Topic,
    TopicError,
    UnknownPlugError,
    open_pipes,
)
from camcast.app import blocking
from camcast.app.presence import Presence
from camcast.app.requests import Requests
from camcast.security.passphrase import PassphraseError
from camcast.vocabulary.wire import FRAME_HEADER
from tests.library.live.communities import Inbox, managers
from tests.patience import PATIENCE_SECONDS, eventually, live


@live
async def test_garbage_and_oversized_frames_are_counted_and_change_nothing() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        publisher = await second.join(".a")
        await publisher.ready()
        with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
            stranger.setsockopt(zmq.LINGER, 0)
            stranger.connect(first.address)
            frames = [b"garbage", FRAME_HEADER + b"\xff" * 50, FRAME_HEADER + bytes(64)]
            for frame in frames:
                stranger.send(frame)
            await eventually(lambda: first.counters.malformed == len(frames))
            stranger.send(bytes(8 * 2**20))  # the sender is cut off
        host, port = first.address.removeprefix("tcp://").rsplit(":", 1)
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(os.urandom(4096))
        await writer.drain()
        writer.close()
        await asyncio.wait_for(_closed(writer), PATIENCE_SECONDS)
        await publisher.publish(b"still there")
        await eventually(lambda: inbox.payloads == [b"still there"])
        assert first.counters.malformed >= len(frames)
        assert first.counters.parasites == 0


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):  # cut off, as it should be
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CommunityManager("nobody"), UnknownPlugError, "'nobody'; installed: .*scamp"),
        (
            lambda: CommunityManager(cast("Any", ["scamp"])),
            UnknownPlugError,
            r"a membership is given by its name, a text, and not as \['scamp'\]",
        ),
        # None but "" is no passphrase either, and would leave this process open to all networks.
        (
            lambda: CommunityManager(bind="tcp://192.0.2.1:7000", passphrase=""),
            PassphraseError,
            "characters",
        ),
        (lambda: CommunityManager(bind="tcp://0.0.0.0:0"), InsecureError, "insecure=True"),
        (
            lambda: CommunityManager(bind="tcp://0.0.0.0:0", insecure=True),
            InsecureError,
            "address to advertise",
        ),
        (
            lambda: CommunityManager(bind="tcp://192.0.2.1:7000", insecure=True, transport="zmq"),
            InsecureError,
            "end the process with 8 kB; .* zmq_may_abort=True",
        ),
        (
            lambda: CommunityManager(advertise="tcp://192.0.2.1:7000"),
            InsecureError,
            "other machines",
        ),
        (lambda: CommunityManager(bind="tcp://localhost:0"), InsecureError, "is a name"),
        (lambda: CommunityManager(gateways=["nowhere"]), GatewayError, "'nowhere'"),
        (lambda: CommunityManager(options={"d": 1}), ValueError, "no option 'd'; it has: c,"),
        (lambda: CommunityManager().community("soccer"), TopicError, "start with '.'"),
    ],
)
def test_wrong_settings_are_refused_in_words(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


@live
async def test_pipes_of_zmq_are_not_opened_to_strangers_either() -> None:
    pipes = open_pipes("zmq")
    given: dict[str, Any] = {"bind": "tcp://192.0.2.1:7000", "insecure": True, "pipes": pipes}
    with pytest.raises(InsecureError, match="zmq_may_abort=True"):
        CommunityManager(**given)
    CommunityManager(**given, zmq_may_abort=True)
    pipes.close()


class Awaited:
    """A sink that would write nothing."""

    async def write(self, record: object) -> None:
        raise AssertionError("nobody awaits this")


ROME: Any = ".rome"  # a text where something else is meant


class Unshown:
    """What it is cannot be said."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


UNSHOWN: Any = Unshown()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CommunityManager(bind=cast("Any", 7000)), "bind is a text, and not 7000"),
        (lambda: CommunityManager(bind=cast("Any", [])), r"bind is a text, and not \[\]"),
        (lambda: CommunityManager(advertise=cast("Any", 7)), "advertise is a text, and not 7"),
        (lambda: CommunityManager(transport=cast("Any", {})), "transport is a text, and not {}"),
        (lambda: CommunityManager(control=ROME), "control is a pathlib.Path, and not '.rome'"),
        (lambda: CommunityManager(identity=ROME), "identity is a pathlib.Path, and not '.rome'"),
        (lambda: CommunityManager(remember=ROME), "remember is a pathlib.Path"),
        (lambda: CommunityManager(trust=ROME), "trust is a list of pathlib.Path"),
        (lambda: CommunityManager(parameters=ROME), r"parameters is Parameters\(…\)"),
        (lambda: CommunityManager(options=ROME), "options is a mapping"),
        (lambda: CommunityManager(trace=ROME), "trace is a sink, such as JsonLinesSink"),
        (
            lambda: CommunityManager(trace=cast("Any", Awaited())),
            "the write of a trace is a plain function, which is not awaited",
        ),
        (lambda: CommunityManager(pipes=ROME), "pipes is what open_pipes returns"),
        (
            lambda: CommunityManager(insecure=cast("Any", "no")),
            "insecure is True or False, and not",
        ),
        (lambda: CommunityManager(repair=cast("Any", None)), "repair is True or False"),
        (lambda: CommunityManager(rng=ROME), "rng is a random.Random"),
        (lambda: CommunityManager(passphrase=cast("Any", b"secret")), "a text, and no bytes$"),
        (lambda: CommunityManager().community(".a", parameters=ROME), "parameters is Parameters"),
        (lambda: CommunityManager().community(".a", super_topics=ROME), "super_topics is a list"),
        (lambda: CommunityManager().community(".a").unsubscribe(ROME), "subscription is what"),
        (lambda: Parameters(z=ROME), "z is a whole number, and not '.rome'"),
        (lambda: Topic(ROME), r"a Topic is made of a tuple of levels; Topic.parse reads '\.rome'"),
        (lambda: Topic.parse(cast("Any", 5)), "a topic is a text such as '.soccer.italy', and not"),
        (lambda: Topic.parse(cast("Any", Topic(("a",)))), "a topic is a text such as"),
        (lambda: Topic.parse(cast("Any", [])), "a topic is a text such as"),
        (lambda: JsonLinesSink(cast("Any", 1)), "path is the pathlib.Path of a file, and not 1"),
        (lambda: open_pipes(cast("Any", [])), r"transport is a text, and not \[\]"),
        (
            lambda: Requests(cast("Any", blocking.CommunityManager()), ".a"),
            "manager is a CommunityManager of asyncio, and not <CommunityManager that is not",
        ),
        (lambda: Presence(ROME, ".a", "Ada"), "manager is a CommunityManager of asyncio, and not"),
        (lambda: CommunityManager(bind=UNSHOWN), "bind is a text, and not <Unshown, which cannot"),
        (lambda: CommunityManager(trust=UNSHOWN), "trust is a list of .*, and not <Unshown"),
        (
            lambda: Presence(CommunityManager(), ".a", "Ada", on_change=UNSHOWN),
            "on_change is a plain function, .* <Unshown, which cannot",
        ),
        (lambda: Interest.parse(cast("Any", 5)), "an interest is a text"),
        (lambda: camcast.topic(".a", version=ROME), "version is a whole number"),
    ],
)
def test_what_is_of_a_wrong_type_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def _live_objects(manager: Any) -> list[Any]:
    community = manager.community(".a")
    return [manager, community, community.subscribe(), community.changes()]


@live
async def test_what_runs_in_one_process_cannot_be_copied_into_another() -> None:
    """A copy would share the sockets, and close the original's subscription with itself."""
    async with CommunityManager() as manager:
        await manager.join(".a")
        with blocking.CommunityManager() as face:
            face.join(".a")
            for one, community, *feeds in (_live_objects(manager), _live_objects(face)):
                for running in (one, community, *feeds):
                    name = type(running).__name__
                    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
                        with pytest.raises(TypeError, match=f"^a {name} belongs to one process"):
                            cast("Any", duplicate)(running)
                for feed in feeds:
                    feed.close()


@live
@pytest.mark.parametrize("setting", ["archive", "audit", "control", "gateways", "parameters"])
async def test_a_path_that_cannot_be_one_is_named(setting: str) -> None:
    wrong: Any = {setting: Path("a\0b")}
    with pytest.raises(CamcastError, match=r"a\S+b"):
        async with CommunityManager(**wrong):
            pass


@live
async def test_a_time_of_another_numbers_type_is_sent_as_a_float() -> None:
    """Numbers of numpy are of types of their own, too, which MessagePack lacks."""
    async with managers(2) as (first, second):
        await first.join(".a")
        community = await second.join(".a")
        await community.ready()
        reaches: list[object] = []
        community.subscribe(Inbox(), since=cast("Any", Fraction(5, 2)), on_reach=reaches.append)
        await eventually(lambda: bool(reaches))
        assert second.counters.failures == 0


@live
async def test_calls_name_what_is_of_a_wrong_type_and_join_nothing() -> None:
    async with CommunityManager() as manager:
        community = manager.community(".a")
        for call, message in (
            (community.join(timeout=ROME), "timeout is a number, and not '.rome'"),
            (community.join(retry=ROME), "retry is True or False"),
            (community.ready(min_peers=ROME), "min_peers is a whole number"),
            (community.ready(min_links=cast("Any", 1.5)), "min_links is a whole number"),
            (community.publish(b"", upward_probability=ROME), "upward_probability is a number"),
            (community.publish(ROME), "publish bytes .* and no str: make"),
            (community.publish({}), "publish bytes .* and no dict: make"),
            (manager.ask_gateways(ROME), "timeout is a number"),
        ):
            with pytest.raises(TypeError, match=message):
                await call
        for given, message in (
            ({"own": ROME}, "own is True or False"),
            ({"since": ROME}, "since is a number, and not '.rome'"),
        ):
            with pytest.raises(TypeError, match=message):
                community.subscribe(**given)
        beyond = 10**400  # and above what a float holds
        for call in (community.join(timeout=beyond), manager.ask_gateways(beyond)):
            with pytest.raises(ValueError, match="timeout is a number of seconds, and not 1000"):
                await call
        with pytest.raises(ValueError, match="since is a number of seconds, 0 or more, not 1000"):
            community.subscribe(since=beyond)
        community.changes(queue_length=beyond).close()
        for call in (community.join(timeout=nan), community.ready(timeout=nan)):
            with pytest.raises(ValueError, match="timeout is a number of seconds, and not nan"):
                await call
        for wrong in (nan, inf, -inf):
            with pytest.raises(ValueError, match=r"upward_probability is in \[0, 1\]"):
                await community.publish(b"", upward_probability=wrong)
            with pytest.raises(ValueError, match="beat_seconds is a finite number, and not"):
                Presence(manager, ".a", "ada", beat_seconds=wrong)
        assert community.state == "new"


@live
@pytest.mark.parametrize("name", ["no-such-host.invalid", "a" * 64])
async def test_a_gateway_name_without_an_address_is_named_by_join(name: str) -> None:
    """And with `retry` it is waited for."""
    gateway = f"tcp://{name}:7000"
    async with CommunityManager(gateways=[gateway]) as manager:
        with pytest.raises(GatewayTimeout, match=f"{gateway} is a name without an address"):
            await manager.join(".a")
        (asked,) = manager.stats().discovery.first_contacts
        assert (asked.address, asked.answers) == (gateway, False)
        with pytest.raises(GatewayTimeout, match="is a name without an address"):
            await manager.join(".a", retry=True, timeout=2.5)


@pytest.mark.parametrize("what", ["archive", "advertise"])
@live
async def test_a_system_without_a_thread_left_is_named_by_start(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    given: dict[str, Any] = {"archive": tmp_path / "a"} if what == "archive" else {}
    if what == "advertise":
        given = {"advertise": "localhost", "bind": "tcp://127.0.0.1:0"}
    manager = CommunityManager(**given)
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", refuse)
        with pytest.raises(CommunityError, match="cannot start: can't start new thread"):
            await manager.start()
