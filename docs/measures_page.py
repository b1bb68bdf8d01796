"""The page of all measures, made from the tables that comparisons, figures and schemas read.

``python docs/measures_page.py`` writes `docs/research/measures.md` again; a test holds that it is
up to date.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from camcast.research.report.benchmark_measures import BENCHMARK_MEASURES
from camcast.research.report.measures import MEASURES, Measure

PAGE: Final = Path(__file__).parent / "research/measures.md"
BETTER: Final = {"more": "higher", "less": "lower", "neither": "neither", "unknown": "unknown"}
HEAD: Final = """\
# All measures

Made by `python docs/measures_page.py` from `camcast/research/report/measures.py` and
`benchmark_measures.py`: tables, figures, verdicts, JSON Schemas and the metadata of Parquet files
read the same two files. [formats.md](../formats.md#what-is-measured) defines the measures of runs
in full. *Better* is the direction in which `camcast compare` says that something improved; *per* is
what the value is divided by.

A mean over repetitions is of each measure as it stands here, one value a run.
"""
OF_BENCHMARKS: Final = """
## Of benchmarks

The numbers of our benchmarks and of pytest-benchmark itself; [benchmarks.md](../benchmarks.md)
describes the jobs. Of any other number in `extra_info` nothing is guessed: it is compared as a
number, its direction is unknown, and a change of it is neither an improvement nor a regression,
unless `camcast compare --better lower NAME` (or `higher`) says which way is better.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, "\n## Of runs, simulations and models\n", _table(MEASURES.values())]
    return "\n".join([*parts, OF_BENCHMARKS, _table(BENCHMARK_MEASURES.values())]) + "\n"


def _table(measures: Iterable[Measure]) -> str:
    lines = ["| name | better | unit | per | meaning | source |", "|---|---|---|---|---|---|"]
    for measure in measures:
        cells = (
            f"`{measure.name}`",
            BETTER[measure.better],
            measure.unit_name,
            measure.per,
            measure.meaning,
            measure.source,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
