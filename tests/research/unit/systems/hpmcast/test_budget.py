"""Lines of hpmcast on their way: in messages of a bounded size, of which a bounded part is read.

What is counted is work, not time: bytes of interests that are read, and how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.interests.bounded import BYTES_MAX, TERMS_MAX, read_interest
from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast import budget as hpmcast_reading
from camcast.research.systems.hpmcast import view_messages as hpmcast_messages
from camcast.research.systems.hpmcast.budget import READ_BYTES_MAX, TEXT_BYTES
from camcast.research.systems.hpmcast.hierarchy import REDUNDANCY_MAX
from camcast.research.systems.hpmcast.view_messages import (
    DECODER,
    LINES_BYTES_MAX,
    Gossip,
    LineNews,
    Update,
    View,
    parts,
)
from camcast.research.systems.hpmcast.view_tables import MEMBERS_MAX, Tables
from camcast.testing.lone_process import contact
from camcast.vocabulary import messages
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX
from tests.research.unit.systems.hpmcast.members import Member, line

LARGEST = " or ".join(f".topic{n:02d}.{'x' * 16}" for n in range(TERMS_MAX))[:BYTES_MAX]


def fitting(lines: Iterable[LineNews], bytes_max: int = PAYLOAD_BYTES_MAX) -> tuple[LineNews, ...]:
    """Return as many lines as a message of this size has."""
    kept: list[LineNews] = []
    for one in lines:
        bytes_max -= len(messages.encode(one))
        if bytes_max < 0:
            break
        kept.append(one)
    return tuple(kept)


class Reader(Member):
    """A process that is told by process 3, and whose reading is watched."""

    def told(self, message: messages.Message, now: float = 0.5) -> None:
        body = messages.encode(message)
        assert len(body) <= PAYLOAD_BYTES_MAX + 16
        self.receive(3, DECODER.decode(body), now)

    def quiet_tick(self, now: float) -> None:
        """Let a period pass, in which all of its tables were heard of."""
        for _, _, entry in self.tables.entries():
            entry.heard = now
        self.membership.wake(("tick",), now)

    @property
    def unread(self) -> int:
        return sum(entry.unread for _, _, entry in self.tables.entries())


def founder(number: int = 1) -> Reader:
    member = Reader(number)
    member.found()
    return member


@pytest.fixture
def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What texts are read, each time."""
    texts: list[str] = []

    def read(text: str) -> Interest:
        texts.append(text)
        return read_interest(text)

    monkeypatch.setattr(hpmcast_reading, "read_interest", read)
    return texts


