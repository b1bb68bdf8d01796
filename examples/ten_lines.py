"""The smallest whole program: a founder, a newcomer below it, and an event that climbs.

Both live in this one process here; give the second one the first one's address, and they may
live on two machines.
"""

import asyncio

from camcast import CommunityManager, Received


async def main() -> None:
    """Publish one event of .soccer.italy and receive it at .soccer."""
    async with (
        CommunityManager() as first,
        CommunityManager(gateways=[first.address]) as second,
    ):
        events = (await first.join(".soccer")).subscribe()
        italy = await second.join(".soccer.italy")
        await italy.ready(min_peers=0, min_links=1)
        receipt = await italy.publish(b"Roma 3, Lazio 2")
        print(f"left for {receipt.peers} peers and {receipt.links} super-process")
        event = await anext(events)
        assert isinstance(event, Received)  # or Lagged, or Missed
        print(f"{event.topic}: {event.payload!r}, after {event.hops} hop")


asyncio.run(main())
