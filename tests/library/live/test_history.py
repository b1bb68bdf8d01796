"""A subscriber that asks for what was just said gets it, once; the others do not."""

import asyncio
import time

from camcast import Reach
from camcast.engine.repair.told import REORDER_SECONDS
from tests.library.live.communities import Inbox, join_all, managers
from tests.patience import eventually, live

OLD = [b"%d" % number for number in range(20)]


@live
async def test_a_newcomer_gets_what_its_neighbours_keep_if_it_asks() -> None:
    began = time.time()
    async with managers(4) as (first, second, asking, other):
        near, far = await join_all(".a", [first, second])
        heard = Inbox()
        far.subscribe(heard)
        for payload in OLD:
            await near.publish(payload)
        await eventually(lambda: heard.payloads == OLD)
        await asyncio.sleep(2 * REORDER_SECONDS)  # what is younger counts as said in their time

        late, plain = asking.community(".a"), other.community(".a")
        history, shorter, news, nothing_old = Inbox(), Inbox(), Inbox(), Inbox()
        reached: list[Reach] = []
        late.subscribe(history, since=60.0, on_reach=reached.append)
        late.subscribe(shorter, since=REORDER_SECONDS)  # which had asked for less
        late.subscribe(news)  # the same process, but this subscription has not asked
        plain.subscribe(nothing_old)
        await late.join()
        await plain.join()
        await eventually(lambda: history.payloads == OLD)
        [reach] = reached
        assert began - 1.0 < reach.since < time.time(), "others keep all since they are members"
        await near.publish(b"new")
        await eventually(
            lambda: all(b"new" in x.payloads for x in (history, shorter, news, nothing_old))
        )
        assert history.payloads == [*OLD, b"new"]
        assert shorter.payloads == news.payloads == nothing_old.payloads == [b"new"]


@live
async def test_a_member_has_its_own_history_at_once() -> None:
    async with managers(2) as (first, second):
        near, far = await join_all(".a", [first, second])
        heard, later, no_history = Inbox(), Inbox(), Inbox()
        far.subscribe(heard)
        for payload in OLD:
            await near.publish(payload)
        await eventually(lambda: heard.payloads == OLD)
        far.subscribe(later, since=60.0)
        far.subscribe(no_history, since=0.0)
        await eventually(lambda: later.payloads == OLD)
        await near.publish(b"new")
        await eventually(lambda: later.payloads == [*OLD, b"new"])
        await eventually(lambda: no_history.payloads == [b"new"])
