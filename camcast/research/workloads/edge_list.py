"""Edge lists: the links of a real overlay, one link a line.

The format is that of SNAP (``FromNodeId ToNodeId``). The reader was made for two samples: the
6,301 Gnutella peers of 8 August 2002 (Ripeanu, Foster, Iamnitchi 2002), whose links are directed,
and the 6,474 autonomous systems of 2 January 2000, whose file has each link twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from camcast.research.workloads.publication import WorkloadError
from camcast.research.workloads.text_lines import read_lines

_WANTED: Final = "an edge list, two numbers a line"
_ID_MAX: Final = 2**63 - 1  # chosen: an id fits in 64 bits everywhere


def load_edges(path: Path) -> list[tuple[int, int]]:
    """Read the links of an overlay as pairs of nodes, in the order of the file.

    Nodes are renumbered from 0 in the order of their ids, which may have gaps. Directions, repeated
    links and loops are kept as they are in the file. Lines that begin with ``#`` and empty lines
    are skipped, and so is a first row that says exactly how many nodes and links follow.

    Raises `WorkloadError`, with the line, for a row that is not two ids, whole numbers from 0
    on, with spaces or a tab between them; for a first row that may be such numbers, or a link; and
    for a file without links.
    """
    rows = [
        (number, row)
        for number, line in enumerate(read_lines(path, _WANTED), start=1)
        if (row := line.strip()) and not row.startswith("#")
    ]
    links = [_link(path, number, row) for number, row in rows]
    match _header(links):
        case "counts":
            del links[0]
        case "perhaps":
            raise WorkloadError(
                path,
                rows[0][0],
                f"{rows[0][1]!r} seems to say how many nodes and links follow; begin the line"
                " with #, or, if it is a link, write it further down",
            )
    if not links:
        raise WorkloadError(path, None, f"there are no links in it; give {_WANTED}")
    ids = sorted(dict.fromkeys(node for link in links for node in link))
    numbers = {node: number for number, node in enumerate(ids)}
    return [(numbers[one], numbers[other]) for one, other in links]


def _header(links: list[tuple[int, int]]) -> Literal["counts", "perhaps", ""]:
    """Say whether the first row is the numbers of nodes and links, in some order, of the others.

    Where some nodes have no link, it may be, or may be a link.
    """
    if len(links) < 3:  # of one link, any row might be
        return ""
    first, *rest = links
    ids = dict.fromkeys(node for link in rest for node in link)
    counts = [nodes for nodes, number in (first, first[::-1]) if number == len(rest)]
    if len(ids) in counts:
        return "counts"
    return "perhaps" if any(nodes >= max(len(ids), *ids) for nodes in counts) else ""


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
