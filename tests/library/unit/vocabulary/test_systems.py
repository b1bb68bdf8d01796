"""Systems: marks of datagrams, and whom one has met lately."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.systems import (
    MARK,
    MISFIT_SECONDS,
    MISFITS_MAX,
    SYSTEM_BYTES_MAX,
    Misfits,
    check_system,
    mark,
    other_system,
    read_mark,
)

NAMES = st.text(
    st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=SYSTEM_BYTES_MAX
)


@given(NAMES, st.binary(max_size=60))
def test_a_mark_reads_back_and_the_system_without_a_name_has_none(name: str, data: bytes) -> None:
    assert read_mark(mark(check_system(name), data)) == (name.encode(), data)
    assert mark("", data) == data


@given(st.binary(max_size=8) | st.builds(lambda rest: MARK + rest, st.binary(max_size=80)))
def test_any_datagram_is_of_some_system_and_loses_no_byte(datagram: bytes) -> None:
    system, data = read_mark(datagram)
    assert datagram.endswith(data)
    assert len(system) + len(data) in (len(datagram), len(datagram) - len(MARK) - 1)


def test_what_a_stranger_names_is_shown_safely_and_short() -> None:
    says = other_system(b"\x1b[2J\xff" + b"x" * 1000, "ours")
    assert says.isprintable()
    assert len(says) < 200


def test_of_misfits_the_latest_are_kept_and_for_a_while() -> None:
    misfits = Misfits()
    for number in range(MISFITS_MAX + 3):
        misfits.add(str(number), "why", float(number))
    misfits.add("3", "why else", 30.0)
    assert next(iter(misfits.lately(30.0))) == "4: why"
    assert list(misfits.lately(30.0))[-1] == "3: why else"
    assert len(list(misfits.lately(30.0))) == MISFITS_MAX
    assert list(misfits.lately(29.0 + MISFIT_SECONDS)) == ["3: why else"]
