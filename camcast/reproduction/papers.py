"""What can be computed again, by the names that `camcast reproduce` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from camcast.reproduction.camcast import page
from camcast.reproduction.camcast import paper as camcast_paper
from camcast.reproduction.camcast import plan as camcast_plan
from camcast.reproduction.hpmcast import page as hpmcast_page
from camcast.reproduction.hpmcast import paper as hpmcast_paper
from camcast.reproduction.hpmcast import plan as hpmcast_plan
from camcast.reproduction.memberships import comparison as memberships
from camcast.reproduction.memberships import page as memberships_page
from camcast.reproduction.memberships import plan as memberships_plan
from camcast.reproduction.paper import Paper
from camcast.reproduction.percolation import page as percolation_page
from camcast.reproduction.percolation import paper as percolation_paper
from camcast.reproduction.percolation import plan as percolation_plan

CAMCAST: Final = Paper("camcast", camcast_plan.Plan, camcast_paper.reproduce, page.html)
MEMBERSHIPS: Final = Paper(
    "memberships", memberships_plan.Plan, memberships.reproduce,
    memberships_page.html, memberships.partial_of,
)  # fmt: skip
PERCOLATION: Final = Paper(
    "percolation", percolation_plan.Plan, percolation_paper.reproduce,
    percolation_page.html,
)  # fmt: skip
HPMCAST: Final = Paper("hpmcast", hpmcast_plan.Plan, hpmcast_paper.reproduce, hpmcast_page.html)

PAPERS: Final[Mapping[str, Paper[Any, Any]]] = {
    paper.name: paper for paper in (CAMCAST, MEMBERSHIPS, PERCOLATION, HPMCAST)
}
