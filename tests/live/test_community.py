"""The interface that applications embed, over real sockets: what section 5.1 promises and more."""

import asyncio
import contextlib
import functools
import gc
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVarTuple

import attrs
import pytest
import zmq

from camcast import (
    AddressInUse,
    Community,
    CommunityError,
    CommunityManager,
    GatewayError,
    GatewayTimeout,
    InsecureError,
    Lagged,
    NotReady,
    Overflow,
    Parameters,
    PayloadTooLargeError,
    Received,
    Topic,
    TopicError,
    TypedEventError,
    UnknownPlugError,
    open_pipes,
)
from camcast.wire import FRAME_HEADER, PAYLOAD_BYTES_MAX
from membership.scamp import Scamp

Given = TypeVarTuple("Given")

TIMEOUT_SECONDS = 30.0  # of a whole test; hardly one takes a tenth of it

# Quick repairs, and nobody is suspected for being slow: what is dropped was told to leave.
OPTIONS = {"heartbeat_seconds": 0.1, "suspect_after": 200}
# p_sel = p_a = 1 in small communities, so that an event climbs for certain.
CERTAIN = Parameters(a=3.0, search_seconds=0.2, check_seconds=0.5)


def live(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def timed(*args: Any, **kwargs: Any) -> None:
        async def main() -> None:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await test(*args, **kwargs)
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main())
        gc.collect()  # a socket left open is a ResourceWarning, hence an error

    return timed


async def eventually(holds: Callable[[*Given], Any], *given: *Given) -> None:
    while not holds(*given):
        await asyncio.sleep(0.005)


@asynccontextmanager
async def managers(count: int, **settings: Any) -> AsyncIterator[list[CommunityManager]]:
    """Some processes that find each other through the first."""
    settings = {"options": OPTIONS, "parameters": CERTAIN, **settings}
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(CommunityManager(**settings))
        gateways = [first.address]
        others = [CommunityManager(gateways=gateways, **settings) for _ in range(count - 1)]
        yield [first, *[await stack.enter_async_context(other) for other in others]]


def connected(communities: Iterable[Community]) -> bool:
    """Whether an event of any of these processes reaches all of them along the topic tables."""
    by_peer = {c._manager.contact.peer: c for c in communities}
    for start in by_peer:
        reached, edge = {start}, [start]
        while edge:
            for peer in by_peer[edge.pop()].peers:
                if peer.peer in by_peer and peer.peer not in reached:
                    reached.add(peer.peer)
                    edge.append(peer.peer)
        if len(reached) < len(by_peer):
            return False
    return True


def mutual(communities: Iterable[Community]) -> bool:
    """Whether every arc is known at both ends: no answer to a subscription is under way."""
    arcs: set[tuple[bytes, bytes]] = set()
    held: set[tuple[bytes, bytes]] = set()
    for community in communities:
        me = community._manager.contact.peer
        assert community._participation is not None
        arcs |= {(me, peer.peer) for peer in community.peers}
        scamp = community._participation.membership
        assert isinstance(scamp, Scamp)
        held |= {(holder.peer, me) for holder in scamp.holders()}
    return arcs == held


def state_of(community: Community) -> str:
    """Read the state: mypy takes a property, once compared, for what it was."""
    return community.state


async def join_all(topic: Any, joining: Iterable[CommunityManager], **how: Any) -> list[Community]:
    communities = [await manager.join(topic, **how) for manager in joining]
    await eventually(lambda: connected(communities))
    return communities


class Inbox:
    """A plain callback that collects payloads, in the thread of its subscription."""

    def __init__(self) -> None:
        self.received: list[Received] = []

    def __call__(self, received: Received) -> None:
        self.received.append(received)

    @property
    def payloads(self) -> list[bytes]:
        return [received.payload for received in self.received]


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


# -- events ------------------------------------------------------------------------------------


