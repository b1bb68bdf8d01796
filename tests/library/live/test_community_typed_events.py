"""Events that are instances of classes, over real sockets."""

import threading
from typing import Any

import attrs
import pytest

from camcast import Community, Received, Sent, TypedEventError
from tests.library.live.communities import connected, managers
from tests.patience import eventually, live


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
        sent = Sent((".Sport.Soccer", ".Sport"), {"place": "Rome", "goals": 3})
        assert event.value == sent  # who named no class gets what was sent
        known.stop_publishing()

        # A class that only its publisher knows, as if it were defined in another program.
        unknown = attrs.make_class("Chess", {"moves": attrs.field(type=int)}, bases=(Sport,))
        chess = await fourth.join(unknown)
        await chess.ready(0, min_links=1)
        event_object = unknown("Paris", 40)
        decoder: Any = sport._deliveries._decoder
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
        named: Community = community  # which a type checker lets publish anything
        with pytest.raises(TypedEventError, match=r"of a text: encode it\) or an instance"):
            await named.publish("text")
        with pytest.raises(TypedEventError, match=r"a Soccer belongs to .* \.Sport\.Soccer"):
            await community.publish(Soccer("Rome", 1))
        with pytest.raises(TypedEventError, match=r"a \.Chess belongs to .* \.Chess, not \.Sport"):
            await community.publish(Sent((".Chess",), {}))
        with pytest.raises(TypedEventError, match="make it an attrs class"):
            await named.publish(7)
        unsendable: Any = threading.Lock()
        with pytest.raises(TypedEventError, match="a Sport cannot be sent"):
            await community.publish(Sport(unsendable))
        with pytest.raises(TypedEventError, match="is no topic"):
            await manager.join(int)


@live
async def test_where_sees_the_sent_fields_and_own_events_can_be_left_out() -> None:
    """`where` does so however the community was joined: by its class or by its name (H2)."""
    async with managers(2) as (first, second):
        by_class, by_name = await first.join(Soccer), await second.join(".Sport.Soccer")
        many, others = by_class.subscribe(where="goals > 2"), by_class.subscribe(own=False)
        many_by_name = by_name.subscribe(where="goals > 2")
        await eventually(lambda: connected([by_class, by_name]))
        for goals in (1, 3):
            await by_class.publish(Soccer("Rome", goals))
        got = [await anext(many), await anext(many_by_name)]
        await by_name.publish(Sent((".Sport.Soccer", ".Sport"), {"place": "Bari", "goals": 7}))
        got += [await anext(many), await anext(others)]
        assert all(isinstance(event, Received) for event in got)
        values = [event.value for event in got if isinstance(event, Received)]
        assert values == [
            Soccer("Rome", 3),
            Sent((".Sport.Soccer", ".Sport"), {"place": "Rome", "goals": 3}),
            Soccer("Bari", 7),
            Soccer("Bari", 7),
        ]
