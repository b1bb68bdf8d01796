"""The page of the percolation paper: everything of the reproduction in one file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from camcast.report.drawing import Drawing
from camcast.report.page import document, evidence_table, how_made, pairs, picture
from camcast.reproduction.figure import Figure
from camcast.reproduction.paper import FiguresAndEvidence
from camcast.reproduction.percolation.plan import (
    GAMMA,
    HELD,
    POISSON_NODES,
    POISSON_NODES_VARIED,
    SIGMA,
    SIGMA_BELOW,
    B,
    Plan,
)

_TITLE: Final = "Publish-subscribe systems via gossip, section V, computed again"
_PARTS: Final[Mapping[str, tuple[tuple[int, ...], ...]]] = {
    "The model alone": ((1, 2),),
    "Poisson degrees": ((3,), (4, 5)),
    "Scale-free networks": ((6,), *((number, number + 1) for number in B)),
}
"""The figures that stand beside each other."""
_SIZES: Final = ", ".join(f"{nodes:,}" for nodes in POISSON_NODES_VARIED)
_SETTINGS: Final = (
    f"Chosen, as the paper does not say: in Figure 3 {SIGMA} = {SIGMA_BELOW:g} and {_SIZES}"
    f" nodes; in Figures 4 and 5 {POISSON_NODES:,} nodes; the {GAMMA} of Figures 1 and 2; the"
    " three overlays of Figure 6. The probability that is not varied is"
    f" {HELD:g} (V-B1, V-B2).",
    "Networks: the configuration model. A link of a node to itself or a repeated one is"
    " switched with a random other link, which keeps all degrees; neighbours are a set in the"
    " paper's algorithms. Left in, or left out, they change no mean by more than its interval"
    " (docs/percolation.md).",
    "Subscribers are drawn once for a network, as in V-B. An event is published by a node"
    " chosen at random, which counts as a receiver, as in ⟨r⟩, and has links or not.",
    "The intervals are of the networks' means: events of one network have its links and its"
    " subscribers in common. There is no TTL, as in section IV.",
    "The model beyond the transition: an event dies out with the probability of Equations 12"
    " and 13 at 1; whom it reaches if it does not is told by going back from a receiver, where"
    " a subscriber gets the event over every link and another node over each with"
    f" probability {GAMMA} (camcast.models.percolation.reach).",
    "All points are simulated with the same seed: the networks are the same at all"
    f" {SIGMA} and {GAMMA}.",
)


def html(found: FiguresAndEvidence[Plan], drawings: Mapping[str, Drawing], command: str) -> str:
    """Return the page; `drawings` by the figures' names, `command` is what made it."""
    plan, figures = found.plan, {figure.name: figure for figure in found.figures}
    introduction = (
        "<p>Figures 1 to 18 of S. Ferretti, <cite>Publish-Subscribe Systems via Gossip: a Study"
        " based on Complex Networks</cite>: a node sends a new event to all neighbours that"
        f" subscribe to it, which a node does with probability {SIGMA}, and to each other"
        f" neighbour with probability {GAMMA}. {plan.runs} networks a point, {plan.events} events"
        " on each, as the paper has 20 and 400. Intervals are of 95 %, over networks.</p>"
    )

    def drawn(figure: Figure) -> str:
        return picture(figure.name, figure.heading, figure.notes, drawings[figure.name])

    parts = [introduction, evidence_table(found.evidence)]
    for title, rows in _PARTS.items():
        parts.append(f"<h2>{escape(title)}</h2>")
        parts += [
            pairs(drawn(figures[f"figure{number}"]) for number in numbers) for numbers in rows
        ]
    parts.append(how_made(command, f"Seed {plan.seed}.", ("numpy", "numba"), _SETTINGS))
    return document(_TITLE, parts, drawings)
