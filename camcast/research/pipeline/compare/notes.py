"""Remarks on a comparison: what one side lacks, what both have; repair and machines that differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from camcast.research.pipeline.compare.comparison import Row
from camcast.research.pipeline.compare.findings import Source

_NAMED_MAX: Final = 10  # chosen: some lines; the tables have all


def unpaired_notes(now: Sequence[Row], before: Sequence[Row]) -> Iterator[str]:
    """Say what only one of the two sides has measured."""
    for rows, others, what in (
        (before, now, "missing that the baseline has"),
        (now, before, "new since the baseline"),
    ):
        places = {row.place for row in others}
        alone = [row for row in rows if row.place not in places]
        if alone:
            counted = Counter(map(_subject, alone))
            named = [
                f"{name} ({number})" if number > 1 else name
                for name, number in counted.most_common(_NAMED_MAX)
            ]
            rest = [f"and {len(counted) - len(named)} more"] if len(counted) > len(named) else []
            measures = "1 measure is" if len(alone) == 1 else f"{len(alone)} measures are"
            yield f"{measures} {what}: {', '.join([*named, *rest])}"


def _subject(row: Row) -> str:
    """Return what a row is about: its benchmark, or its measure, and of whom."""
    who = f" of {row.variant}" if row.variant.backend else ""
    return f"{row.measure.benchmark or row.measure.title}{who}"


def shared_notes(now: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    """Say which runs and files are on both sides, by `Inputs.seen` of each."""
    whole = Counter(now.values())
    pairs = Counter((now[one], before[one]) for one in now if one in before)
    for (path, base), shared in islice(pairs.items(), _NAMED_MAX):
        if shared < whole[path]:
            part = (
                f"{shared} of the {whole[path]} benchmarks of {path} are in the baseline's {base}"
            )
            yield f"{part} too: they are compared with themselves"
            continue
        same = "in the baseline too" if path == base else f"that of the baseline's {base}"
        yield f"{path} is {same}: it is compared with itself"
    if len(pairs) > _NAMED_MAX:
        yield f"and {len(pairs) - _NAMED_MAX} more are on both sides"


def machine_notes(sources: Iterable[Source]) -> Iterator[str]:
    """Say where sides differ in the machine or the Python that their times are of."""
    sides: defaultdict[tuple[bool, str, str], set[tuple[str, str]]] = defaultdict(set)
    for one in sources:
        if one.world != "virtual":
            sides[one.baseline, one.backend, one.version].add((one.machine, one.python))
    for number, what in enumerate(("machines", "Pythons")):
        of_sides = [frozenset(made[number] for made in side) for side in sides.values()]
        if len(dict.fromkeys(of_sides)) > 1:
            each = sorted({made or "unknown" for side in of_sides for made in side})
            named = "; ".join(each[:_NAMED_MAX])
            yield f"what is compared was measured on different {what}: {named}"


def repair_notes(sources: Iterable[Source]) -> Iterator[str]:
    """Say which sides have repair and which have not, where that differs."""
    sides: defaultdict[bool, dict[str, None]] = defaultdict(dict)
    for one in sources:
        if one.repair is not None:
            who = " ".join(filter(None, (one.backend, one.protocol)))
            sides[one.repair][f"{who} (baseline)" if one.baseline else who] = None
    if len(sides) > 1:
        repaired, others = (", ".join(sides[repair]) for repair in (True, False))
        yield (
            "some of what is compared has repair and some has not: with repair"
            f" {repaired}; without repair {others}"
        )
