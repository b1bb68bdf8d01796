"""The blocking face: the same, from scripts and threads."""

import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import camcast
from camcast import (
    AddressInUse,
    Change,
    CommunityError,
    CommunitySettings,
    GatewayTimeout,
    NotReady,
    Received,
    ReceivedBatch,
    TopicError,
)
from camcast.app import blocking
from camcast.inbox.received import Gap
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.python_process import output_of

CERTAIN = CommunitySettings(a=3.0, search_seconds=0.2)


def payloads(items: Iterable[Received | Gap]) -> list[bytes]:
    """Return what the events carry; that none was dropped is asserted."""
    collected: list[bytes] = []
    for item in items:
        assert isinstance(item, Received)
        collected.append(item.payload)
    return collected


def manager(*gateways: str) -> blocking.CommunityManager:
    return blocking.CommunityManager(gateways=gateways, parameters=CERTAIN)


@pytest.mark.parametrize("name", ["CommunityManager", "Community", "Subscription"])
def test_names_and_arguments_are_the_same(name: str) -> None:
    there, here = getattr(camcast, name), getattr(blocking, name)
    # `put` and `tell` are for the community; attributes are properties here.
    public = {n for n in vars(there) if not n.startswith("_")} - {"pipes", "put", "tell"}
    assert public <= {n for n in vars(here) if not n.startswith("_")}
    methods = {n for n in public if inspect.isfunction(vars(there)[n])}
    if name == "CommunityManager":  # the others are made by it
        methods.add("__init__")
    for method in methods:
        assert arguments(vars(here)[method]) == arguments(vars(there)[method]), method


def arguments(function: Any) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults, in order; output pipes belong to one loop."""
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in parameters if p.name != "pipes"]


def test_what_was_queued_can_be_read_after_the_manager_was_closed() -> None:
    with manager() as only:
        community = only.join(".a")
        events, batches, changes = community.subscribe(), community.subscribe(), community.changes()
        for payload in (b"x", b"y"):
            community.publish(payload)
    with events, changes:  # which close what is closed already
        assert payloads(events) == [b"x", b"y"]
    assert [isinstance(batch, ReceivedBatch) for batch in batches.batches()] == [True, True]
    assert [change.kind for change in changes if isinstance(change, Change)] == ["alone", "left"]
    assert (community.state, community.peers, community.links, community.size) == (
        "left",
        (),
        (),
        0,
    )
    assert events.stats().queued_events == 0
    assert repr(only) == "<CommunityManager that is not running>"


def test_starting_and_closing_in_several_threads_wait_for_one_another() -> None:
    only = blocking.CommunityManager(gateways=["tcp://localhost:1"])  # looking it up takes a while

    def start_and_look() -> str:
        only.start()
        return only.address

    with ThreadPoolExecutor() as threads:
        addresses = [threads.submit(start_and_look) for _ in range(4)]
        assert len({address.result(PATIENCE_SECONDS) for address in addresses}) == 1
        for close in [threads.submit(only.close) for _ in range(3)]:
            close.result(PATIENCE_SECONDS)
        for _ in range(5):
            start, close = threads.submit(only.start), threads.submit(only.close)
            start.result(PATIENCE_SECONDS)
            close.result(PATIENCE_SECONDS)
            only.close()
            with pytest.raises(CommunityError, match="not running"):
                _ = only.address


def test_a_forked_child_is_told_that_nothing_is_inherited() -> None:
    with manager() as only:
        community = only.join(".a")
        child = os.fork()
        if not child:
            code = 1
            try:
                community.publish(b"x")
            except CommunityError as error:
                code = 0 if f"belongs to process {os.getppid()}" in str(error) else 2
                only.close()  # which is the parent's to do
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        events = community.subscribe()
        community.publish(b"y")
        assert payloads([next(events)]) == [b"y"]


@pytest.mark.parametrize("end", ["return", "sys.exit(3)", "raise ValueError"])
def test_a_child_that_a_callback_forks_ends_with_it_and_hears_nothing_more(end: str) -> None:
    printed = output_of("-W", "ignore", "-c", FORKS.format(end=end)).splitlines()
    assert printed == ["heard b'0'", "ended", "heard b'1'", "ended"]


FORKS = """
import os, sys
from camcast.app import blocking

