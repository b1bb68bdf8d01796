"""Edge lists: what is read, and that what cannot be read is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.systems.percolation.graphs import GivenLinks
from camcast.research.workloads.edge_list import load_edges
from camcast.research.workloads.publication import WorkloadError
from tests.research.unit.workloads.given_file import assert_refused, written


def test_links_are_read_and_nodes_renumbered(tmp_path: Path) -> None:
    text = "# Directed graph\n# FromNodeId\tToNodeId\n10\t7\r\n\n7 10\n  30 30  \n10\t4000000000\n"
    assert load_edges(written(tmp_path, text)) == [(1, 0), (0, 1), (2, 2), (1, 3)]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("1 2 3", "3 fields"),
        ("12", "1 fields"),
        ("1,2", "1 fields"),
        ("1 -2", "'-2'"),
        ("1 2.0", "'2.0'"),
        ("a 2", "'a'"),
        ("1 \u0663", "not the id"),
        (f"1 {2**63}", "whole number"),
        ("1 2 # a link", "5 fields"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(row: str, named: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"# comment\n1 2\n\n{row}\n3 4\n")
    assert_refused(load_edges, path, 4, [named])


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# comments\n"])
def test_a_file_without_links_is_refused(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(WorkloadError, match="edge list"):
        load_edges(path)


@given(
    st.lists(
        st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)), min_size=1, max_size=20
    )
)
def test_the_order_of_ids_is_kept(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[int, int]]
) -> None:
    links = [(0, 0), *links]  # which cannot be the numbers of nodes and links
    rows = "".join(f"{one}\t{other}\n" for one, other in links)
    read = load_edges(written(tmp_path_factory.mktemp("edges"), rows))
    ids = sorted({node for link in links for node in link})
    assert [(ids[one], ids[other]) for one, other in read] == links


K4 = "".join(f"{a} {b}\n" for a in range(4) for b in range(a))


@pytest.mark.parametrize("header", ["", "4 6\n", "6 4\n", "# 4 6\n"])
def test_a_first_row_of_counts_is_no_link(header: str, tmp_path: Path) -> None:
    assert load_edges(written(tmp_path, header + K4)) == load_edges(written(tmp_path, K4))


@pytest.mark.parametrize("header", ["5 6\n", "6 9\n"])
def test_a_first_row_that_may_be_counts_is_named(header: str, tmp_path: Path) -> None:
    assert_refused(load_edges, written(tmp_path, header + K4), 1, ["begin the line with #"])


@pytest.mark.parametrize("link", ["3 1\n", "4 5\n", "4 7\n", "0 6\n"])
def test_a_first_link_is_a_link(link: str, tmp_path: Path) -> None:
    assert len(load_edges(written(tmp_path, link + K4))) == 7


def ring(nodes: int, *, both_ways: bool) -> str:
    rows = [f"{node}\t{(node + 1) % nodes}" for node in range(nodes)]
    if both_ways:
        rows += [f"{(node + 1) % nodes}\t{node}" for node in range(nodes)]
        rows += [f"{node}\t{node}" for node in range(0, nodes, 10)]
    return "# a ring\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_large_overlay_is_read_whole(both_ways: bool, tmp_path: Path) -> None:
    """Six thousand nodes; a link that the file has twice is one, and no message takes a loop."""
    overlay = GivenLinks(load_edges(written(tmp_path, ring(6_000, both_ways=both_ways))))
    assert overlay.nodes == 6_000
    assert overlay.graph(1, 0).links == 6_000
