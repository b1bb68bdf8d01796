"""What a DHT of identities costs beside one without: joins, look-ups, upkeep, on virtual time.

``python benchmarks/lookups.py --members 50``. The overlay, keys, records, certificates and boxes
are the real ones, latencies those of PlanetLab; a join takes virtual time, CPU is this process's.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from statistics import median
from time import process_time

from camcast.vocabulary.topics import Topic
from tests.library.unit.overlays.kademlia.kademlia_world import Overlays
from tests.signed_overlay import SignedOverlays

SOCCER = Topic.parse(".soccer")
FINDS = 40  # chosen: some seconds
UPKEEP_SECONDS = 120.0  # chosen: past the quick upkeep after a start


def measure(name: str, world: Overlays, members: int) -> None:
    """Let so many join, one every 20 ms, look up, and rest; print what it took."""
    clock = process_time()
    joins: list[Callable[[], float]] = []
    world.bootstrap()
    for number in range(1, members + 1):
        world.queue.after(0.02 * number, lambda n: joins.append(joined(world, n)), number)
    world.run(60.0)
    seconds = sorted(join() for join in joins)
    print(
        f"{name}: joins {median(seconds):.2f} s, the slowest {seconds[-1]:.2f} s;"
        f" {1000 * (process_time() - clock) / members:.0f} ms of CPU each, with the first minute"
    )
    clock, sent, size = process_time(), world.datagrams.sent, world.datagrams.sent_bytes
    since = world.now
    for number in range(FINDS):
        found = world.find(1 + number % members, SOCCER, 9)
        assert len(found.contacts) == 9, found
    took = process_time() - clock
    print(
        f"{name}: a look-up of 9 members {1000 * took / FINDS:.1f} ms of CPU of all processes,"
        f" {(world.now - since) / FINDS:.2f} s, {(world.datagrams.sent - sent) / FINDS:.0f} sent"
        f" of {(world.datagrams.sent_bytes - size) / (world.datagrams.sent - sent):.0f} bytes"
    )
    clock, sent, size = process_time(), world.datagrams.sent, world.datagrams.sent_bytes
    world.run(UPKEEP_SECONDS)
    share = UPKEEP_SECONDS * (members + 1)
    print(
        f"{name}: upkeep {1000 * (process_time() - clock) / share:.2f} ms of CPU"
        f" and {(world.datagrams.sent_bytes - size) / share:.0f} bytes a second and process"
    )


def joined(world: Overlays, number: int) -> Callable[[], float]:
    """Let a process join, and return what says how long that took."""
    began, over = world.now, world.launch(number, [SOCCER])
    return lambda: over[1] - began


if __name__ == "__main__":
    logging.disable()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=50)
    count = parser.parse_args().members
    measure("open", Overlays(), count)
    measure("signed", SignedOverlays(), count)
