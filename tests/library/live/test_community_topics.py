"""Several topics in a process: super-topics, siblings, communities side by side."""

import pytest

from camcast import CommunityError, NotReady, Parameters, Topic
from tests.library.live.communities import Inbox, managers
from tests.patience import eventually, live


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
        assert root.counters.duplicates <= 20  # at most once each from left and right
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


@live
async def test_a_community_that_was_left_is_forgotten_with_its_settings() -> None:
    own = Parameters(g=7)
    async with managers(1) as (manager,):
        usual = manager.community(".a").parameters.g
        manager.community(".a", parameters=own, super_topics=[".up"])
        joined = await manager.join(".a")  # for which the settings have waited
        assert joined.parameters.g == 7
        await joined.leave()
        assert manager.community(".a") is joined  # as long as somebody holds it
        assert (joined.state, joined.parameters.g) == ("left", 7)
        changes = joined.changes()
        del joined
        assert manager.community(".a").parameters.g == 7  # its changes are read
        changes.close()
        anew = manager.community(".a")
        assert (anew.state, anew.parameters.g) == ("new", usual)
        assert anew.super_topics == (Topic.parse("."),)


@live
async def test_a_failed_join_keeps_settings_that_were_set_apart_from_it() -> None:
    async with managers(1, gateways=["tcp://127.0.0.1:1"]) as (manager,):
        manager.community(".a", parameters=Parameters(g=7))
        for topic, parameters in ((".a", None), (".b", Parameters(g=7))):
            with pytest.raises(NotReady):
                await manager.join(topic, parameters=parameters, timeout=0)
        assert manager.community(".a").parameters.g == 7
        assert manager.community(".b").parameters.g != 7


@live
async def test_what_subscriptions_missed_is_counted_after_they_and_their_topic_are_gone() -> None:
    async with managers(1) as (manager,):
        for number in (1, 2):
            community = await manager.join(".a")
            async with community.subscribe(queue_length=1):
                for _ in range(3):
                    await community.publish(b"x")
            await community.leave()
            del community
            assert manager.counters.missed == 2 * number
