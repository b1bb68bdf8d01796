"""What can be computed again, by the names that `camcast reproduce` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from camcast.research.papers.camcast.page import PAPER as CAMCAST
from camcast.research.papers.damulticast.paper import PAPER as DAMULTICAST
from camcast.research.papers.hpmcast.paper import PAPER as HPMCAST
from camcast.research.papers.memberships.page import PAPER as MEMBERSHIPS
from camcast.research.papers.paper import Paper
from camcast.research.papers.percolation.paper import PAPER as PERCOLATION

__all__ = ["CAMCAST", "DAMULTICAST", "HPMCAST", "MEMBERSHIPS", "PAPERS", "PERCOLATION"]

PAPERS: Final[Mapping[str, Paper[Any, Any]]] = {
    paper.name: paper for paper in (CAMCAST, DAMULTICAST, HPMCAST, PERCOLATION, MEMBERSHIPS)
}
"""The slowest last."""