@live
async def test_an_event_reaches_a_subscriber_in_another_process() -> None:
    async with managers(2) as (first, second):
        subscription = (await first.join(".soccer")).subscribe()
        publisher = await second.join(".soccer")
        await publisher.ready()
        receipt = await publisher.publish(b"goal")
        event = await anext(subscription)
        assert isinstance(event, Received)
        assert event == Received(receipt.id, Topic.parse(".soccer"), b"goal", b"goal", 1)
        assert (receipt.peers, receipt.links) == (1, 0)


@live
async def test_events_climb_to_the_root_and_never_visit_siblings() -> None:
    async with managers(13) as (gateway, *others):
        topics = (".", ".sports", ".sports.soccer", ".sports.tennis")
        inboxes: dict[str, list[Inbox]] = {}
        members: dict[str, list[Community]] = {}
        for number, topic in enumerate(topics):
            members[topic] = await join_all(topic, others[3 * number : 3 * number + 3])
            inboxes[topic] = [Inbox() for _ in range(3)]
            for community, inbox in zip(members[topic], inboxes[topic], strict=True):
                community.subscribe(inbox)
        publisher = members[".sports.soccer"][0]
        for topic in topics[1:]:
            for community in members[topic]:
                above = community.super_topics[0]
                await community.ready(min_links=1)
                await eventually(lambda c, a: c.links[0][0] == a, community, above)
        await publisher.publish(b"goal")
        for topic in topics[:3]:
            await eventually(lambda t: all(i.payloads == [b"goal"] for i in inboxes[t]), topic)
        await publisher.publish(b"again")
        for topic in topics[:3]:
            await eventually(lambda t: all(len(i.payloads) == 2 for i in inboxes[t]), topic)
            assert all(r.topic.name == ".sports.soccer" for i in inboxes[topic] for r in i.received)
        assert all(not inbox.payloads for inbox in inboxes[".sports.tennis"])
        assert all(manager.counters.parasites == 0 for manager in (gateway, *others))
        assert all(m.counters.events == 0 for m in (gateway, *others[9:]))  # at the socket


@live
async def test_plain_coroutine_and_iterated_subscriptions_all_get_every_event() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        plain, threads, by_coroutine = Inbox(), set[str](), list[bytes]()

        def callback(received: Received) -> None:
            threads.add(threading.current_thread().name)
            plain(received)

        async def coroutine(received: Received) -> None:
            await asyncio.sleep(0)
            by_coroutine.append(received.payload)

        class Callable:
            async def __call__(self, received: Received) -> None:
                by_object.append(received.payload)

        by_object: list[bytes] = []
        community.subscribe(callback)
        community.subscribe(coroutine)
        community.subscribe(Callable())
        iterated = community.subscribe()
        events = [b"%d" % number for number in range(100)]
        for event in events:
            await community.publish(event)
        await eventually(lambda: len(plain.payloads) == len(by_coroutine) == len(by_object) == 100)
        community.unsubscribe(iterated)
        assert [item.payload async for item in iterated if isinstance(item, Received)] == events
        assert plain.payloads == by_coroutine == by_object == events
        assert threads == {"camcast-subscriber"}


@live
async def test_publishing_without_subscribing_joins_first_and_receives_nothing_back() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        publisher = second.community(".a")
        assert state_of(publisher) == "new"
        receipt = await publisher.publish(b"hello")
        assert state_of(publisher) == "member"
        assert receipt.peers == 1
        await eventually(lambda: inbox.payloads == [b"hello"])
        publisher.stop_publishing()
        assert state_of(publisher) == "left"


@live
async def test_receipts_count_peers_and_links_and_say_zero_when_alone() -> None:
    async with managers(3) as (first, second, third):
        alone = await first.join(".a")
        receipt = await alone.publish(b"x")
        assert (receipt.peers, receipt.links) == (0, 0)
        assert receipt.id.publisher == first.contact.peer
        assert (await alone.publish(b"y")).id.sequence == receipt.id.sequence + 1
        await second.join(".a")
        await alone.ready()
        assert (await alone.publish(b"z")).peers == 1
        below = await third.join(".a.b")
        await below.ready(0, min_links=2)
        receipt = await below.publish(b"up")
        assert (receipt.peers, receipt.links) == (0, 2)