def callback(event):
    child = os.fork()
    if not child:
        {end}
    print("heard", event.payload, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)

with blocking.CommunityManager() as manager:
    community = manager.join(".a")
    community.subscribe(callback)
    for number in range(2):
        community.publish(b"%d" % number)
"""


def test_an_event_travels_between_two_managers() -> None:
    with manager() as first, manager(first.address) as second:
        events = first.join(".a").subscribe()
        publisher = second.join(".a.b")
        publisher.ready(0, min_links=1)
        receipt = publisher.publish(b"hello")
        assert (receipt.peers, receipt.links) == (0, 1)
        event = next(events)
        assert isinstance(event, Received)
        assert (event.payload, event.id, event.hops) == (b"hello", receipt.id, 1)
        assert publisher.state == "alone"
        assert publisher.super_topics == (first.join(".a").topic,)
        assert [topic.name for topic, _ in publisher.links] == [".a"]
        assert publisher.peers == ()
        assert publisher.size == 1.0
        assert [c.topic.name for c in second.super_communities(".a.b")] == [".a"]
        assert second.counters.upward_sent == 1
        assert first.counters.events == 1
        publisher.stop_publishing()
        assert repr(publisher) == "<Community .a.b left>"


def test_iteration_ends_when_the_subscription_or_the_manager_closes() -> None:
    with manager() as only, ThreadPoolExecutor(2) as pool:
        community = only.join(".a")
        first, second = community.subscribe(), community.subscribe()
        lists = [pool.submit(list, first), pool.submit(list, second)]
        community.publish(b"x")
        first.close()
        assert payloads(lists[0].result(PATIENCE_SECONDS)) == [b"x"]
        assert first.closed
        only.close()
        assert payloads(lists[1].result(PATIENCE_SECONDS)) == [b"x"]
        assert list(second) == []


def test_several_threads_publish_and_iterate_at_once() -> None:
    with manager() as only, ThreadPoolExecutor(8) as pool:
        community = only.join(".a")
        events = community.subscribe()
        readers = [pool.submit(payloads, events) for _ in range(4)]
        sent = [b"%d" % number for number in range(400)]

        def publish(part: list[bytes]) -> None:
            for event in part:
                community.publish(event)

        publishers = [pool.submit(publish, sent[number::4]) for number in range(4)]
        for publisher in publishers:
            publisher.result(PATIENCE_SECONDS)
        community.unsubscribe(events)
        got = [payload for reader in readers for payload in reader.result(PATIENCE_SECONDS)]
        assert sorted(got) == sorted(sent)


def test_several_threads_iterate_by_the_batch() -> None:
    def payloads_of(subscription: blocking.Subscription) -> list[bytes]:
        taken: list[bytes] = []
        for batch in subscription.batches():
            assert isinstance(batch, ReceivedBatch)
            taken += batch.payloads
        return taken

    with manager() as only, ThreadPoolExecutor(3) as pool:
        community = only.join(".a")
        events, last = community.subscribe(), community.subscribe()
        readers = [pool.submit(payloads_of, events) for _ in range(3)]
        sent = [b"%d" % number for number in range(100)]
        for event in sent:
            community.publish(event)
        assert [payloads([next(last)])[0] for _ in sent] == sent
        events.close()
        got = [payload for reader in readers for payload in reader.result(PATIENCE_SECONDS)]
        assert sorted(got) == sorted(sent)


def test_callbacks_run_in_their_own_threads_and_may_publish() -> None:
    with manager() as only:
        answers = only.join(".answers").subscribe()

        def answer(received: Received) -> None:
            only.join(".answers").publish(received.payload[::-1])

        questions = only.join(".questions")
        subscription = questions.subscribe(answer)
        questions.publish(b"abc")
        event = next(answers)
        assert isinstance(event, Received)
        assert event.payload == b"cba"
        assert (subscription.errors, subscription.missed) == (0, 0)


def test_a_coroutine_callback_is_told_not_to_wait() -> None:
    with manager() as only:
        community = only.join(".a")
        caught: list[str] = []

        async def callback(received: Received) -> None:
            try:
                community.publish(b"again")
            except CommunityError as error:
                caught.append(str(error))

        community.subscribe(callback)
        community.publish(b"x")
        wait_until(lambda: bool(caught))
        assert "await asyncio.to_thread(publish, ...)" in caught[0]


def test_errors_are_the_same() -> None:
    with manager() as only:
        with pytest.raises(TopicError):
            only.join("soccer")
        with pytest.raises(NotReady):
            only.join(".a").ready(timeout=0.05)
        with pytest.raises(AddressInUse):
            blocking.CommunityManager(bind=only.address).start()
        silent = blocking.CommunityManager(bind="tcp://127.0.0.1:0")
        with silent:
            address = silent.address
        with manager(address) as lonely, pytest.raises(GatewayTimeout, match=address):
            lonely.join(".a")


def test_a_closed_manager_says_so_and_can_start_again() -> None:
    once = manager()
    with pytest.raises(CommunityError, match="not running"):
        once.join(".a")
    for _ in range(2):
        with once:
            once.start()
            assert once.join(".a").state == "alone"
        once.close()
        with pytest.raises(CommunityError, match="not running"):
            _ = once.address


def test_a_with_in_a_with_is_refused_and_the_outer_goes_on() -> None:
    with blocking.CommunityManager() as manager:
        with pytest.raises(CommunityError, match="in a `with` already"):
            manager.__enter__()
        subscription = manager.community(".a").subscribe()
        with pytest.raises(CommunityError, match=r"of another community than \.b"):
            manager.community(".b").unsubscribe(subscription)
        assert not subscription.closed
        manager.community(".a").unsubscribe(subscription)
        assert subscription.closed
    with manager:  # and once more, one after the other
        assert manager.join(".a").state == "alone"


def test_close_ends_the_calls_that_are_waiting() -> None:
    with manager() as only, ThreadPoolExecutor(1) as pool:
        community = only.join(".a")
        waiting = pool.submit(community.ready, timeout=None)
        wait_until(waiting.running)
        only.close()
        with pytest.raises(CommunityError):
            waiting.result(PATIENCE_SECONDS)


def test_close_leaves_no_thread_or_descriptor_behind() -> None:
    def use() -> None:
        with manager() as first, manager(first.address) as second:
            first.join(".a").subscribe(lambda received: None)
            second.join(".a").publish(b"x")

    use()
    threads, descriptors = threading.enumerate(), len(os.listdir("/proc/self/fd"))
    use()
    wait_until(lambda: threading.enumerate() == threads)
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_ctrl_c_ends_a_waiting_loop_and_leaves_politely(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text(
        "import sys\n"
        "from camcast.app import blocking\n"
        "with blocking.CommunityManager(gateways=sys.argv[1:]) as manager:\n"
        "    events = manager.join('.a').subscribe()\n"
        "    try:\n"
        "        print('subscribed', flush=True)\n"
        "        for event in events:\n"
        "            print(event.payload.decode(), flush=True)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
    )
    with manager() as first:
        community = first.join(".a")
        process = subprocess.Popen(
            [sys.executable, script, first.address], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process:
            try:
                assert process.stdout.readline() == "subscribed\n"
                community.ready(timeout=PATIENCE_SECONDS)
                community.publish(b"hello")
                assert process.stdout.readline() == "hello\n"
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE_SECONDS) == 0
                assert process.stdout.read() == "interrupted\n"
                wait_until(lambda: community.state == "alone")  # it said goodbye
            finally:
                process.kill()
