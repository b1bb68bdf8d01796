"""A process with an archive, for tests that kill it: it publishes, and reads durably if asked to.

`python -m tests.library.live.archived_member ARCHIVE GATEWAY NAME RATE [durable]` publishes
NAME-1, NAME-2 ... in `.a` until a file STOP lies beside the archive. It writes a line to a file
beside the archive for each event that `publish` has accepted, with the time of the machine's
monotonic clock, and for each event that its durable subscription has had. No line waits in a
buffer of the process.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

from camcast import Community, CommunityManager, Received

STOP = "STOP"


async def main(archive: Path, gateway: str, name: str, rate: float, *, durable: bool) -> None:
    with archive.with_suffix(".log").open("ab", buffering=0) as log:
        log.write(b"began %s\n" % name.encode())
        async with CommunityManager(archive=archive, gateways=[gateway]) as manager:
            community = await manager.join(".a", timeout=None, retry=True)
            reading = asyncio.create_task(read(community, log.write)) if durable else None
            due = time.monotonic()
            for number in itertools.count(1):
                if not rate or archive.with_name(STOP).exists():
                    break
                receipt = await community.publish(f"{name}-{number}".encode())
                if receipt.accepted:
                    log.write(b"published %s-%d %f\n" % (name.encode(), number, time.monotonic()))
                due += 1 / rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            await (reading or asyncio.Event().wait())


async def read(community: Community, write: Callable[[bytes], object]) -> None:
    async for event in community.subscribe(durable="billing", since=3600.0):
        if isinstance(event, Received):
            write(b"took %s\n" % event.payload)


if __name__ == "__main__":
    _archive, _gateway, _name, _rate, *_more = sys.argv[1:]
    asyncio.run(main(Path(_archive), _gateway, _name, float(_rate), durable=bool(_more)))
