"""What runs of the memberships have in common, live and virtual: the setting, and what counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from camcast.doors.plugs import find_backend
from camcast.reproduction.memberships.plan import COMMUNITIES, PARAMETERS
from camcast.runs.summary import CommunitySummary, Summary
from camcast.scenarios.live import chain
from camcast.sweeps import JSON
from camcast.vocabulary.parameters import PRESETS, Parameters
from camcast.vocabulary.topics import Topic

BOTTOM: Final = Topic(("d", "g"))
_NAMES: Final = dict(zip((".d.g", ".d", "."), COMMUNITIES, strict=True))


def setting_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what scenarios of both worlds have in common."""
    return {
        "name": "memberships",
        "communities": chain(given["sizes"], ["d", "g"]),
        "membership": given["backend"],
        "options": options_of(given),
        "seed": seed_of(given),
    }


def options_of(given: Mapping[str, Any]) -> dict[str, object]:
    """Return the options of a cell's membership.

    By default tables are as large as the membership makes them, so that each holds the ln N that
    an event is sent to. With tables of ln N in the mean, as the paper's, SCAMP sends fewer copies
    than the dht, whose tables are all of one size, and that alone decides their order.
    """
    backend = find_backend(given["backend"])
    if "preset" not in given:
        return dict(backend.as_printed) if given["printed"] else {}
    small = {"c": 0} if "c" in attrs.fields_dict(backend.options) else {}
    return {**backend.as_printed, **small}  # [CAMCAST 6.2.1] topic tables of ln N


def parameters_of(given: Mapping[str, Any]) -> Parameters:
    """Return the parameters of a cell (6.2.1), but for p_sel."""
    return attrs.evolve(PARAMETERS, **PRESETS.get(given.get("preset", ""), {}))


def rows_of(
    summary: Summary, p_sel: float, receptions: Mapping[str, Sequence[float]]
) -> list[JSON]:
    """Return the measures of each community, for the figures.

    `receptions`: of each event, by the topic of the community.
    """
    return [
        {
            "p_sel": p_sel,
            "community": _NAMES[community.topic],
            "reception": community.reception,
            "reliability": community.reliability,
            "efficiency": community.efficiency,
            "hops_mean": community.hops_mean,
            "upward": community.upward_messages / summary.events,
            "predicted": community.predicted,
            "by_event": receptions[community.topic],
        }
        for community in summary.communities
    ]


def table_to_law(summary: Summary) -> float:
    """Return the entries of all topic tables, as a share of what the membership's law says."""

    def entries(value: Callable[[CommunitySummary], float | None]) -> float:
        return sum((value(c) or 0.0) * c.processes for c in summary.communities)

    return entries(lambda c: c.view_mean) / max(1.0, entries(lambda c: c.view_law or 0.0))


def seed_of(given: Mapping[str, Any]) -> int:
    """Return the seed of a cell's run: every run of the plan's seed has its own."""
    return int(given["seed"]) * 10_000 + int(given["run"])
