"""An event-sourced service: it goes on where it was, and each event has its effect once.

A shop publishes orders. A service books them in a database of its own: the sum and the event's id
in one transaction. It acknowledges an order once that is done. It dies between the two steps, and
is away for a night: the order comes again, its id is booked already, and the others follow.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from camcast import CommunityManager, Received
from camcast.app.durable import DurableSubscription

TOPIC = ".shop.order"


class Ledger:
    """The service's own database."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        self._database.executescript(
            "CREATE TABLE IF NOT EXISTS booked (event TEXT PRIMARY KEY, amount INTEGER)"
        )

    def book(self, order: Received[bytes]) -> bool:
        """Book an order in one transaction; False if it was booked before."""
        with self._database:
            row = (str(order.id), int(order.payload))
            done = self._database.execute("INSERT OR IGNORE INTO booked VALUES (?, ?)", row)
        return done.rowcount == 1

    def total(self) -> int:
        """Return the sum of all orders."""
        (total,) = self._database.execute("SELECT sum(amount) FROM booked").fetchone()
        return int(total)

    def close(self) -> None:
        """Close the database."""
        self._database.close()


async def serve(folder: Path, subscription: DurableSubscription[bytes], *, dies_at: int) -> None:
    """Book orders until one of so much is booked, and do not acknowledge that one."""
    with closing(Ledger(folder / "ledger")) as ledger:
        async for order in subscription:
            if not isinstance(order, Received):
                print("not whole:", order)  # a Reach or a Missed: some orders can no longer be had
                continue
            said = "booked" if ledger.book(order) else "was booked already:"
            print(said, int(order.payload))
            if int(order.payload) == dies_at:
                break
            subscription.ack()
        print("total", ledger.total())
    subscription.close()


async def main(folder: Path) -> None:
    """Sell with the service there, which dies, and while it is away; then let it go on."""
    async with CommunityManager(archive=folder / "shop.archive") as shop:
        orders = await shop.join(TOPIC)

        async def sell(*amounts: int) -> None:
            for amount in amounts:
                await orders.publish(b"%d" % amount)

        async def run(dies_at: int, *sold_meanwhile: int) -> None:
            archive = folder / "service.archive"
            async with CommunityManager(gateways=[shop.address], archive=archive) as service:
                community = await service.join(TOPIC)
                subscription = community.subscribe(durable="billing", ack=True)
                assert isinstance(subscription, DurableSubscription)
                await sell(*sold_meanwhile)
                await serve(folder, subscription, dies_at=dies_at)

        await run(30, 10, 20, 30)
        await sell(40, 50)
        await run(50)


with TemporaryDirectory() as name:
    asyncio.run(main(Path(name)))