# -- reading ---------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[int], str]] = {
    "long": lambda n: f"{LARGEST[:-8]}{n:08d}",
    "short": lambda n: f".t{n}",
    "wrong": lambda n: "x",
    "long and wrong": lambda n: f"{'x > 1 and ' * 200}{n}",
    "in parentheses": lambda n: f"{'(' * 32}.t{n}{')' * 32}",
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("whose", ["many", "one"])
def test_what_is_read_of_a_message_is_bounded(kind: str, whose: str, texts_read: list[str]) -> None:
    """A megabyte of interests took up to 76 s to read and to condense; this is a quarter of one."""
    member = founder()
    lines = (
        line(2 * n + 3 if whose == "many" else 3, stamp=n + 1, interest=TEXTS[kind](n))
        for n in count()
    )
    hostile = fitting(lines, PAYLOAD_BYTES_MAX // 4)
    assert sum(len(one.interest) + TEXT_BYTES for one in hostile) > 3 * READ_BYTES_MAX
    for now in (0.5, 0.6):
        member.told(Update(hostile), now)
        assert sum(map(len, texts_read)) <= READ_BYTES_MAX
        assert len(texts_read) <= READ_BYTES_MAX / TEXT_BYTES
    assert member.unread
    texts_read.clear()
    member.membership.wake(("tick",), 1.0)
    assert sum(map(len, texts_read)) <= READ_BYTES_MAX
    assert texts_read


def test_a_text_that_is_too_large_is_not_read_and_not_kept(texts_read: list[str]) -> None:
    member = founder()
    hostile = fitting(line(2 * n + 3, interest=f"{'x' * BYTES_MAX}{n}") for n in count())
    member.told(Update(hostile))
    assert member.membership.refused == len(hostile)
    assert len(member.membership.table(1)) == 1


def test_what_many_say_is_read_once(texts_read: list[str]) -> None:
    member = founder()
    member.told(Update(fitting(line(2 * n + 3, interest=LARGEST) for n in range(400))))
    assert len(member.membership.table(1)) == 401
    assert member.unread == 0
    assert texts_read == [LARGEST]


def test_who_is_unread_wants_everything_and_is_not_passed_on() -> None:
    """Nobody misses an event for it; a period after another everything is read."""
    member, size = founder(), 40
    lines = tuple(line(2 * n + 3, interest=TEXTS["long"](n)) for n in range(size))
    member.told(Update(lines))
    periods = 0
    while unread := member.unread:
        assert len(member.membership.peers()) == size
        wide = [one for one in member.membership.table(1) if one.interest == Interest.parse(".")]
        assert len(wide) == 1 + unread  # the process itself wants everything, too
        assert len(member.tables.news(1)) == len(member.tables.newer((), 1)) == 2 + size - unread
        member.told(Update(lines))  # no newer: nothing is read for it
        assert member.unread == unread
        periods += 1
        member.membership.wake(("tick",), float(periods))
    assert periods == -(-size // (READ_BYTES_MAX // (BYTES_MAX + TEXT_BYTES))) - 1
    wanted = [str(one.interest) for one in member.membership.table(1)[1:]]
    assert wanted == [str(read_interest(one.interest)) for one in lines]
    assert member.membership.refused == 0


def test_what_turns_out_to_be_no_interest_is_as_if_it_had_never_come() -> None:
    member = founder()
    member.told(Update((line(3, stamp=5), line(5, stamp=5))))
    spent = tuple(line(2 * n + 7, interest=TEXTS["long"](n)) for n in range(20))
    member.told(Update((*spent, line(3, stamp=99, interest=TEXTS["long and wrong"](1)))))
    assert member.membership.refused == 0
    for now in (1.0, 2.0):
        member.membership.wake(("tick",), now)
    assert member.membership.refused == 1
    assert contact(3).peer not in member.membership.peers()
    member.told(Update((line(3, stamp=6, interest=".b"),)))
    assert member.membership.table(1)[1].interest == Interest.parse(".b")


def test_who_goes_unread_is_read_no_more(texts_read: list[str]) -> None:
    member = founder()
    lines = tuple(line(2 * n + 3, interest=TEXTS["long"](n)) for n in range(40))
    member.told(Update(lines))
    gone = tuple(LineNews(1, one.key, 2, (), 0, "") for one in lines)
    member.told(Update(gone))
    texts_read.clear()
    member.membership.wake(("tick",), 1.0)
    assert not texts_read
    assert len(member.membership.peers()) == 0


def test_a_full_table_refuses_without_reading(texts_read: list[str]) -> None:
    member = founder()
    member.told(Update(fitting(line(2 * n + 3) for n in range(MEMBERS_MAX - 1))))
    assert (len(member.membership.table(1)), member.membership.refused) == (MEMBERS_MAX, 0)
    texts_read.clear()
    member.told(Update((line(2 * MEMBERS_MAX + 9, interest=".new"), line(3, 2, interest=".newer"))))
    assert (len(member.membership.table(1)), member.membership.refused) == (MEMBERS_MAX, 1)
    assert texts_read == [".newer"]


def test_a_line_that_is_not_newer_is_not_refused() -> None:
    member = founder()
    member.told(Update((line(3, stamp=5),)))
    member.told(Update((line(3, stamp=5, interest="x =>"), line(3, stamp=4), line(3, stamp=0))))
    assert member.membership.refused == 0


def test_who_leads_is_asked_once_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """To find out takes a look at the whole table, which each line before may have changed."""
    asked: list[int] = []
    leads = Tables.leads

    def count_asked(tables: Tables, level: int) -> bool:
        asked.append(level)
        return leads(tables, level)

    monkeypatch.setattr(Tables, "leads", count_asked)
    member = founder()
    asked.clear()
    own = (LineNews(2, 1, 10 + 2 * n, (contact(3),), 1, ".") for n in range(100))
    member.told(Update(tuple(one for n, news in enumerate(own) for one in (line(3, n), news))))
    assert asked == [1]
    assert [stamp for level, _, stamp in member.tables.stamps(1) if level == 2] == [209]


# -- messages --------------------------------------------------------------------------------------

contacts = st.lists(st.integers(1, 2**24 - 1).map(contact), max_size=REDUNDANCY_MAX).map(tuple)
any_lines = st.lists(
    st.builds(
        LineNews,
        st.integers(1, 64),
        st.integers(0, 4095) | st.binary(min_size=16, max_size=16),
        st.integers(1, 2**62),
        contacts,
        st.integers(0, 2**40),
        st.text(max_size=500) | st.integers(0, BYTES_MAX).map("x".__mul__),
    ),
    max_size=20,
)


@settings(max_examples=100)
@given(any_lines, st.integers(1, 3000))
def test_what_is_split_is_merged_again_exactly(lines: list[LineNews], room: int) -> None:
    """In as few messages as there can be in this order; a line that is too large goes alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hpmcast_messages, "LINES_BYTES_MAX", room)
        split = [
            view.lines
            for part in parts(lines)
            if isinstance(view := DECODER.decode(messages.encode(View(part))), View)
        ]
    assert [one for part in split for one in part] == lines
    sizes = [[len(messages.encode(one)) for one in part] for part in split]
    assert all(sum(part) <= room or len(part) == 1 for part in sizes)
    assert all(sum(part) + after[0] > room for part, after in pairwise(sizes))


def test_of_no_lines_there_is_one_part_and_a_large_line_goes_alone() -> None:
    large = LineNews(2, 0, 1, tuple(map(contact, range(3, 2000, 2))), 1, ".")
    assert list(parts(())) == [()]
    assert list(parts((large,))) == [(large,)]
    assert list(parts((line(3), large, large, line(5)))) == [
        (line(3),), (large,), (large,), (line(5),)
    ]  # fmt: skip


@settings(max_examples=50)
@given(st.lists(st.integers(1, TERMS_MAX), min_size=1, max_size=400))
def test_any_one_message_of_an_honest_process_is_read_at_once(terms: list[int]) -> None:
    """From lines with the largest interests there are to those with hardly any."""
    lines = [
        line(2 * n + 3, interest=" or ".join(f".t{n}.{m:02d}.{'x' * 16}" for m in range(size)))
        for n, size in enumerate(terms)
    ]
    for part in parts(one for one in lines if len(one.interest) <= BYTES_MAX):
        member = founder()
        member.told(Update(part))
        assert member.unread == 0
        assert len(member.membership.peers()) == len(part)


def test_a_view_of_any_size_goes_to_a_newcomer() -> None:
    """600 neighbours with an interest of 2 KB each: more than a record of the pipes has.

    All parts arrive, but the last, which gossip brings.
    """
    size = 600
    lines = tuple(line(2 * n + 7, interest=TEXTS["long"](n)) for n in range(size))
    assert len(messages.encode(View(lines))) > PAYLOAD_BYTES_MAX
    old, newcomer = founder(), Reader(5)
    for part in parts(lines):
        old.told(Update(part))
    now = 0.0
    while old.unread:
        old.quiet_tick(now := now + 1.0)
    old.said()
    newcomer.membership.join([old.me], now)
    ((_, join),) = newcomer.said()
    old.receive(5, join, now)
    *views, last = [view for _, view in old.said()]
    assert len(views) > 30
    assert all(len(messages.encode(view)) <= LINES_BYTES_MAX + 16 for view in (*views, last))
    for view in views:
        newcomer.receive(1, view, now)
    assert newcomer.membership.joined
    greeted = [to for to, message in newcomer.said() if isinstance(message, Update)]
    known = newcomer.table
    assert sorted(greeted) == known
    assert size - 20 < len(known) < size + 1
    while newcomer.unread or len(newcomer.membership.peers()) <= size:
        newcomer.quiet_tick(now := now + 1.0)
        assert now < 100
        for _, message in newcomer.said():
            old.receive(5, message, now)
        for to, message in old.said():
            if to == 5:
                newcomer.receive(1, message, now)
    assert newcomer.membership.table(1) == old.membership.table(1)
    assert newcomer.membership.refused == old.membership.refused == 0


def test_only_who_has_just_joined_greets_whom_a_view_names() -> None:
    """Else anybody could have it send messages to thousands."""
    old, newcomer = founder(3), Reader(5)
    newcomer.membership.join([old.me], 0.0)
    newcomer.said()
    for view in (View((line(3), line(7))), View((line(9), line(7)))):
        newcomer.receive(3, view, 0.1)
    greeted = [to for to, message in newcomer.said() if isinstance(message, Update)]
    assert greeted == [3, 7, 9]
    newcomer.receive(7, View((line(11),)), 0.2)
    assert newcomer.said() == []
    newcomer.membership.wake(("tick",), 1.0)
    newcomer.said()
    newcomer.receive(3, View((line(13),)), 1.1)
    assert newcomer.said() == []
    assert len(newcomer.membership.peers()) == 5


def test_an_answer_of_any_size_goes_to_who_gossips() -> None:
    old = founder()
    old.told(Update(tuple(line(2 * n + 3, interest=LARGEST) for n in range(40))))
    old.told(Gossip(()))
    updates = [update for _, update in old.said()]
    lines = [one for update in updates if isinstance(update, Update) for one in update.lines]
    assert tuple(lines) == old.tables.newer((), 1)
    assert len(lines) == 42
    assert all(len(messages.encode(update)) <= LINES_BYTES_MAX + 16 for update in updates)
