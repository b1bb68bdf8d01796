"""Calls in the midst of a step: of a `__del__`, a signal handler, a handler of the log, a sink."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from camcast import Community, CommunityError, CommunityManager, Subscription
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


@live
async def test_what_ends_a_subscription_there_waits_and_nothing_is_delivered_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last subscription ends in the midst of a delivery, as the collector would end it."""
    async with managers(1) as (manager,):
        community = manager.community(".a", super_topics=())
        events = community.subscribe()
        read, published = manager.community(".b"), manager.community(".c")
        await read.join()
        await published.publish(b"")
        victim: Subscription = read.subscribe()
        deliver, errors = Inbox.deliver, dict[str, str]()

        def interrupted(inbox: Inbox, delivered: Deliver) -> None:
            victim.close()
            published.stop_publishing()
            assert manager.stats().communities
            for name, call in REFUSED.items():
                with pytest.raises(CommunityError) as raised:
                    call(manager, community)
                errors[name] = str(raised.value)
            deliver(inbox, delivered)

        await community.join()
        monkeypatch.setattr(Inbox, "deliver", interrupted)
        for number in range(3):
            await community.publish(b"%d" % number)
        assert [(await anext(events)).payload for _ in range(3)] == [b"0", b"1", b"2"]  # type: ignore[union-attr]
        await eventually(lambda: victim.closed and state_of(read) == "left")
        assert state_of(published) == "left"
        assert set(errors) == set(REFUSED)
        assert all("in the midst of a step" in error for error in errors.values())
        assert manager.counters.failures == 0
        events.close()
        assert [event async for event in events] == []
