"""What is published, over real sockets: who gets it, how far it climbs, what its receipt says."""

import asyncio
import threading

import pytest

from camcast import (
    Community,
    CommunityManager,
    PayloadTooLargeError,
    Received,
    ReceivedBatch,
    Topic,
    open_pipes,
)
from camcast.live.wire.pipes import QueuedPipes
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX
from tests.library.live.communities import Inbox, join_all, managers, state_of
from tests.patience import eventually, live


@live
async def test_an_event_reaches_a_subscriber_in_another_process() -> None:
    async with managers(2) as (first, second):
        subscription = (await first.join(".soccer")).subscribe()
        publisher = await second.join(".soccer")
        await publisher.ready()
        receipt = await publisher.publish(b"goal")
        event = await anext(subscription)
        assert isinstance(event, Received)
        assert (event.id, event.topic) == (receipt.id, Topic.parse(".soccer"))
        assert (event.payload, event.value, event.hops) == (b"goal", b"goal", 1)
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
async def test_events_of_single_turns_share_a_batch_only_while_frames_come_in() -> None:
    pipes = open_pipes()
    assert isinstance(pipes, QueuedPipes)
    async with CommunityManager(pipes=pipes) as manager:
        (input_pipe,) = pipes.inputs.values()
        community = await manager.join(".a")
        subscription = community.subscribe()
        batches = subscription.batches()

        async def publish_in_turns(frames_a_turn: int) -> list[int]:
            for number in range(20):
                await community.publish(b"%d" % number)
                input_pipe.counters.frames_received += frames_a_turn
                await asyncio.sleep(0)
            counts: list[int] = []
            while sum(counts) < 20:
                batch = await anext(batches)
                assert isinstance(batch, ReceivedBatch)
                counts.append(len(batch.payloads))
            return counts

        assert await publish_in_turns(frames_a_turn=0) == [1] * 20
        assert await publish_in_turns(frames_a_turn=1) == [8, 8, 4]
        subscription.close()
    pipes.close()


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
