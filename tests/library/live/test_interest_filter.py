"""A subscriber's local filter, over real sockets: typed events, JSON payloads, and bad texts."""

import json
from typing import Any

import attrs
import msgspec
import pytest

from camcast import CommunityManager, Received, Subscription
from camcast.app import blocking
from camcast.interests.interest import Interest, InterestError
from camcast.research.experiment.node import manager_of
from camcast.vocabulary.typed import Sent
from tests.camcast_command import Capture, refusal
from tests.patience import live


@attrs.frozen(slots=False)
class Quake:
    mag: float
    place: str


async def rest(subscription: Subscription) -> list[Any]:
    """Close a subscription, and return the values that it still has."""
    subscription.close()
    return [item.value async for item in subscription if isinstance(item, Received)]


@live
async def test_a_process_wants_what_its_subscriptions_want_together() -> None:
    """What pmcast tells others; after the last one a publisher wants all, as any member."""
    async with manager_of("pmcast") as manager:
        quakes = manager.community(".quakes")

        def wanted() -> str:
            assert quakes._local_group is not None
            return str(quakes._local_group.context.interest.whole)

        strong = quakes.subscribe(where="mag >= 5")
        assert wanted() == ".quakes and mag >= 5"
        weak = quakes.subscribe(where="mag >= 2")
        assert wanted() == ".quakes and mag >= 2"
        everything = quakes.subscribe()
        assert wanted() == ".quakes"
        everything.close()
        assert wanted() == ".quakes and mag >= 2"
        quakes.unsubscribe(weak)
        assert wanted() == ".quakes and mag >= 5"
        await quakes.publish(b"{}")
        strong.close()
        assert wanted() == ".quakes"


@live
async def test_each_subscription_has_a_filter_of_its_own() -> None:
    async with CommunityManager() as manager:
        quakes = await manager.join(Quake)
        everything = quakes.subscribe()
        strong = quakes.subscribe(where="mag >= 5")
        there = quakes.subscribe(where=Interest.parse('place == "Gorkha" and mag < 5'))
        events = [Quake(7.8, "Gorkha"), Quake(4.0, "Gorkha"), Quake(5.0, "Lamjung")]
        for event in events:
            await quakes.publish(event)
        await quakes.publish(b"no attributes")
        assert await rest(everything) == [*events, b"no attributes"]
        assert await rest(strong) == [events[0], events[2]]
        assert await rest(there) == [events[1]]


@live
async def test_an_event_that_does_not_match_takes_no_room_in_the_queue() -> None:
    """Of six events, three match: they fill a queue of three, and nothing was missed."""
    async with CommunityManager() as manager:
        quakes = await manager.join(".quakes")
        strong = quakes.subscribe(where="mag >= 5", queue_length=3)
        payloads = [b'{"mag": 5}', b'{"mag": 4.9}', b"mag", b'{"mag": 9}', b"{}", b'{"mag": 5.0}']
        for payload in payloads:
            await quakes.publish(payload)
        assert await rest(strong) == [payloads[0], payloads[3], payloads[5]]
        assert strong.missed == 0


@live
async def test_a_payload_is_decoded_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many subscriptions look into it, in however many of the process's communities."""
    decoded = []

    def decode(payload: bytes) -> object:
        decoded.append(payload)
        return json.loads(payload)

    monkeypatch.setattr(msgspec.json, "decode", decode)
    async with CommunityManager() as manager:
        nepal, quakes = await manager.join(".quakes.nepal"), await manager.join(".quakes")
        strong = [nepal.subscribe(where="mag >= 5"), quakes.subscribe(where="mag >= 6")]
        small = nepal.subscribe(where="mag < 5")
        await nepal.publish(b'{"mag": 7.8}')
        assert [await rest(subscription) for subscription in strong] == [[b'{"mag": 7.8}']] * 2
        assert await rest(small) == []
    assert decoded == [b'{"mag": 7.8}']


@live
async def test_a_filter_by_topic_decodes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where all events of a topic match, nor where none does."""

    def decode(payload: bytes) -> object:
        raise AssertionError(f"{payload!r} was decoded")

    monkeypatch.setattr(msgspec.json, "decode", decode)
    async with CommunityManager() as manager:
        quakes = await manager.join(".quakes")
        matching = quakes.subscribe(where=".quakes or .floods and mag > 5")
        others = quakes.subscribe(where=".floods and mag > 5")
        await quakes.publish(b'{"mag": 7.8}')
        assert isinstance(await anext(matching), Received)
        assert await rest(others) == []


@live
async def test_a_filter_may_name_a_subtopic_and_works_at_the_other_end() -> None:
    async with CommunityManager() as near, CommunityManager(gateways=[near.address]) as far:
        nepal = await near.join(".earthquake.nepal")
        subscription = (await far.join(".earthquake.nepal")).subscribe(
            where=".earthquake.nepal and mag > 5 or .earthquake.chile"
        )
        await nepal.ready()
        for mag in (5.0, 5.1, None, 7.8):
            await nepal.publish(json.dumps({"mag": mag}).encode())
        values = []
        async for item in subscription:
            assert isinstance(item, Received)
            values.append(json.loads(item.payload)["mag"])
            if len(values) == 2:
                break
        assert values == [5.1, 7.8]


@live
async def test_a_filter_knows_declared_subtopics_and_the_classes_of_events() -> None:
    async with CommunityManager() as above, CommunityManager(gateways=[above.address]) as below:
        community = await above.join(".r")
        every = community.subscribe()
        filters = (".r", ".l and .r", ".l", ".other", ".r and mag > 1", ".thing")
        subscriptions = [community.subscribe(where=where) for where in filters]
        subtopic = await below.join(".l.x", super_topics=[".l", ".r"])
        await subtopic.ready(0, min_links=1)
        await subtopic.publish(b'{"mag": 2}')
        await subtopic.publish(Sent((".l.x", ".thing"), {"mag": 0}))
        assert [await anext(every), await anext(every)]
        assert [len(await rest(one)) for one in subscriptions] == [2, 2, 2, 0, 1, 1]


@live
async def test_a_text_that_is_no_interest_joins_nothing() -> None:
    async with CommunityManager() as manager:
        community = manager.community(".earthquake")
        with pytest.raises(InterestError, match="column 5: ") as caught:
            community.subscribe(where="mag = 5")
        assert caught.value.column == 5
        assert community.state == "new"


def test_the_blocking_face_filters_too() -> None:
    with blocking.CommunityManager() as manager:
        community = manager.join(".earthquake")
        with pytest.raises(InterestError, match="column 1: "):
            community.subscribe(where="not mag")
        subscription = community.subscribe(where="mag >= 5")
        community.publish(b'{"mag": 4}')
        community.publish(b'{"mag": 6}')
        item = next(subscription)
        assert isinstance(item, Received)
        assert item.payload == b'{"mag": 6}'


def test_the_command_points_at_the_column(capfd: Capture) -> None:
    code, told = refusal(capfd, "subscribe", ".earthquake", "--where", "mag => 5")
    assert code == 2
    said, line, caret = told.splitlines()
    assert said.startswith("camcast: column 5: expected a comparison")
    assert line[caret.index("^") :] == "=> 5"
