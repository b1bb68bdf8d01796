"""Calls in the midst of a step: of a `__del__`, a signal handler, a handler of the log, a sink."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from camcast import Community, CommunityError, CommunityManager, Received, Subscription
from camcast.inbox.deliveries import Inbox
from camcast.vocabulary.outbox import Deliver
from tests.library.live.communities import managers, state_of
from tests.patience import eventually, live

REFUSED: dict[str, Callable[[CommunityManager, Community], object]] = {
    "subscribe": lambda _, community: community.subscribe(),
    "changes": lambda _, community: community.changes(),
    "tune": lambda _, community: community.tune(g=9),
    "link": lambda _, community: community.link(".c"),
}


@pytest.mark.parametrize("by_another", [False, True], ids=["its own events", "another's"])
@live
async def test_what_ends_a_subscription_there_waits_and_nothing_is_delivered_twice(
    by_another: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last subscription ends in the midst of a delivery, as the collector would end it."""
    async with managers(2) as (manager, other):
        me = manager._lifetime.running().node.me.peer
        community = manager.community(".a", super_topics=())
        events = community.subscribe()
        read, published = manager.community(".b"), manager.community(".c")
        await read.join()
        await published.publish(b"")
        victim: Subscription = read.subscribe()
        deliver, errors = Inbox.deliver, dict[str, str]()

        def interrupted(inbox: Inbox, delivered: Deliver) -> None:
            if inbox.me != me:
                return
            victim.close()
            published.stop_publishing()
            assert manager.stats().communities
            for name, call in REFUSED.items():
                with pytest.raises(CommunityError) as raised:
                    call(manager, community)
                errors[name] = str(raised.value)
            deliver(inbox, delivered)

        await community.join()
        publisher = community
        if by_another:
            publisher = await other.join(".a", super_topics=())
            await publisher.ready()
            await eventually(lambda: len(publisher.peers) == 1)
        monkeypatch.setattr(Inbox, "deliver", interrupted)
        for number in range(3):
            await publisher.publish(b"%d" % number)
        items = [await anext(events) for _ in range(3)]
        assert [one.payload for one in items if isinstance(one, Received)] == [b"0", b"1", b"2"]
        await eventually(lambda: victim.closed and state_of(read) == "left")
        assert state_of(published) == "left"
        assert set(errors) == set(REFUSED)
        assert all("in the midst of a step" in error for error in errors.values())
        assert manager.counters.failures == 0
        events.close()
        assert [event async for event in events] == []
