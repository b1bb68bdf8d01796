"""Edge lists: the links of a real overlay, one link a line.

The format is that of SNAP (``FromNodeId ToNodeId``). The reader was made for two samples: the
6,301 Gnutella peers of 8 August 2002 (Ripeanu, Foster, Iamnitchi 2002), whose links are directed,
and the 6,474 autonomous systems of 2 January 2000, whose file has each link twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from camcast.research.workloads.publication import WorkloadError
from camcast.research.workloads.text_lines import read_lines

_WANTED: Final = "an edge list, two numbers a line"
_ID_MAX: Final = 2**63 - 1  # chosen: an id fits in 64 bits everywhere


def load_edges(path: Path) -> list[tuple[int, int]]:
    """Read the links of an overlay as pairs of nodes, in the order of the file.

    Nodes are renumbered from 0 in the order of their ids, which may have gaps. Directions, repeated
    links and loops are kept as they are in the file. Lines that begin with ``#`` and empty lines
    are skipped.

    Raises `WorkloadError`, with the line, for a row that is not two ids, whole numbers from 0
    on, with spaces or a tab between them; and for a file without links.
    """
    links = []
    for number, line in enumerate(read_lines(path, _WANTED), start=1):
        row = line.strip()
        if row and not row.startswith("#"):
            links.append(_link(path, number, row))
    if not links:
        raise WorkloadError(path, None, f"there are no links in it; give {_WANTED}")
    ids = sorted(dict.fromkeys(node for link in links for node in link))
    numbers = {node: number for number, node in enumerate(ids)}
    return [(numbers[one], numbers[other]) for one, other in links]


def _link(path: Path, number: int, row: str) -> tuple[int, int]:
    fields = row.split()
    if len(fields) != 2:
        raise WorkloadError(
            path, number, f"{row!r} has {len(fields)} fields; write the two ids of a link"
        )
    for field in fields:
        if not (field.isascii() and field.isdecimal()) or int(field) > _ID_MAX:
            raise WorkloadError(
                path, number, f"{field!r} is not the id of a node; write a whole number from 0 on"
            )
    return int(fields[0]), int(fields[1])
