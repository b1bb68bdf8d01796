"""`make flame`: where a fleet's processor time goes, a flame graph for each row of `make bench`.

While a row of `test_live_multicast` does its job, a timer of processor time interrupts each worker
at each tick of the kernel (mostly 4 ms), and the Python functions on its stack are counted. The
picture has a box for each: as wide as its share of all samples, on the function that called it. No
profiler is installed, none slows the calls down, and what C does counts to the function that called
it.

    python benchmarks/flame.py "20nodes-tcp-tree-alone paced" --folder build/flames

Beside each picture stands the folded text that other tools read: a stack a line, and its samples.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated, Final
from xml.sax.saxutils import escape

import typer
from fleet_worker import FLAME_FOLDER
from test_live_multicast import JOBS, Job, Nodes

PACED_SECONDS: Final = 15  # chosen: some 1,500 samples of twenty processes
BURSTS: Final = 3  # chosen: likewise
WIDTH, HEIGHT = 1200, 16  # of a picture and of a box, in pixels
SHARE_MIN: Final = 0.002  # chosen: narrower boxes are two pixels wide, and unreadable
LETTER = 6.5  # the width of a letter, in pixels

Stack = tuple[str, ...]


def folded(folder: Path) -> Counter[Stack]:
    """Return how often each stack was seen in all workers, the outermost function first."""
    stacks = Counter[Stack]()
    for file in sorted(folder.iterdir()):
        for line in file.read_text().splitlines():
            stack, _, count = line.rpartition(" ")
            stacks[tuple(stack.split(";"))] += int(count)
    return stacks


def picture(title: str, stacks: Counter[Stack]) -> str:
    """Return the flame graph of stacks as SVG."""
    total = stacks.total()
    boxes = list[str]()
    depth = _draw(boxes, stacks, 0, 0.0, WIDTH / max(1, total), max(1, total))
    height = HEIGHT * (depth + 2)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="4" y="12">{escape(title)}: {total:,} samples</text>',
        f'<g transform="translate(0 {height})">',
        *boxes,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _draw(
    boxes: list[str], stacks: Counter[Stack], depth: int, left: float, scale: float, total: int
) -> int:
    """Add the boxes of stacks that have `depth` functions in common; return the deepest."""
    callees: dict[str, Counter[Stack]] = {}
    for stack, count in stacks.items():
        if len(stack) > depth:
            callees.setdefault(stack[depth], Counter())[stack] += count
    highest = depth
    for name, of_name in sorted(callees.items()):
        count = of_name.total()
        width = count * scale
        if count >= SHARE_MIN * total:
            boxes.append(_box(name, count / total, left, depth, width))
            highest = max(highest, _draw(boxes, of_name, depth + 1, left, scale, total))
        left += width
    return highest


def _box(name: str, share: float, left: float, depth: int, width: float) -> str:
    """Return one function's box, above the one that called it."""
    hue = 10 + sum(name.encode()) % 50
    top = -HEIGHT * (depth + 1)
    letters = int(width / LETTER)
    shown = name if len(name) <= letters else name[: max(0, letters - 1)] + "…" * (letters > 3)
    text = f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(shown)}</text>' if letters > 3 else ""
    return (
        f'<g><title>{escape(name)}: {share:.1%}</title><rect x="{left:.1f}" y="{top}"'
        f' width="{max(0.5, width - 0.5):.1f}" height="{HEIGHT - 1}" fill="hsl({hue} 80% 65%)"/>'
        f"{text}</g>"
    )


def sampled(nodes: Nodes, job: Job, membership: str) -> Counter[Stack]:
    """Let a row's fleet do its job once, and return the stacks of all its workers."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FLAME_FOLDER] = folder  # the workers inherit it
        with nodes.fleet(membership) as fleet:
            for _ in range(BURSTS if job.rate is None else 1):
                job.done_by(fleet, PACED_SECONDS)
        del os.environ[FLAME_FOLDER]
        return folded(Path(folder))


def main(
    rows: Annotated[str, typer.Argument(help="A part of the names of rows; without it all.")] = "",
    folder: Annotated[Path, typer.Option(help="Where the pictures go.")] = Path("build/flames"),
    membership: Annotated[str, typer.Option(help="Our backend.")] = "scamp",
) -> None:
    """Draw a flame graph of each row whose name has all words of ROWS in it."""
    chosen = {
        name: (nodes, job)
        for nodes, jobs in JOBS.items()
        for job in jobs
        if all(word in (name := f"{nodes}-{job}") for word in rows.split())
    }
    if not chosen:
        there = ", ".join(f"{nodes}-{job}" for nodes, jobs in JOBS.items() for job in jobs)
        raise typer.BadParameter(f"no row has all words of {rows!r}; there is: {there}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, (nodes, job) in chosen.items():
        stacks = sampled(nodes, job, membership)
        (folder / f"{name}.svg").write_text(picture(name, stacks))
        lines = (f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))
        (folder / f"{name}.folded").write_text("".join(lines))
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    typer.run(main)
