"""Classes as topics (paper 000, 5.1): a subscriber of a class gets its subclasses, too.

The hierarchy of classes is the hierarchy of topics: a Goal travels in the community
.MatchEvent.Goal, and climbs to .MatchEvent. A subscriber gets instances back.
"""

import asyncio

import attrs

from camcast import CommunityManager, Received, topic_of


@attrs.frozen
class MatchEvent:
    """Anything that happens in a match."""

    match: str
    minute: int


@attrs.frozen
class Goal(MatchEvent):
    """A goal, which is more than just anything."""

    scorer: str


@attrs.frozen
class Card(MatchEvent):
    """A card, of which those who follow goals hear nothing."""

    player: str
    red: bool = False


async def main() -> None:
    """Follow everything in one process, goals only in another, and report from a third."""
    async with (
        CommunityManager() as newspaper,
        CommunityManager(gateways=[newspaper.address]) as fan,
        CommunityManager(gateways=[newspaper.address]) as stadium,
    ):
        everything = (await newspaper.join(MatchEvent)).subscribe()
        goals_only = (await fan.join(Goal)).subscribe()
        goals, cards = await stadium.join(Goal), await stadium.join(Card)
        await goals.ready(min_peers=1, min_links=1)
        await cards.ready(min_peers=0, min_links=1)
        print(f"{Goal.__name__} is {topic_of(Goal)}, {Card.__name__} is {topic_of(Card)}")

        await goals.publish(Goal("Roma-Lazio", 12, scorer="Totti"))
        await cards.publish(Card("Roma-Lazio", 30, player="Nesta", red=True))

        for name, events, count in (("newspaper", everything, 2), ("fan", goals_only, 1)):
            for _ in range(count):
                event = await anext(events)
                assert isinstance(event, Received)
                print(f"{name}: {event.value!r}")


asyncio.run(main())
