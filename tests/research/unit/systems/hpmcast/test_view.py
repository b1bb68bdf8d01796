"""Views: the table of each level, and who stands for a subsystem (002, 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.systems.hpmcast.address import (
    Address,
    branch,
)
from camcast.research.systems.hpmcast.view import condense, elect, process_line, tables

members = st.dictionaries(
    st.tuples(*[st.integers(0, 3)] * 3), st.sets(st.sampled_from("ABCD")), min_size=1
)


def together(interests: Sequence[set[str]]) -> set[str]:
    return set().union(*interests)


@given(members=members, redundancy=st.integers(1, 5), data=st.data())
def test_a_table_is_what_its_definition_says(
    members: dict[Address, set[str]], redundancy: int, data: st.DataObject
) -> None:
    owner = data.draw(st.sampled_from(sorted(members)))
    for level, table in tables(owner, members, redundancy, together).items():
        prefix = branch(owner, level)
        digits = sorted({x[3 - level] for x in members if x[: 3 - level] == prefix})
        assert [line.branch for line in table] == [(*prefix, digit) for digit in digits]
        for line in table:
            below = sorted(x for x in members if x[: 4 - level] == line.branch)
            assert line.delegates == tuple(below[:redundancy])
            assert line.processes == len(below)
            assert line.interest == together([members[x] for x in below])


def test_delegates_need_no_list_of_all() -> None:
    """The smallest of the lines' smallest are the smallest of all."""
    lines = [process_line((0, digit), {"A"}) for digit in (5, 3, 9)]
    assert condense(lines, 2, together).delegates == ((0, 3), (0, 5))
    assert elect([(2,), (1,), (2,), (3,)], 2) == ((1,), (2,))
    with pytest.raises(ValueError, match="without lines"):
        condense([], 2, together)
    with pytest.raises(ValueError, match="redundancy"):
        tables((0, 3), {(0, 3): {"A"}}, 0, together)