@live
async def test_an_upward_probability_of_zero_never_climbs() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        below = await second.join(".a.b")
        await below.ready(0, min_links=1)
        for _ in range(50):
            assert (await below.publish(b"stays", upward_probability=0.0)).links == 0
        await below.publish(b"climbs", upward_probability=1.0)
        await eventually(lambda: inbox.payloads)
        assert inbox.payloads == [b"climbs"]
        assert second.counters.upward_sent == 1
        with pytest.raises(ValueError, match=r"upward_probability is in \[0, 1\], not 1.5"):
            await below.publish(b"x", upward_probability=1.5)


@live
async def test_the_largest_payload_passes_and_a_larger_one_is_refused() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        publisher = await second.join(".a")
        await publisher.ready()
        with pytest.raises(PayloadTooLargeError, match=r"1,048,577 bytes .* limit of 1,048,576"):
            await publisher.publish(bytes(PAYLOAD_BYTES_MAX + 1))
        await publisher.publish(bytes(PAYLOAD_BYTES_MAX))
        await eventually(lambda: inbox.payloads == [bytes(PAYLOAD_BYTES_MAX)])


# -- slow, raising and hanging subscribers -----------------------------------------------------


@pytest.mark.parametrize("overflow", Overflow)
@live
async def test_a_slow_subscriber_is_told_what_it_missed_and_nobody_else_misses_any(
    overflow: Overflow,
) -> None:
    async with managers(2) as (first, second):
        near, far = await join_all(".a", [first, second])
        slow = near.subscribe(queue_length=4, overflow=overflow)
        quick = near.subscribe()
        remote = Inbox()
        far.subscribe(remote)
        events = [b"%d" % number for number in range(10)]
        for event in events:
            await near.publish(event)
        await eventually(lambda: remote.payloads == events)
        slow.close()
        quick.close()
        got = [item if isinstance(item, Lagged) else item.payload async for item in slow]
        if overflow is Overflow.DROP_OLDEST:
            assert got == [Lagged(6), *events[6:]]
        else:
            assert got == [*events[:4], Lagged(6)]
        assert slow.missed == 6
        assert [item.payload async for item in quick if isinstance(item, Received)] == events


