"""Sensors whose readings end in a Parquet file: what is sent, filtered, and kept.

Two sensors publish; a collector takes all readings by the batch, as they travelled, and writes a
row each; an alarm receives the hot ones only. Needs pyarrow.
"""

import asyncio
import sys
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

import camcast
from camcast import CommunityManager, Received, ReceivedBatch

READINGS = 20


@camcast.topic(".plant.reading")
@attrs.frozen
class Reading:
    """What a sensor measured."""

    site: str
    celsius: float


async def main(file: Path) -> None:
    """Publish readings in two processes, and collect them in a third."""
    async with (
        CommunityManager() as collector,
        CommunityManager(gateways=[collector.address]) as roof,
        CommunityManager(gateways=[collector.address]) as cellar,
    ):
        plant = await collector.join(Reading)
        hot = plant.subscribe(where="celsius > 30")
        rows: list[dict[str, object]] = []
        subscription = plant.subscribe()
        for manager, site, start in ((roof, "roof", 25.0), (cellar, "cellar", 10.0)):
            sensor = await manager.join(Reading)
            await sensor.ready()
            for number in range(READINGS):
                await sensor.publish(Reading(site, start + number / 2))
        async for batch in subscription.batches():
            if isinstance(batch, ReceivedBatch):
                # What does not fit the class comes as a Sent or as bytes, and is no row.
                readings = [value for value in batch.values if isinstance(value, Reading)]
                rows += [attrs.asdict(reading) | {"at": batch.published} for reading in readings]
            if len(rows) >= 2 * READINGS:
                subscription.close()
        first = await anext(hot)
        if isinstance(first, Received):
            print("an alarm:", first.value)
    pq.write_table(pa.Table.from_pylist(rows), file)
    table = pq.read_table(file).group_by("site").aggregate([("celsius", "mean")])
    for row in sorted(table.to_pylist(), key=lambda row: str(row["site"])):
        print(f"{row['site']}: {row['celsius_mean']:.2f} degrees on average")


asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "readings.parquet")))
