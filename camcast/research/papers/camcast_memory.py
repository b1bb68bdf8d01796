"""Memory complexity in the CAMCAST paper (000, section 4.4): tables by formula, of sizes alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from camcast.research.papers.camcast_setting import (
    COMMUNITIES,
    PARAMETERS,
    SIZES,
    CamcastPlan,
    setting_of,
)
from camcast.research.papers.paper import Results, Shown
from camcast.research.report.evidence import Evidence, statement
from camcast.research.systems.baselines.setting import baseline
from camcast.research.systems.camcast import memory

_LINKS: Final = (PARAMETERS.z, PARAMETERS.z, 0)  # of a process of g, d and a to the community above


def memory_complexity(_results: Results[CamcastPlan]) -> Shown:
    """Compare the tables of section 4.4, which are formulas of the sizes alone."""
    low, high = [float(memory.gossip_table(size, PARAMETERS.c)) for size in SIZES], _entries()
    tables = [
        community.fan_out + links
        for community, links in zip(setting_of().communities, _LINKS, strict=True)
    ]
    yield statement(
        "000",
        "1.3, 4.4.1",
        "ln Nt + ct ≤ totalMbInfo ≤ ln Nt + ct + zt",
        # a whole table has at most one more
        [least <= table < most + 1 for table, least, most in zip(tables, low, high, strict=True)],
        "Entries of whole tables: "
        + ", ".join(f"{name} {of}" for name, of in zip(COMMUNITIES, tables, strict=True))
        + "; ln N + c + z: "
        + ", ".join(f"{name} {of:.1f}" for name, of in zip(COMMUNITIES, high, strict=True))
        + ".",
    )  # fmt: skip
    yield less_memory(
        "000",
        "4.4.2, (b) and (c)",
        "the memory complexity of a process is always smaller in our algorithm than in approaches"
        " (b) and (c)",
        ("(b)", "(c)"),
    )
    yield less_memory("000", "4.4.2, (a)", "and sometimes even in approach (a)", ("(a)",), any)


def _entries() -> list[float]:
    """Return ln N + c + z of each community, the entries that CAMCAST keeps."""
    given = zip(SIZES, _LINKS, strict=True)
    return [float(memory.camcast_memory(size, PARAMETERS.c, links)) for size, links in given]


def less_memory(
    paper: str,
    item: str,
    quote: str,
    approaches: Sequence[str],
    of: Callable[[list[bool]], bool] | None = None,
) -> Evidence:
    """Judge that CAMCAST keeps fewer entries, for equal c: in each community, or `of` them."""
    c, n = PARAMETERS.c, sum(SIZES)
    clusters = baseline("hierarchical", setting_of()).clusters
    entries = {
        "CAMCAST": _entries(),
        "(a)": [float(memory.gossip_table(n, c))] * 3,
        "(b)": memory.multicast_memory(SIZES, [c] * 3).tolist(),
        "(c)": [float(memory.hierarchical_memory(clusters, n / clusters, c, c))] * 3,
    }
    smaller = [
        one < other
        for approach in approaches
        for one, other in zip(entries["CAMCAST"], entries[approach], strict=True)
    ]
    listed = "; ".join(
        f"{name} {', '.join(f'{one:.1f}' for one in row)}" for name, row in entries.items()
    )
    return statement(
        paper,
        item,
        quote,
        smaller if of is None else [of(smaller)],
        f"Entries in g, d, a: {listed}. By formula, for equal c.",
    )
