"""What can be computed again, by the names that `camcast reproduce` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from camcast.reproduction.camcast import page as camcast_page
from camcast.reproduction.camcast import paper as camcast
from camcast.reproduction.camcast import plan as camcast_plan
from camcast.reproduction.damulticast import paper as damulticast
from camcast.reproduction.hpmcast import paper as hpmcast
from camcast.reproduction.hpmcast import plan as hpmcast_plan
from camcast.reproduction.memberships import comparison as memberships
from camcast.reproduction.memberships import page as memberships_page
from camcast.reproduction.memberships import plan as memberships_plan
from camcast.reproduction.paper import Paper
from camcast.reproduction.percolation import paper as percolation
from camcast.reproduction.percolation import plan as percolation_plan

CAMCAST: Final = Paper("camcast", camcast_plan.Plan, camcast.reproduce, camcast_page.TEXT)
DAMULTICAST: Final = Paper("damulticast", damulticast.Plan, damulticast.reproduce, damulticast.TEXT)
MEMBERSHIPS: Final = Paper(
    *("memberships", memberships_plan.Plan, memberships.reproduce, memberships_page.TEXT),
    memberships.partial_of,
)
PERCOLATION: Final = Paper(
    "percolation", percolation_plan.Plan, percolation.reproduce, percolation.TEXT
)
HPMCAST: Final = Paper("hpmcast", hpmcast_plan.Plan, hpmcast.reproduce, hpmcast.TEXT)

PAPERS: Final[Mapping[str, Paper[Any, Any]]] = {
    paper.name: paper for paper in (CAMCAST, DAMULTICAST, HPMCAST, PERCOLATION, MEMBERSHIPS)
}
"""The slowest last."""
