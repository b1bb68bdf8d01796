"""`python -m tests.library.chaos.memory_picture build/chaos soak.svg`: the memory of a soak.

Draws the mean resident memory of the processes that ran all the time, minute by minute, a line for
each membership whose soak the folder has.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean

import typer
import vl_convert as vlc

from tests.library.chaos.records import Sample, read

WHOLE: float = 0.98  # chosen: of the longest process's samples; visitors of the soak have few


def curve(soak: Path) -> list[float]:
    """Return the mean memory of each minute, in MB, of the processes that ran all the time."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for record in read(soak.glob("*.jsonl")):
        if isinstance(record, Sample):
            samples[record.process].append(record)
    longest = max(map(len, samples.values()))
    whole = [one for one in samples.values() if len(one) >= WHOLE * longest]
    began = min(one.when for each in whole for one in each)
    minutes: dict[int, list[int]] = defaultdict(list)
    for each in whole:
        for one in each:
            minutes[int((one.when - began) / 60)].append(one.resident)
    return [mean(minutes[minute]) / 1e6 for minute in sorted(minutes)]


def main(folder: Path, picture: Path) -> None:
    """Draw the memory of the soaks in a folder of the chaos suite.

    Example: python -m tests.library.chaos.memory_picture build/chaos soak.svg
    """
    rows = [
        {"membership": soak.parent.name, "minute": minute, "MB a process": memory}
        for soak in sorted(folder.glob("*/soak"))
        for minute, memory in enumerate(curve(soak))
    ]
    if not rows:
        raise typer.BadParameter(f"{folder} has no soak: run one first")
    chart = {
        "data": {"values": rows},
        "width": 560,
        "height": 240,
        "mark": "line",
        "encoding": {
            "x": {"field": "minute", "type": "quantitative"},
            "y": {"field": "MB a process", "type": "quantitative", "scale": {"zero": False}},
            "color": {"field": "membership", "type": "nominal"},
        },
    }
    picture.write_text(vlc.vegalite_to_svg(chart))


if __name__ == "__main__":
    typer.run(main)
