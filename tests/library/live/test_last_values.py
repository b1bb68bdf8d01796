"""Last values of keys, over real sockets: kept, handed out, deleted, and read by whoever asks."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import attrs
import pytest

from camcast import Community, Received
from camcast.app import blocking
from camcast.vocabulary.errors import CommunityError
from tests.library.live.communities import join_all, managers
from tests.patience import eventually, live


@attrs.frozen
class Celsius:
    degrees: float


def payloads(community: Community[Any]) -> dict[bytes, bytes]:
    return {key: event.payload for key, event in community.latest.items()}


def has(community: Community[Any], **values: bytes) -> bool:
    return payloads(community) == {key.encode(): value for key, value in values.items()}


@live
async def test_a_newcomer_has_a_thousand_last_values_of_a_publisher_that_is_gone() -> None:
    async with managers(3) as (keeper, publisher, later):
        kept, community = await join_all(".plant", (keeper, publisher))
        await community.ready()
        for number in range(1000):
            await community.publish(b"old", key=b"%d" % (number % 10))
            await community.publish(b"%d" % number, key=b"%d" % number)
        await eventually(lambda: len(kept.latest) == 1000)
        await publisher.close()
        newcomer = await later.join(".plant")
        await eventually(lambda: newcomer.latest.complete)
        assert payloads(newcomer) == payloads(kept)
        assert payloads(newcomer)[b"999"] == b"999"
        stats = later.stats()
        (repair,) = [one.repair for one in stats.communities]
        assert repair is not None
        assert (repair.keys, repair.keys_let_go) == (1000, 0)


@live
async def test_subscribers_of_last_values_get_them_first_and_then_all_events() -> None:
    async with managers(2) as processes:
        one, other = await join_all(".plant", processes)
        await one.ready()
        await one.publish(b"1", key=b"roof")
        await one.publish(b"2", key=b"roof")
        await one.publish(b"3", key=b"cellar")
        await eventually(partial(has, other, roof=b"2", cellar=b"3"))
        first = other.subscribe(latest=True)
        plain = other.subscribe()
        got = [await anext(first), await anext(first)]
        assert [(event.key, event.payload) for event in got if isinstance(event, Received)] == [
            (b"roof", b"2"),
            (b"cellar", b"3"),
        ]
        await one.publish(b"no key")
        await one.publish(None, key=b"roof")
        for subscription in (first, plain):
            event, deletion = await anext(subscription), await anext(subscription)
            assert isinstance(event, Received)
            assert isinstance(deletion, Received)
            assert (event.payload, event.key, event.deleted) == (b"no key", None, False)
            assert (deletion.payload, deletion.key, deletion.deleted) == (b"", b"roof", True)
        assert has(other, cellar=b"3")
        with pytest.raises(KeyError):
            other.latest[b"roof"]


@live
async def test_a_super_topic_has_the_keys_of_its_subtopics_by_topic() -> None:
    async with managers(3) as (above, roof, cellar):
        (plant,) = await join_all(".plant", [above])
        below = [await roof.join(".plant.roof"), await cellar.join(".plant.cellar")]
        for community in below:
            await community.ready(0, min_links=1)
            await asyncio.sleep(0.005)  # events name whole milliseconds, by the clock of each
            await community.publish(community.topic.name.encode(), key=b"state")
        await eventually(lambda: len(plant.latest.by_topic) == 2)
        of = {
            topic.name: values[b"state"].payload for topic, values in plant.latest.by_topic.items()
        }
        assert of == {".plant.roof": b".plant.roof", ".plant.cellar": b".plant.cellar"}
        assert has(plant, state=b".plant.cellar")  # the later one
        assert has(below[0], state=b".plant.roof")


@live
async def test_a_class_has_last_values_and_a_deletion_has_no_value() -> None:
    async with managers(2) as processes:
        one, other = [await process.join(Celsius) for process in processes]
        await one.ready()
        await one.publish(Celsius(21.5), key=b"roof")
        await eventually(lambda: b"roof" in other.latest)
        assert other.latest[b"roof"].value == Celsius(21.5)
        subscription = other.subscribe(latest=True, where="degrees > 20")
        event = await anext(subscription)
        assert isinstance(event, Received)
        assert (event.value, event.key) == (Celsius(21.5), b"roof")
        await one.publish(None, key=b"roof")
        await eventually(lambda: not other.latest)


@live
async def test_wrong_keys_are_refused_and_nobody_keeps_any_without_repair() -> None:
    async with managers(1) as (only,):
        community = await only.join(".a")
        assert dict(community.latest) == {}
        for key, error in ((b"", ValueError), (bytes(256), ValueError), ("roof", TypeError)):
            with pytest.raises(error, match="key"):
                await community.publish(b"x", key=key)  # type: ignore[arg-type] # which is the test
        with pytest.raises(TypeError, match="give the key"):
            await community.publish(None)
        with pytest.raises(ValueError, match="not both"):
            community.subscribe(latest=True, since=5)
        await community.publish(b"x", key=bytes(255))
        assert list(community.latest) == [bytes(255)]
        await community.leave()
        assert dict(community.latest) == {}
    async with managers(1, repair=False) as (only,):
        community = await only.join(".a")
        with pytest.raises(CommunityError, match="no repair"):
            await community.publish(b"x", key=b"roof")
        assert dict(community.latest) == {}


def test_threads_read_a_snapshot() -> None:
    with blocking.CommunityManager() as manager:
        community = manager.join(".a")
        community.publish(b"1", key=b"roof")
        before = community.latest
        community.publish(b"2", key=b"roof")
        assert (before[b"roof"].payload, community.latest[b"roof"].payload) == (b"1", b"2")
        subscription = community.subscribe(latest=True)
        event = subscription.next(timeout=60.0)
        assert isinstance(event, Received)
        assert event.payload == b"2"
