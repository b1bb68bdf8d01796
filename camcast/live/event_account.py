"""The account that a running process gives of one event, for `camcast trace`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from camcast.engine.local_group import LocalGroup
from camcast.inbox.deliveries import Deliveries
from camcast.live.runner import Runner
from camcast.live.snapshot import take_peer_stats
from camcast.observe.event_trace import Account, CommunityAccount, Moment
from camcast.observe.recent import Recent
from camcast.vocabulary.events import EventId


def account_of_event(
    event: EventId,
    runner: Runner,
    recent: Recent,
    communities: Iterable[Deliveries[Any]],
) -> Account:
    """Give an account of an event; `communities` are those of the application."""
    wall = runner.clock.wall

    def by_wall_clock(moments: Iterable[Moment]) -> tuple[Moment, ...]:
        return tuple(msgspec.structs.replace(one, when=wall(one.when)) for one in moments)

    me = runner.node.me
    return Account(
        name=me.address,
        peer=me.peer.hex(),
        address=me.address,
        communities=tuple(
            _community(event, deliveries, local_group)
            for deliveries in communities
            if (local_group := runner.node.local_group(deliveries.topic)) is not None
        ),
        known=tuple(one.peer for one in take_peer_stats(runner)),
        moments=by_wall_clock(recent.of_event(event)),
        life=by_wall_clock(recent.life),
    )


def _community(
    event: EventId, deliveries: Deliveries[Any], local_group: LocalGroup
) -> CommunityAccount:
    known = local_group.streams.known.get(event.stream)
    return CommunityAccount(
        topic=deliveries.topic.name,
        joined=local_group.joined,
        knows=known is not None and known.knows(event.sequence, 1),
        subscriptions=len(deliveries.subscriptions),
        links={link.super_topic.name: len(link.nearest()[1]) for link in local_group.links},
    )
