"""Section 5 of the percolation paper (003), computed again: Figures 1 to 18.

What is computed is a sweep of *cells* (`cells`), each a corpus of networks at one point, whose
results are kept line by line in ``cells.jsonl``; the figures are put together from the results and
the model alone (`reproduce`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from camcast.research.papers.page import PageText
from camcast.research.papers.paper import ByCells, Paper, Reproduction
from camcast.research.papers.percolation import plan
from camcast.research.papers.percolation.cells import Results, compute
from camcast.research.papers.percolation.evidence import evidence
from camcast.research.papers.percolation.figures import figures
from camcast.research.papers.percolation.plan import GAMMA, SIGMA, Plan


def _together(found: Results) -> Reproduction[Plan]:
    return Reproduction(plan=found.plan, figures=figures(found), evidence=evidence(found))


reproduce: Final = ByCells(compute, Results, _together)


_PARTS: Final[Mapping[str, range]] = {
    "The model alone": range(1, 3),
    "Poisson degrees": range(3, 6),
    "Scale-free networks": range(6, 19),
}
"""The numbers of the figures by what they are about."""
_SIZES: Final = ", ".join(f"{nodes:,}" for nodes in plan.POISSON_NODES_VARIED)
_SETTINGS: Final = (
    f"Chosen, as the paper does not say: in Figure 3 {SIGMA} = {plan.SIGMA_BELOW:g} and {_SIZES}"
    f" nodes; in Figures 4 and 5 {plan.POISSON_NODES:,} nodes; the {GAMMA} of Figures 1 and 2; the"
    f" three overlays of Figure 6. The probability that is not varied is {plan.HELD:g} (V-B1,"
    " V-B2).",
    "Networks: the configuration model. A link of a node to itself or a repeated one is"
    " switched with a random other link, which keeps all degrees; neighbours are a set in the"
    " paper's algorithms. Left in, or left out, they change no mean by more than its interval"
    " (docs/research/models.md).",
    "Subscribers are drawn once for a network, as in V-B. An event is published by a node"
    " chosen at random, which counts as a receiver, as in ⟨r⟩, and has links or not.",
    "The intervals are of the networks' means: events of one network have its links and its"
    " subscribers in common. There is no TTL, as in section IV.",
    "The model beyond the transition: an event dies out with the probability of Equations 12"
    " and 13 at 1; whom it reaches if it does not is told by going back from a receiver, where"
    " a subscriber gets the event over every link and another node over each with"
    f" probability {GAMMA} (camcast.research.systems.percolation.percolation_reach).",
    "All points are simulated with the same seed: the networks are the same at all"
    f" {SIGMA} and {GAMMA}.",
)

TEXT: Final = PageText(
    title="Publish-subscribe systems via gossip, section V, computed again",
    introduction=lambda found: (
        "Figures 1 to 18 of S. Ferretti, <cite>Publish-Subscribe Systems via Gossip: a Study based"
        " on Complex Networks</cite>: a node sends a new event to all neighbours that subscribe to"
        f" it, which a node does with probability {SIGMA}, and to each other neighbour with"
        f" probability {GAMMA}. {found.plan.runs} networks a point, {found.plan.events} events on"
        " each, as the paper has 20 and 400. Intervals are of 95 %, over networks."
    ),
    sections=lambda found: {
        part: [found.figures[number - 1] for number in numbers] for part, numbers in _PARTS.items()
    },
    made=lambda given: f"Seed {given.seed}.",
    conventions=[(None, words) for words in _SETTINGS],
)
PAPER: Final = Paper("percolation", Plan, reproduce, TEXT)
