"""`python benchmarks/archive_file.py`: what an archive costs by itself, in time, room and memory.

Events come alone, each a batch, which is the dearest. A question for the last hundred stands beside
a bare SELECT of the same rows, by turns in the same minute.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from camcast.live.archive.archive import FileArchive
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

TOPIC = Topic.parse(".a")
STREAMS = [stream_id(PeerId(bytes([number]) * 16), 1) for number in range(50)]
LAST = 100
TURNS = 200  # chosen: of each question, of which the median counts
WAITING_BYTES_MAX = 1 << 20  # chosen: the writer keeps up, as at 1,000 events/s
MEGABYTE = 1e6


def batch(number: int, began: int) -> Batch:
    """Return the event of this number: one a millisecond, from 50 publishers in turn."""
    stream, first = STREAMS[number % 50], number // 50 + 1
    return make_batch(stream, first, [os.urandom(256)], TOPIC, published=began + number)


def resident() -> float:
    """Return the resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MEGABYTE


def fill(archive: FileArchive, count: int, began: int) -> tuple[float, float]:
    """Write events; return the microseconds of CPU of each, and the MB that memory has grown by."""
    cpu, before, peak, put = 0.0, resident(), 0.0, 0
    while put < count:
        made = [batch(number, began) for number in range(put, min(count, put + 1000))]
        start = time.process_time()
        for one in made:
            archive.keep(TOPIC, one, ())
        put += len(made)
        while archive.stats().waiting_bytes > (WAITING_BYTES_MAX if put < count else 0):
            time.sleep(0.005)
        cpu += time.process_time() - start
        peak = max(peak, resident())
    assert archive.stats().lost == 0
    return 1e6 * cpu / count, peak - before


def last_hundred(archive: FileArchive, path: Path, since: int) -> tuple[float, float]:
    """Return the median milliseconds of a question for them, and of a bare SELECT."""
    bare = sqlite3.connect(path)

    def select() -> list[bytes]:
        rows = bare.execute(
            "SELECT body FROM batch WHERE published >= ?1 AND community = 1", [since]
        )
        return [body for (body,) in rows]

    times: dict[str, list[float]] = {"asked": [], "selected": []}
    ways: dict[str, Callable[[], list[bytes]]] = {
        "asked": lambda: list(archive.history(TOPIC, since)),
        "selected": select,
    }
    for _ in range(TURNS):
        for name, ask in ways.items():
            start = time.perf_counter()
            found = ask()
            times[name].append(1e3 * (time.perf_counter() - start))
            assert len(found) == LAST
    bare.close()
    return statistics.median(times["asked"]), statistics.median(times["selected"])


def main(
    events: Annotated[int, typer.Option(min=1000, help="Of 256 bytes each.")] = 1_000_000,
) -> None:
    """Fill an archive, and print what that has cost."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events"
        archive = FileArchive(path, 10**12, 7 * 86_400.0)
        began = int(1000 * time.time()) - events
        cpu, grown = fill(archive, events, began)
        asked, selected = last_hundred(archive, path, began + events - LAST)
        archive.close()
        size = path.stat().st_size / MEGABYTE
    print(f"{events:,} events of 256 B, each alone; load {os.getloadavg()[0]:.1f}")
    print(f"  {cpu:.1f} us of CPU an event, the writer's thread included")
    print(f"  {size:.0f} MB on disk; memory grew by {grown:.1f} MB at most")
    print(f"  the last {LAST}: {asked:.2f} ms, a bare SELECT {selected:.2f} ms")


if __name__ == "__main__":
    typer.run(main)
