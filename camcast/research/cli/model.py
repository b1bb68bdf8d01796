"""``camcast model``: what a publication costs and whom it reaches, by the closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.console import wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import CommandError, clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.doors.options import OptionError
from camcast.research.cli.measures_table import measures_table
from camcast.research.cli.simulate_setting import SHOWN
from camcast.research.cli.simulated import print_measures
from camcast.research.cli.system_options import (
    PROTOCOL,
    SETTING,
    ProtocolOptions,
    ScenarioFile,
    SettingOptions,
)
from camcast.research.cli.wide_table import WideTable
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.registry import CAMCAST, find_system

if TYPE_CHECKING:  # numpy is an extra
    from collections.abc import Sequence

    from camcast.research.systems.camcast.model import Prediction

_PREDICTED: Final = (
    *("memory", "reception", "reliability", "rounds", "messages", "upward_messages"),
)
_FORMULAS: Final = ("messages", "memory", "reliability", "latency")


@grouped
def model(
    ctx: typer.Context,
    given: SettingOptions = SETTING,
    scenario: ScenarioFile = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, help="Clusters of hierarchical gossip broadcast; default: √n."),
    ] = None,
    protocol: ProtocolOptions = PROTOCOL,
    json: options.Json = False,
) -> None:
    """Predict an event published in the first community, without simulating it.

    The first table is the prediction for each community (docs/research/models.md says how good it
    is); the second sets CAMCAST beside the alternatives of section 4.2 of the paper by its own
    formulas, which know of no crashed process: of what all processes send, what one process
    stores, the probability that all of the root community receive, and rounds. With --protocol it
    is the prediction for that system on the same processes, with loss and crashes.

    Example: camcast model --sizes 1000,100,10 --protocol hierarchical --protocol-set clusters=30
    """
    with clear_failures(ValueError, LookupError), extras_named():
        chosen = given.setting(ctx, scenario)
        name, setting = protocol.name, protocol.setting(ctx, chosen)
        predicted = find_system(name).predict(setting)
        if name != CAMCAST:
            if clusters is not None:
                raise CommandError("with --protocol, give --protocol-set clusters=N")
            figures = predicted.as_json()
            if json:
                setting_given = attrs.asdict(setting)
                print_json(
                    {"protocol": name, "setting": setting_given, "model": figures}, "model/1"
                )
            else:
                words = f"{setting.in_words()}. {predicted.in_words()}".rstrip()
                print_measures(name, SHOWN, figures, None, words)
            return
        predictions: Sequence[Prediction] = predicted
        alternatives = _alternatives(chosen, clusters) if _is_a_chain(chosen) else []
    if json:
        print_json(
            {
                "setting": attrs.asdict(chosen),
                "communities": [attrs.asdict(prediction) for prediction in predictions],
                "alternatives": alternatives,
            },
            "model/1",
        )
        return
    console = wide_console()
    console.print(prediction_table(chosen, predictions))
    if not alternatives:
        console.print(
            "The paper's formulas (section 4) are for chains; these communities are none.",
            highlight=False,
        )
        return
    console.print()
    lines = (([row["protocol"]], row) for row in alternatives)
    console.print(measures_table(["by the paper's formulas (section 4)"], _FORMULAS, lines))


def prediction_table(chosen: Setting, predictions: Sequence[Prediction]) -> WideTable:
    """Return the parameters of each community and what they are predicted to do."""
    lines = []
    for community, prediction in zip(chosen.communities, predictions, strict=True):
        of, climbs = community.parameters, bool(community.supers)
        about = [
            *(f"{community.topic} {community.size:,}".lstrip().rjust(9), f"{of.c:g}"),
            *(f"{value:g}" if climbs else "-" for value in (of.g, of.a, of.z)),
            str(community.fan_out),
        ]
        lines.append((about, attrs.asdict(prediction)))
    return measures_table(["processes", "c", "g", "a", "z", "fan-out"], _PREDICTED, lines)


def _is_a_chain(chosen: Setting) -> bool:
    """Return whether each community has the next as its one super-community."""
    last = len(chosen.communities) - 1
    return all(
        community.supers == (() if index == last else (index + 1,))
        for index, community in enumerate(chosen.communities)
    )


def _alternatives(chosen: Setting, clusters: int | None) -> list[dict[str, Any]]:
    """Return what the paper's forms say of CAMCAST and of (a), (b) and (c), 4.2 to 4.6."""
    from camcast.research.systems.camcast import latency, memory, reliability
    from camcast.research.systems.camcast import message_equations as messages

    communities = chosen.communities
    sizes = [float(community.size) for community in communities]
    c = [community.parameters.c for community in communities]
    p_sel = [community.p_sel for community in communities]
    supers = [*sizes[1:], sizes[-1]]  # the root's is not looked at
    z = [float(community.links(int(n))) for community, n in zip(communities, supers, strict=True)]
    p_a = [community.p_a(int(n)) for community, n in zip(communities, supers, strict=True)]
    # Of upward copies, by community (4.3.1).
    p_succ = [chosen.arrival_up(at) * (1 - chosen.stillborn) for at in range(len(communities))]
    pit = reliability.climb_probability(sizes, p_sel, p_a, z, p_succ)
    n = sum(sizes)
    if clusters is not None and clusters > n:
        raise OptionError(f"--clusters {clusters}: {n:.0f} processes do not fill so many")
    groups = float(clusters or max(1, round(n**0.5)))
    of_paper = c[0]
    rows = {
        "CAMCAST": (
            messages.camcast_messages(sizes, c, p_sel, p_a, z),
            memory.camcast_memory(sizes[0], c[0], z[0] if len(sizes) > 1 else 0.0),
            reliability.community_reliability(c, pit)[-1],
            latency.latency_avg(sizes),
        ),
        "(a) gossip broadcast": (
            messages.gossip_messages(n, of_paper),
            memory.gossip_table(n, of_paper),
            reliability.gossip_reliability(of_paper),
            latency.rounds(n),
        ),
        "(b) gossip multicast": (
            messages.multicast_messages(sizes, c),
            memory.multicast_memory(sizes, c)[-1],
            reliability.multicast_reliability(c)[-1],
            latency.multicast_latency(sizes),
        ),
        f"(c) hierarchical broadcast, {groups:.0f} clusters": (
            messages.hierarchical_messages(groups, n / groups, of_paper, of_paper),
            memory.hierarchical_memory(groups, n / groups, of_paper, of_paper),
            reliability.hierarchical_reliability(groups, of_paper, of_paper),
            latency.hierarchical_latency(groups, n / groups),
        ),
    }
    return [
        {"protocol": protocol} | dict(zip(_FORMULAS, map(float, figures), strict=True))
        for protocol, figures in rows.items()
    ]
