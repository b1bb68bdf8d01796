"""Measures ingest and measures over run folders: seconds, CPU, and the most memory at any time.

Example: python benchmarks/pipeline_at_scale.py traces/*
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from camcast.research.pipeline.ingest.runs import read_runs
from camcast.research.pipeline.measures.run_measures import measures
from camcast.research.pipeline.spark.session import open_spark

SAMPLE_SECONDS = 0.5  # chosen: a peak of memory lasts longer


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process and of all that it started."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident_bytes, map(int, children)))


class Peak:
    """The most resident memory of this process and its children while it is watched."""

    def __init__(self) -> None:
        self.bytes = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            with suppress(OSError):  # a child has ended meanwhile
                self.bytes = max(self.bytes, resident_bytes(os.getpid()))
            time.sleep(SAMPLE_SECONDS)


def main() -> None:
    folders = [Path(name) for name in sys.argv[1:]]
    peak, begin = Peak(), time.perf_counter()
    laps: dict[str, float] = {}

    def lap(name: str) -> None:
        laps[name] = round(time.perf_counter() - begin - sum(laps.values()), 1)

    with open_spark("pipeline at scale") as spark:
        lap("start")
        runs = read_runs(spark, folders)
        records = sum(run.records for run in runs.runs)
        lap("read_runs")
        rows = measures(runs)
        lap("measures")
    times = os.times()  # the JVM is over
    figures = {row.metric: row.value for row in rows if not row.community}
    result = {
        "records": records,
        "seconds": laps,
        "cpu_seconds": round(sum(times[:4]), 1),
        "peak_gb": round(peak.bytes / 1e9, 2),
    }
    print(json.dumps(result | {"problems": runs.problems, "last_run": figures}, indent=2))


if __name__ == "__main__":
    main()
