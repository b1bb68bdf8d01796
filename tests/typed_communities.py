"""What a type checker knows of the communities of classes; mypy reads it, and nobody runs it.

A line that mypy has to refuse carries the refusal as an ignored error: strict mypy reports an
ignored error that is none.
"""

from typing import Any, assert_type

import attrs

from camcast import Community, CommunityManager, Lagged, Missed, Reach, Received, Sent
from camcast.app import blocking
from camcast.inbox.received import Gap


@attrs.frozen
class Reading:
    celsius: float


@attrs.frozen
class RoofReading(Reading):
    wind: float


@attrs.frozen
class Alarm:
    text: str


async def by_class(manager: CommunityManager) -> None:
    readings = await manager.join(Reading)
    assert_type(readings, Community[Reading])
    assert_type(manager.community(Reading), Community[Reading])
    await readings.publish(Reading(21.5))
    await readings.publish(b"bytes, as before")
    await readings.publish(None, key=b"roof")
    assert_type(readings.latest[b"roof"], Received[Reading])
    await readings.publish(Alarm("fire"))  # type: ignore[arg-type] # refused
    await readings.publish("text")  # type: ignore[arg-type] # refused
    subscription = readings.subscribe()
    async for event in subscription:
        assert_type(event, Received[Reading] | Lagged | Missed | Reach)
        match event:
            case Received(value=Reading() as reading):
                assert_type(reading, Reading)
            case Received(value=value):
                assert_type(value, Reading | Sent | bytes)
            case Lagged() | Missed() | Reach():
                pass
    async for batch in subscription.batches():
        if not isinstance(batch, Gap):
            assert_type(batch.values, tuple[Reading | Sent | bytes, ...])
    readings.subscribe(take_reading)
    readings.subscribe(take_anything)
    readings.subscribe(take_alarm)  # type: ignore[arg-type] # refused
    takes_any_community(readings)


async def by_name(manager: CommunityManager) -> None:
    soccer = await manager.join(".soccer")
    assert_type(soccer, Community[Any])
    await soccer.publish(Alarm("anything goes"))


def in_a_script(manager: blocking.CommunityManager) -> None:
    readings = manager.join(Reading)
    assert_type(readings, blocking.Community[Reading])
    readings.publish(RoofReading(21.5, wind=3.0))
    readings.publish(Alarm("fire"))  # type: ignore[arg-type] # refused
    for event in readings.subscribe():
        assert_type(event, Received[Reading] | Lagged | Missed | Reach)


def take_reading(event: Received[Reading]) -> None:
    assert_type(event.value, Reading | Sent | bytes)


def take_anything(event: Received) -> None:
    assert_type(event, Received[Any])


def take_alarm(event: Received[Alarm]) -> None: ...


def takes_any_community(community: Community) -> None: ...
