"""Who is best among the memberships in the virtual network, or that nobody is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from camcast.pipeline.compare.verdict import Verdict, verdict_on
from camcast.reproduction.memberships.results import Results

_OF_SPREAD: Final = {"reception": "reception", "efficiency": "cost of events"}
_OF_RUNS: Final = {
    "control_kilobytes": "cost of upkeep",
    "listed_seconds": "joining",
    "dropped_seconds": "healing",
    "reception_storm": "reception in loss and crashes",
}


def verdicts_of(results: Results) -> Iterator[Verdict]:
    """Yield the answer to each question that two contenders have runs for.

    All comparisons of a question hold together with 95 % confidence.
    """
    for metric, question in {**_OF_SPREAD, **_OF_RUNS}.items():
        values = {
            who.name: results.means(who, metric)
            if metric in _OF_SPREAD
            else results.values(who, metric)
            for who in results.contenders
        }
        found = {name: of_runs for name, of_runs in values.items() if of_runs}
        if len(found) > 1:
            yield verdict_on(metric, question, found)
