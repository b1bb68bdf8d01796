"""Tables that strangers write to: which lines count, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.interests.bounded import BYTES_MAX
from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.view_messages import DECODER, Gossip, LineNews, Update, View
from camcast.research.systems.hpmcast.view_tables import AHEAD_MAX, STAMP_MAX, LineError
from camcast.testing.lone_process import contact
from camcast.vocabulary import messages
from camcast.vocabulary.topics import Topic
from tests.research.unit.systems.hpmcast.members import Member, group_tables, line, member_of_five

TOPIC = Topic.parse(".a")
A, B = Interest.parse(".a"), Interest.parse(".b")


def test_of_two_lines_the_newer_counts() -> None:
    known = group_tables()
    assert known.take(line(3, 5), 1.0)
    assert not known.take(line(3, 5, interest=".b"), 2.0)
    assert not known.take(line(3, 4, interest=".b"), 2.0)
    assert known.table(1)[0].interest == A
    assert known.take(line(3, 6, interest=".b"), 2.0)
    assert known.table(1)[0].interest == B


def test_who_is_gone_comes_back_with_a_newer_stamp_only() -> None:
    known = group_tables()
    known.take(line(3, 5), 1.0)
    known.bury(1, known.hierarchy.address_of(contact(3).peer), 2.0)
    assert not known.table(1)
    assert not known.take(line(3, 6), 3.0)
    assert known.take(line(3, 7), 3.0)
    assert len(known.table(1)) == 1


def test_a_stamp_far_ahead_of_a_known_line_buries_nobody() -> None:
    """92 bytes with a stamp of 2^62 had a process forgotten by 29 of 29, for ever."""
    known = group_tables()
    known.take(line(3, 5), 1.0)
    for stamp in (STAMP_MAX, 5 + AHEAD_MAX + 1):
        assert not known.take(LineNews(1, contact(3).peer, stamp, (), 0, ""), 2.0)
    assert len(known.table(1)) == 1
    assert known.take(line(3, 5 + AHEAD_MAX), 3.0)


def test_a_process_follows_a_forged_stamp_no_faster_than_it_is_believed() -> None:
    member, known = member_of_five(), group_tables()
    own = contact(1).peer
    known.take(line(1), 0.0)
    for now in range(1, 10):
        for _ in range(3):
            gone = LineNews(1, own, STAMP_MAX, (), 0, "")
            member.membership.receive(contact(3), Update((gone,)), float(now))
        member.tick(float(now))
    [stamp] = [s for _, key, s in member.membership._tables.stamps(1) if key == own]
    assert known.take(line(1, stamp), 10.0)


def test_who_has_been_gone_for_long_is_forgotten() -> None:
    member = member_of_five()
    gone = LineNews(1, contact(9).peer, 50, (), 0, "")
    member.membership.receive(contact(3), Update((gone,)), 0.5)
    known = []
    for now in range(1, 62):
        member.tick(float(now))
        stamps = member.membership._tables.stamps(1)
        known.append(any(key == contact(9).peer for _, key, _ in stamps))
    assert known == [True] * 60 + [False]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (line(2), None),  # not of this group
        (line(3, level=0), None),
        (line(3, level=2), None),
        (LineNews(1, b"short", 1, (contact(3),), 1, "."), None),
        (LineNews(2, 2, 1, (contact(2),), 1, "."), None),  # a digit beyond the arity
        (line(3, stamp=0), "a stamp of 0"),
        (line(3, stamp=STAMP_MAX + 1), "a stamp of"),
        (line(3, interest="a"), "its interest: column 2: expected a comparison after 'a'"),
        (line(3, interest=""), "its interest: column 1: expected a topic"),
        (line(3, interest=".a and mag => 5"), "its interest: column 12: expected a comparison"),
        (line(3, interest=".a and mag > 5 and mag < 5"), "no event can match both"),
        (line(3, interest=".a" + " or .a" * BYTES_MAX), "at most 2,048 bytes"),
        (
            line(3, interest=" or ".join(f"x=={n}" for n in range(65))),
            "at most 64 alternatives, not",
        ),
        (
            line(3, interest="(x > 1 or y > 1) and z > 1"),
            "multiplied out, these are more than 1 alt",
        ),
        (LineNews(1, contact(3).peer, 1, (contact(5),), 1, "."), "no delegate is of the subs"),
        (LineNews(2, 0, 1, (contact(3),), 1, "."), "no delegate"),  # of another subsystem
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_line_that_cannot_be_is_refused_and_counted(wrong: LineNews, reason: str | None) -> None:
    known = group_tables()
    at = known.locate(wrong.level, wrong.key)
    assert (at is None) == (reason is None)
    if at is not None and reason is not None:
        with pytest.raises(LineError, match=reason):
            known.read(wrong, at, 1.0)
    assert not known.take(wrong, 1.0)
    assert (known.version, known.refused) == (0, 1)


def test_a_refused_line_changes_nothing_and_the_next_good_one_counts() -> None:
    member = member_of_five()
    before = member.membership.table(1)
    lines = (line(3, 9, interest=".a and"), line(5, 9, interest=".a and mag > 5"))
    member.membership.receive(contact(3), Update(lines), 1.0)
    assert member.membership.refused == 1
    changed = [
        new.interest
        for old, new in zip(before, member.membership.table(1), strict=True)
        if old != new
    ]
    assert changed == [Interest.parse(".a and mag > 5")]
    member.membership.receive(contact(3), Update((line(3, 9, interest=".b"),)), 1.0)
    assert member.membership.refused == 1


def test_a_line_s_delegates_are_the_smallest_and_in_order() -> None:
    known = group_tables()
    contacts = tuple(contact(number) for number in (8, 4, 3, 2, 4))
    assert known.take(LineNews(2, 0, 1, contacts, -3, ".a"), 1.0)
    (only,) = known.table(2)
    assert [known.contacts()[one] for one in only.delegates] == [contact(2), contact(4)]
    assert only.processes == 2


@settings(max_examples=40)
@given(st.data())
def test_updates_of_anything_leave_tables_that_can_be_read(data: st.DataObject) -> None:
    """Whatever lines come, in whatever order: no error, and sane tables."""
    member = Member(depth=3)
    member.found()
    membership = member.membership
    keys = st.integers(-1, 3) | st.integers(1, 9).map(lambda n: bytes(contact(n).peer))
    lines = st.builds(
        LineNews,
        st.integers(-1, 4),
        keys,
        st.integers(-1, 5) | st.just(STAMP_MAX),
        st.lists(st.integers(1, 9).map(contact), max_size=3).map(tuple),
        st.integers(-5, 2**70),
        st.sampled_from(
            (".a", ".b or .c", "c", ".", "", ".a and mag > 5", "(.a", "mag => 5", "\ud800")
        ),
    )
    stamps = st.tuples(st.integers(-1, 4), keys, st.integers(-1, 5))
    for now in range(data.draw(st.integers(1, 6))):
        message = data.draw(
            st.builds(Update, st.lists(lines, max_size=4).map(tuple))
            | st.builds(View, st.lists(lines, max_size=4).map(tuple))
            | st.builds(Gossip, st.lists(stamps, max_size=4).map(tuple))
        )
        source = contact(data.draw(st.integers(2, 9)))
        membership.receive(source, message, float(now))
        membership.wake(("tick",), float(now))
    for level in (1, 2, 3):
        table = membership.table(level)
        assert [one.branch for one in table] == sorted(one.branch for one in table)
        assert all(1 <= len(one.delegates) <= max(1, 2) for one in table)
    own = membership.hierarchy.address_of(contact(1).peer)
    assert any(one.branch == own for one in membership.table(1))
    assert membership.size() >= 1
    body = messages.encode(View(membership._tables.news(1)))
    assert DECODER.decode(body)