@live
async def test_a_slow_callback_is_told_what_it_missed() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        entered, go_on = threading.Event(), threading.Event()
        lagged: list[Lagged] = []

        def slow(received: Received) -> None:
            entered.set()
            go_on.wait()

        community.subscribe(slow, queue_length=2, on_lagged=lagged.append)
        await community.publish(b"first")
        await eventually(entered.is_set)
        for _ in range(5):
            await community.publish(b"more")
        go_on.set()
        await eventually(lambda: lagged)
        assert lagged == [Lagged(3)]


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
@live
async def test_a_raising_callback_is_isolated_logged_and_counted(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(received: Received) -> None:
        raise LookupError("no such player")

    async def coroutine(received: Received) -> None:
        plain(received)

    async with managers(1) as (manager,):
        community = await manager.join(".a")
        raising = community.subscribe(plain if kind == "plain" else coroutine)
        inbox = Inbox()
        community.subscribe(inbox)
        for _ in range(20):
            await community.publish(b"x")
        await eventually(lambda: raising.errors == 20 and len(inbox.payloads) == 20)
    [record] = [r for r in caplog.records if r.levelno >= logging.ERROR]  # once a second
    assert "a subscriber's callback raised" in record.message
    assert record.exc_info is not None
    assert "no such player" in str(record.exc_info[1])


@live
async def test_a_hanging_plain_callback_stops_neither_forwarding_nor_closing() -> None:
    hang = threading.Event()
    entered = threading.Event()
    inbox = Inbox()

    def hanging(received: Received) -> None:
        entered.set()
        hang.wait()

    try:
        async with managers(3) as (first, second, third):
            communities = await join_all(".a", [first, second, third])
            communities[1].subscribe(hanging)
            communities[2].subscribe(inbox)
            for number in range(50):
                await communities[0].publish(b"%d" % number)
                await eventually(lambda n: len(inbox.payloads) == n + 1, number)
            await eventually(entered.is_set)
            await second.close()
    finally:
        hang.set()
    await eventually(lambda: not [t for t in threading.enumerate() if "subscriber" in t.name])


@live
async def test_a_hanging_coroutine_callback_is_cancelled_by_close() -> None:
    cancelled = False

    async def hanging(received: Received) -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    async with managers(1) as (manager,):
        community = await manager.join(".a")
        community.subscribe(hanging)
        await community.publish(b"x")
    assert cancelled  # and `live` finds no task left


@live
async def test_callbacks_get_what_they_still_have_before_close_returns() -> None:
    plain, by_coroutine = Inbox(), list[bytes]()

    async def coroutine(received: Received) -> None:
        await asyncio.sleep(0)
        by_coroutine.append(received.payload)

    async with managers(1) as (manager,):
        community = await manager.join(".a")
        community.subscribe(plain)
        community.subscribe(coroutine)
        for _ in range(1000):
            await community.publish(b"x")
    assert len(plain.payloads) == len(by_coroutine) == 1000


@live
async def test_a_coroutine_callback_may_close_the_manager() -> None:
    async with managers(1) as (manager,):
        closed = asyncio.Event()

        async def close(received: Received) -> None:
            await manager.close()
            closed.set()

        community = await manager.join(".a")
        community.subscribe(close)
        await community.publish(b"x")
        await closed.wait()


@live
async def test_a_closed_subscription_takes_no_more_events() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        kept = community.subscribe()
        async with community.subscribe() as closing:
            await community.publish(b"before")
        await community.publish(b"after")
        assert [i.payload async for i in closing if isinstance(i, Received)] == [b"before"]
        assert isinstance(await anext(kept), Received)
        assert community.state == "alone"  # still subscribed, still publishing


@live
async def test_a_subscription_says_what_is_wrong_with_its_settings() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        with pytest.raises(ValueError, match="holds at least 1 event, not 0"):
            community.subscribe(queue_length=0)
        with pytest.raises(RuntimeError, match="nothing to iterate"):
            await anext(community.subscribe(Inbox()))


# -- typed events ------------------------------------------------------------------------------


@attrs.frozen
class Sport:
    place: str


@attrs.frozen
class Soccer(Sport):
    goals: int


@live
async def test_typed_events_arrive_as_the_nearest_class_that_the_subscriber_knows() -> None:
    async with managers(4) as (first, second, third, fourth):
        sport, raw = await first.join(Sport), await second.join(".Sport")
        by_class, by_name = sport.subscribe(), raw.subscribe()
        known = await third.join(Soccer)
        assert known.topic.name == ".Sport.Soccer"
        assert known.super_topics == (sport.topic,)
        await eventually(lambda: connected([sport, raw]))
        await known.ready(0, min_links=1)
        await known.publish(Soccer("Rome", 3))
        event = await anext(by_class)
        assert isinstance(event, Received)
        assert event.value == Soccer("Rome", 3)
        event = await anext(by_name)
        assert isinstance(event, Received)
        assert event.value == event.payload  # who named no class gets the bytes
        known.stop_publishing()

        # A class that only its publisher knows, as if it were defined in another program.
        unknown = attrs.make_class("Chess", {"moves": attrs.field(type=int)}, bases=(Sport,))
        chess = await fourth.join(unknown)
        await chess.ready(0, min_links=1)
        event_object = unknown("Paris", 40)
        decoder: Any = sport._decoder
        decoder._known = {".Sport": Sport}
        decoder._class = {".Sport": Sport}.get
        await chess.publish(event_object)
        event = await anext(by_class)
        assert isinstance(event, Received)
        assert event.value == Sport("Paris")
        assert event.topic.name == ".Sport.Chess"


@live
async def test_what_is_no_event_of_the_community_is_refused() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(Sport)
        with pytest.raises(TypedEventError, match="publish bytes or an attrs object"):
            await community.publish("text")
        with pytest.raises(TypedEventError, match=r"a Soccer belongs to .* \.Sport\.Soccer"):
            await community.publish(Soccer("Rome", 1))
        with pytest.raises(TypedEventError, match="decorate the class with attrs"):
            await community.publish(7)
        unsendable: Any = threading.Lock()
        with pytest.raises(TypedEventError, match="a Sport cannot be sent"):
            await community.publish(Sport(unsendable))
        with pytest.raises(TypedEventError, match="is no topic"):
            await manager.join(int)


# -- several topics ----------------------------------------------------------------------------


@live
async def test_an_event_below_two_super_topics_is_delivered_once_at_their_common_ancestor() -> None:
    async with managers(4) as (root, left, right, below):
        inboxes = [Inbox(), Inbox(), Inbox()]
        topics = (".", ".l", ".r")
        for manager, topic, inbox in zip((root, left, right), topics, inboxes, strict=True):
            community = await manager.join(topic)
            community.subscribe(inbox)
            if topic != ".":
                await community.ready(0, min_links=1)
        both = await below.join(".l.both", super_topics=[".l", ".r"])
        assert [topic.name for topic in both.super_topics] == [".l", ".r"]
        await eventually(lambda: all(contacts for _, contacts in both.links))
        for number in range(20):
            receipt = await both.publish(b"%d" % number)
            assert receipt.links == 2
        events = [b"%d" % number for number in range(20)]
        for inbox in inboxes:
            await eventually(lambda i: sorted(i.payloads, key=int) == events, inbox)
        await eventually(lambda: root.counters.duplicates == 20)  # once each from left and right
        assert len(inboxes[0].payloads) == 20


@live
async def test_two_unrelated_topics_live_side_by_side_in_one_process() -> None:
    async with managers(2) as (first, second):
        a, b = Inbox(), Inbox()
        (await first.join(".a")).subscribe(a)
        (await first.join(".b")).subscribe(b)
        to_a, to_b = await second.join(".a"), await second.join(".b")
        await to_a.ready()
        await to_b.ready()
        await to_a.publish(b"1")
        await to_b.publish(b"2")
        await eventually(lambda: a.payloads == [b"1"] and b.payloads == [b"2"])


@live
async def test_an_event_passes_between_two_communities_of_the_same_process() -> None:
    async with managers(1) as (manager,):
        inbox = Inbox()
        (await manager.join(".a")).subscribe(inbox)
        receipt = await (await manager.join(".a.b")).publish(b"x")
        await eventually(lambda: inbox.payloads == [b"x"])
        assert receipt.links == 0  # it cost no message


@live
async def test_super_communities_follow_the_hierarchy() -> None:
    async with managers(1) as (manager,):
        below = await manager.join(".a.b")
        [above] = manager.super_communities(".a.b")
        assert above is manager.community(".a")
        assert above.state == "new"
        assert manager.super_communities(".") == []
        assert below is manager.community(Topic.parse(".a.b"))
        with pytest.raises(CommunityError, match=r"\.a\.b exists already"):
            manager.community(".a.b", parameters=Parameters())
        with pytest.raises(CommunityError, match="cannot be its own super-topic"):
            manager.community(".c", super_topics=[".c"])


# -- joining and leaving -----------------------------------------------------------------------


@live
async def test_the_first_member_founds_the_community() -> None:
    async with managers(2) as (_, manager):
        community = await manager.join(".empty")
        assert community.state == "alone"
        assert community.size == 1.0
        assert repr(community) == "<Community .empty alone>"
        with pytest.raises(NotReady, match=r"\.empty has 0 peers and 0 links after 0.05 s"):
            await community.ready(timeout=0.05)


@live
async def test_the_last_unsubscription_of_one_who_publishes_not_leaves() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        one, two = community.subscribe(), community.subscribe()
        community.unsubscribe(one)
        assert state_of(community) == "alone"
        await community.publish(b"x")
        community.unsubscribe(two)
        assert state_of(community) == "alone"
        community.stop_publishing()
        assert state_of(community) == "left"
        again = community.subscribe()
        await community.ready(0)
        assert state_of(community) == "alone"
        community.unsubscribe(again)
        assert state_of(community) == "left"


@live
async def test_who_leaves_is_dropped_from_the_tables_at_once() -> None:
    async with managers(3) as (first, second, third):
        one, two, three = await join_all(".a", [first, second, third])
        await eventually(lambda: mutual([one, two, three]))
        gone = third.contact.peer
        subscription = three.subscribe()
        await three.leave()
        assert (three.state, three.peers, three.links, three.size) == ("left", (), (), 0.0)
        assert [item async for item in subscription] == []
        for community in (one, two):
            await eventually(lambda c: gone not in [p.peer for p in c.peers], community)
        await two._manager.close()
        await eventually(lambda: one.state == "alone")


@live
async def test_leaving_ends_the_waiting_for_peers_and_for_gateways() -> None:
    async with managers(1) as (manager,):
        community = manager.community(".a")
        waiting = asyncio.create_task(community.ready(timeout=None))
        await eventually(lambda: community.state == "alone")
        await community.leave()
        with pytest.raises(CommunityError, match=r"\.a was left in the meantime"):
            await waiting
    async with CommunityManager(gateways=[free_address()]) as manager:
        joining = asyncio.create_task(manager.join(".a", timeout=None, retry=True))
        await eventually(lambda: manager.community(".a").state == "joining")
        await manager.close()
        with pytest.raises(CommunityError, match="left in the meantime"):
            await joining


@live
async def test_silent_gateways_are_named() -> None:
    addresses = (free_address(), free_address())
    async with CommunityManager(gateways=addresses) as manager:
        with pytest.raises(GatewayTimeout) as caught:
            await manager.join(".a")
        assert caught.value.addresses == addresses
        assert all(address in str(caught.value) for address in addresses)
        assert ".a" in str(caught.value)
        assert manager.community(".a").state == "left"
        with pytest.raises(GatewayTimeout):
            await manager.community(".a").publish(b"x")
        with pytest.raises(NotReady, match=r"not joined within 0\.05 s"):
            await manager.join(".b", timeout=0.05)


@live
async def test_with_retry_a_process_joins_once_the_gateway_runs() -> None:
    address = free_address()
    async with CommunityManager(gateways=[address]) as manager:
        joining = asyncio.create_task(manager.join(".a", retry=True, timeout=None))
        # Until it has learned that nobody answers.
        await eventually(lambda: (c := manager.community(".a"))._participation is not None
                         and c._participation.unreachable)  # fmt: skip
        async with CommunityManager(bind=address):
            assert (await joining).state == "alone"


@live
async def test_a_port_in_use_is_said_and_leaves_nothing_behind() -> None:
    async with managers(1) as (manager,):
        other = CommunityManager(bind=manager.address)
        with pytest.raises(AddressInUse) as caught:
            await other.start()
        assert manager.address in str(caught.value.strerror)
        with pytest.raises(CommunityError, match="not running"):
            await other.join(".a")


@live
async def test_a_restarted_process_comes_back_at_the_same_port() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        address, peer = second.address, second.contact.peer
        await (await second.join(".a")).publish(b"before")
        await eventually(lambda: inbox.payloads == [b"before"])
        await second.close()
        async with CommunityManager(
            gateways=[first.address], bind=address, options=OPTIONS, parameters=CERTAIN
        ) as again:
            assert again.address == address
            assert again.contact.peer != peer
            community = await again.join(".a")
            await community.ready()
            returning = community.subscribe()
            await community.publish(b"after")
            await eventually(lambda: inbox.payloads == [b"before", b"after"])
            assert isinstance(await anext(returning), Received)
            await first.community(".a").ready()
            await first.community(".a").publish(b"back")
            item = await anext(returning)
            assert isinstance(item, Received)
            assert item.payload == b"back"


@live
async def test_a_manager_can_be_closed_twice_and_started_again() -> None:
    manager = CommunityManager()
    await manager.close()
    for _ in range(2):
        async with manager:
            await manager.start()
            community = await manager.join(".a")
            events = community.subscribe()
            await community.publish(b"x")
            assert isinstance(await anext(events), Received)
        await manager.close()
        with pytest.raises(CommunityError, match="not running"):
            _ = manager.address
        with pytest.raises(CommunityError, match="not running"):
            community.subscribe()


@live
async def test_managers_of_a_loop_may_share_output_pipes() -> None:
    pipes = open_pipes()
    try:
        async with managers(3, pipes=pipes) as three:
            communities = await join_all(".a", three)
            inbox = Inbox()
            communities[2].subscribe(inbox)
            await communities[0].publish(b"x")
            await eventually(lambda: inbox.payloads == [b"x"])
            assert all(manager.pipes is pipes for manager in three)
    finally:
        pipes.close()


# -- bad input ---------------------------------------------------------------------------------


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
            frames = [b"", b"garbage", FRAME_HEADER + b"\xff" * 50, FRAME_HEADER + bytes(64)]
            for frame in frames:
                stranger.send(frame)
            await eventually(lambda: first.counters.malformed == len(frames))
            stranger.send(bytes(8 * 2**20))  # ZeroMQ cuts the sender off
        host, port = first.address.removeprefix("tcp://").rsplit(":", 1)
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(os.urandom(4096))
        await writer.drain()
        writer.close()
        await asyncio.wait_for(_closed(writer), TIMEOUT_SECONDS)
        await publisher.publish(b"still there")
        await eventually(lambda: inbox.payloads == [b"still there"])
        assert first.counters.malformed >= len(frames)  # the noise may pass for old ZMTP, too
        assert first.counters.parasites == 0


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):  # reset by ZeroMQ, as it should be
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CommunityManager("nobody"), UnknownPlugError, "'nobody'; installed: .*scamp"),
        (lambda: CommunityManager(bind="tcp://0.0.0.0:0"), InsecureError, "insecure=True"),
        (
            lambda: CommunityManager(bind="tcp://0.0.0.0:0", insecure=True),
            InsecureError,
            "address to advertise",
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
async def test_a_gateway_name_without_an_address_is_refused() -> None:
    manager = CommunityManager(gateways=["tcp://no-such-host.invalid:7000"])
    with pytest.raises(GatewayError, match="no address for 'no-such-host"):
        await manager.start()


# -- resources ---------------------------------------------------------------------------------


def test_close_leaves_no_task_thread_or_descriptor_behind() -> None:
    @live
    async def use() -> None:
        async with managers(4) as four:
            communities = await join_all(".a", four)
            inbox = Inbox()
            communities[0].subscribe(inbox)
            await communities[1].publish(b"x")
            await eventually(lambda: inbox.payloads == [b"x"])

    use()  # whatever is loaded once is loaded now
    threads, descriptors = threading.enumerate(), len(os.listdir("/proc/self/fd"))
    use()
    assert threading.enumerate() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


@live
async def test_ipv6_loopback_works_like_ipv4() -> None:
    try:
        probe = socket.socket(socket.AF_INET6)
        probe.bind(("::1", 0))
        probe.close()
    except OSError:
        pytest.skip("no IPv6 here")
    async with managers(2, bind="tcp://[::1]:0") as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        publisher: Community = await second.join(".a")
        await publisher.ready()
        assert first.address.startswith("tcp://[::1]:")
        published: Awaitable[Any] = publisher.publish(b"six")
        await published
        await eventually(lambda: inbox.payloads == [b"six"])
