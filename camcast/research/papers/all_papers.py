"""The papers that can be computed again, by the names that `camcast reproduce` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from camcast.research.papers.camcast_paper import PAPER as CAMCAST
from camcast.research.papers.damulticast_paper import PAPER as DAMULTICAST
from camcast.research.papers.hpmcast_paper import PAPER as HPMCAST
from camcast.research.papers.memberships_paper import PAPER as MEMBERSHIPS
from camcast.research.papers.paper import Paper
from camcast.research.papers.percolation_paper import PAPER as PERCOLATION

__all__ = ["CAMCAST", "DAMULTICAST", "HPMCAST", "MEMBERSHIPS", "PAPERS", "PERCOLATION"]

PAPERS: Final[Mapping[str, Paper[Any, Any]]] = {
    paper.name: paper for paper in (CAMCAST, DAMULTICAST, HPMCAST, PERCOLATION, MEMBERSHIPS)
}
"""The slowest last."""
