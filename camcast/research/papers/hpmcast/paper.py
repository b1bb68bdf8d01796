"""The hpmcast paper (002), computed again: Figures 7 to 13, and what section 6 says in words.

What is computed is a sweep of cells, each a simulation of one setting with its model.
"""

from __future__ import annotations

from typing import Final

from camcast.research.papers.hpmcast.cells import Results, compute
from camcast.research.papers.hpmcast.evidence import evidence
from camcast.research.papers.hpmcast.figures import figures
from camcast.research.papers.hpmcast.plan import HPMCAST, PMCAST, RFPBCAST, Plan
from camcast.research.papers.page import PageText
from camcast.research.papers.paper import ByCells, Paper, Reproduction


def _together(found: Results) -> Reproduction[Plan]:
    return Reproduction(plan=found.plan, figures=figures(found), evidence=evidence(found))


reproduce: Final = ByCells(compute, Results, _together)


_SETTINGS: Final = (
    (
        HPMCAST,
        "Figure 6 process by process, all in step. Views are complete and static; the delegates"
        " are the R smallest addresses of a subsystem. The publisher is any process.",
    ),
    (None, "Nobody crashes and no copy is lost, as in the paper's captions."),
    (
        HPMCAST,
        "Reliability: the share of the interested processes, without the publisher, that deliver;"
        " the mean over runs, with Student's interval.",
    ),
    (
        HPMCAST,
        "Line 27 of Figure 6 is taken as printed: |view| R processes in level 1, too, where a line"
        " is one process. With |view| there, as Equation 17 has it, 88 % instead of 99.95 % of"
        " Figure 7's deliver at p₁ = 0.1, and 99.88 % at p₁ = 1.",
    ),
    (
        HPMCAST,
        "Line 35's share is hits / (processes of the view). Divided by R in level 1, too, 90 %"
        " deliver at p₁ = 0.1.",
    ),
    (
        HPMCAST,
        "The model follows one process down the levels, exactly but for the publisher's own"
        " descent (camcast.research.systems.hpmcast.levels).",
    ),
    (RFPBCAST, "rfpbcast: Figure 1 process by process; everybody knows everybody."),
    (PMCAST, "pmcast: Figure 2 process by process; everybody knows everybody's interests."),
    (None, "All points are simulated with the same seed."),
)
"""The conventions, by the protocol that they are about; None: of all."""

TEXT: Final = PageText(
    title="hpmcast, section 5.3 to 6.2, computed again",
    introduction=lambda found: (
        "Figures 7 to 13 of P. Th. Eugster, R. Guerraoui, <cite>Hierarchical"
        " Probabilistic Multicast</cite>, simulated again: an event spreads through a hierarchy of"
        " l levels, in which each subsystem has a subsystems of its own and R delegates. Beyond"
        " them rfpbcast and pmcast, of its section 2, round by round."
        f" {found.plan.runs:,} runs a point; intervals are of 95 %."
    ),
    made=lambda plan: f"Seed {plan.seed}, {plan.runs:,} runs.",
    conventions=_SETTINGS,
)
PAPER: Final = Paper("hpmcast", Plan, reproduce, TEXT)
