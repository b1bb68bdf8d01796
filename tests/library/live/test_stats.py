"""A snapshot of a running process, against what its parts say one by one."""

import json
import os
import time

import msgspec
import pytest

from camcast import CommunityError, CommunityManager
from tests.library.live.communities import Inbox, free_address, join_all, managers
from tests.patience import eventually, live


@live
async def test_one_snapshot_has_what_the_parts_have() -> None:
    async with managers(3) as (first, second, third):
        near, far, _ = await join_all(".a.b", [first, second, third])
        above = await third.join(".a")
        await near.ready(2, min_links=1)
        quick, slow = Inbox(), far.subscribe(queue_length=4, where="number >= 3")
        far.subscribe(quick)
        payloads = [b'{"number": %d}' % number for number in range(10)]
        for payload in payloads:
            await near.publish(payload)
        await eventually(lambda: quick.payloads == payloads)
        stats, publisher = second.stats(), first.stats()
        assert (stats.peer, stats.address) == (second.contact.peer.hex(), second.address)
        assert stats.process == os.getpid()
        assert 0 <= time.time() - stats.taken < time.time() - stats.up_seconds < time.time()
        (community,) = stats.communities
        assert (community.topic, community.state) == (".a.b", far.state)
        assert community.peers == len(far.peers) == 2
        assert community.holders == 2
        assert (community.published, community.delivered, community.missed) == (0, 10, 3)
        queue, empty = community.subscriptions
        assert (queue.queued_events, queue.queued_events_max, queue.missed) == (4, 4, 3)
        assert queue.queued_bytes == sum(map(len, payloads[-4:]))
        assert queue.where is not None
        assert (empty.queued_events, empty.where) == (0, None)
        assert publisher.communities[0].published == publisher.counters.published == 10
        (link,) = publisher.communities[0].links
        assert (link.super_topic, link.nearest) == (".a", ".a")
        assert link.contacts == 1
        assert above.peers == ()
        assert stats.pipes.open == len(second.pipes)
        assert stats.liveness.watched == 2
        assert not stats.liveness.isolated
        assert stats.store is not None
        assert stats.store.bytes >= sum(map(len, payloads))
        gateway = stats.discovery.first_contacts[0]
        assert (gateway.address, gateway.answers) == (first.address, True)
        slow.close()


@live
async def test_a_snapshot_is_plain_values() -> None:
    """What `as_dict` gives is what JSON can hold, and what msgspec makes of the snapshot itself."""
    async with managers(2) as (first, second):
        await join_all(".a", [first, second])
        stats = first.stats()
        assert json.loads(json.dumps(stats.as_dict())) == stats.as_dict()
        assert json.loads(msgspec.json.encode(stats)) == stats.as_dict()


@live
async def test_a_community_that_was_left_is_in_no_snapshot() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        before = manager.stats()
        await community.leave()
        assert [one.topic for one in before.communities] == [".a"]
        assert manager.stats().communities == ()
    with pytest.raises(CommunityError, match="not running"):
        manager.stats()


@live
async def test_without_repair_there_is_nothing_to_tell_of_it() -> None:
    async with managers(1, repair=False) as (manager,):
        await manager.join(".a")
        stats = manager.stats()
        assert stats.store is None
        assert stats.communities[0].repair is None


@live
async def test_a_gateway_that_does_not_answer_shows() -> None:
    silent = free_address()
    async with CommunityManager(gateways=[silent]) as manager:
        subscription = manager.community(".a").subscribe()
        await eventually(
            lambda: [one.answers for one in manager.stats().discovery.first_contacts] == [False]
        )
        assert manager.stats().discovery.first_contacts[0].address == silent
        assert manager.stats().communities[0].state == "joining"
        subscription.close()
