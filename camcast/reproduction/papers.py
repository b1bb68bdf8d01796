"""What can be computed again, by the names that `camcast reproduce` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from camcast.reproduction import (
    camcast_paper,
    camcast_plan,
    figures,
    hpmcast_figures,
    hpmcast_page,
    hpmcast_paper,
    hpmcast_plan,
    memberships,
    memberships_figures,
    memberships_page,
    memberships_plan,
    page,
    percolation_figures,
    percolation_page,
    percolation_paper,
    percolation_plan,
)
from camcast.reproduction.paper import Paper

CAMCAST: Final = Paper(
    "camcast", camcast_plan.Plan, camcast_paper.reproduce, figures.draw, page.html
)
MEMBERSHIPS: Final = Paper(
    "memberships", memberships_plan.Plan, memberships.reproduce,
    memberships_figures.draw, memberships_page.html,
)  # fmt: skip
PERCOLATION: Final = Paper(
    "percolation", percolation_plan.Plan, percolation_paper.reproduce,
    percolation_figures.draw, percolation_page.html,
)  # fmt: skip
HPMCAST: Final = Paper(
    "hpmcast", hpmcast_plan.Plan, hpmcast_paper.reproduce, hpmcast_figures.draw, hpmcast_page.html
)

PAPERS: Final[Mapping[str, Paper[Any, Any]]] = {
    paper.name: paper for paper in (CAMCAST, MEMBERSHIPS, PERCOLATION, HPMCAST)
}
