"""The results of the chaos suite, as a table, as lines, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from attrs import frozen
from rich.table import Table

from tests.library.chaos.checker import Findings
from tests.library.chaos.scenario import Outcome


@frozen(kw_only=True)
class Report:
    """The outcomes of one call, and what they are about."""

    commit: str
    date: str
    transport: str
    spread: str
    profile: str
    seed: int
    outcomes: list[Outcome]


def _share(lost: int, due: int) -> str:
    return f"{lost:,}" if not lost else f"{lost:,} ({100 * lost / due:.2g} %)"


def _by_climb(findings: Findings) -> str:
    return "/".join(str(lost) for lost, _ in findings.lost_by_climb.values())


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


COLUMNS: Final[dict[str, Callable[[Findings], str]]] = {
    "events": lambda f: f"{f.events:,}",
    "due": lambda f: f"{f.due:,}",
    "lost": lambda f: _share(f.lost, f.due),
    "by climb": _by_climb,
    "late": lambda f: f"{f.late:,}",
    "Missed": lambda f: f"{f.missed:,}",
    "false": lambda f: f"{f.told_falsely:,}",
    "excused": lambda f: f"{_share(f.excused_lost, f.excused_due)}" if f.excused_due else "-",
    "given up": lambda f: f"{f.forgotten:,}",
    "dup.": lambda f: f"{f.duplicated:,}",
    "overtaking": lambda f: f"{f.overtaking:,}",
    "back": lambda f: f"{f.out_of_order:,}",
    "parasites": lambda f: f"{f.parasites:,}",
    "median ms": lambda f: f"{1000 * f.delay_seconds_median:.1f}",
    "last arrival s": lambda f: _seconds(f.arrival_seconds_max),
    "heals in s": lambda f: _seconds(f.heal_seconds),
}
"""What the tables show of the findings; docs/measured/chaos.md says what each column means."""


def _cells(outcome: Outcome) -> list[str]:
    findings = outcome.findings
    if findings is None:
        return ["-"] * len(COLUMNS)
    return [write(findings) for write in COLUMNS.values()]


def _verdict(outcome: Outcome) -> str:
    return "FAILED" if outcome.broken else "passed"


def table(outcomes: Iterable[Outcome]) -> Table:
    """Return the results as a table for the terminal."""
    drawn = Table(title="lost: of the events that were due; -: does not apply")
    for name in ("scenario", "backend"):
        drawn.add_column(name)
    for name in COLUMNS:
        drawn.add_column(name, justify="right")
    drawn.add_column("verdict")
    for outcome in outcomes:
        drawn.add_row(outcome.scenario, outcome.membership, *_cells(outcome), _verdict(outcome))
    return drawn


def line(outcome: Outcome) -> str:
    """Return one line about a run that ended."""
    name = f"{outcome.scenario}, {outcome.membership}, {outcome.seconds:.0f} s"
    return f"{name}: {', '.join(outcome.broken) or 'passed'}"


def details(outcomes: Iterable[Outcome], examples: int = 3) -> Iterator[str]:
    """Yield, for each run that broke a limit, which one, and some of the events."""
    for outcome in outcomes:
        if outcome.broken:
            yield line(outcome)
            if outcome.findings is not None:
                yield from (f"    {text}" for text in outcome.findings.examples[:examples])


def markdown(report: Report) -> str:
    """Return the results as Markdown that needs nothing else: a row a scenario, a column a backend.

    A cell has the events that never came of those due, the longest that one took, and the limits
    that were broken.
    """
    passed = sum(not outcome.broken for outcome in report.outcomes)
    backends = list(dict.fromkeys(outcome.membership for outcome in report.outcomes))
    cells: dict[tuple[str, str], list[str]] = {}
    for outcome in report.outcomes:
        row = cells.setdefault((outcome.scenario, outcome.title), ["-"] * len(backends))
        row[backends.index(outcome.membership)] = _cell(outcome)
    rows = [
        f"Commit {report.commit}, {report.date}, transport {report.transport},"
        f" spread {report.spread}, profile {report.profile}, seed {report.seed}:"
        f" {passed} of {len(report.outcomes)} runs passed. A cell says how"
        " many of the events that were due never came, the longest that one took, and any limit"
        " that was broken.",
        "",
        _row(["scenario", "what happens", *backends]),
        _row(["---"] * (2 + len(backends))),
        *(_row([*what, *row]) for what, row in cells.items()),
    ]
    return "\n".join(rows) + "\n"


def _cell(outcome: Outcome) -> str:
    findings = outcome.findings
    broken = f"**{', '.join(outcome.broken)}**" if outcome.broken else ""
    if findings is None:
        return broken
    absent = findings.lost + findings.missed
    numbers = f"{absent:,} of {findings.due:,} ({findings.arrival_seconds_max:.1f} s)"
    return f"{numbers} {broken}".strip()


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
