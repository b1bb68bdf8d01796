"""What hints of mDNS make a process do, and believe: bounded questions, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from camcast.doors.admission import Admission
from camcast.doors.discovery import DiscoveryContext
from camcast.testing.lone_process import LoneProcess
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind, MalformedError
from overlays.gateway_messages import Ask, Members, Unknown
from overlays.lan_questions import (
    ANSWER_SECONDS,
    ASKED_MAX,
    AT_ONCE,
    DECODER,
    OTHERS_SECONDS,
    Hint,
    LanQuestions,
)

SOCCER = Topic.parse(".soccer")
ME = Contact(PeerId(b"m" * 16), "tcp://192.168.1.2:7000")
ADA = Contact(PeerId(b"a" * 16), "tcp://192.168.1.3:7000")


class Pins(Admission):
    """Notes which key is expected where; nobody is known."""

    key = b"k" * 32

    def __init__(self) -> None:
        self.pinned: dict[str, str] = {}

    def pin(self, address: str, key: str, /) -> None:
        self.pinned[address] = key


class Asker(LoneProcess):
    """One process that asks, and what it wishes for."""

    def __init__(self, known: tuple[Contact, ...] = ()) -> None:
        super().__init__(ME, DECODER)
        self.pins = Pins()  # type: ignore[abstract]  # no more is asked of it
        outlet = self.outlet(Kind.DISCOVERY)
        context = DiscoveryContext(Random(1), outlet, lambda _group, _wanted: [*known], {})
        self.questions = LanQuestions(context, self.pins)

    def seek(self, hints: list[Hint], now: float = 0.0) -> list[tuple[Contact, Ask]]:
        """Seek, and return whom that asks."""
        self.questions.seek(SOCCER, 5, {str(n): hint for n, hint in enumerate(hints)}, now)
        return [(to, question) for to, question in self.said_to() if isinstance(question, Ask)]

    def answer(self, message: Members | Unknown) -> None:
        self.questions.receive(ADA, SOCCER.group, message, announced=False)


def hint(number: int, host: str = "192.168.1.3") -> Hint:
    return Hint(f"tcp://{host}:{7000 + number}", f"key {number}")


def test_a_hint_is_asked_under_its_key_and_its_answer_is_what_is_found() -> None:
    asker = Asker()
    [(to, question)] = asker.seek([hint(0)])
    assert to == Contact(UNKNOWN_PEER, "tcp://192.168.1.3:7000")
    assert asker.pins.pinned == {to.address: "key 0"}
    asker.answer(Members(question.seek + 1, (ADA,)))  # to no question
    assert asker.outbox.findings == []
    asker.answer(Members(question.seek, (ADA,)))
    asker.answer(Members(question.seek, (ME,)))  # again
    assert [finding.contacts for finding in asker.outbox.findings] == [(ADA,)]


def test_whoever_answers_first_decides_its_own_part_of_a_finding_alone() -> None:
    """The first answer with members ended the search: a certified liar that was quick owned it."""
    asker = Asker()
    (_, first), (_, second), _ = asker.seek([hint(number) for number in range(3)])
    liars, honest = [
        tuple(
            Contact(PeerId(letter + b"%015d" % number), f"tcp://192.168.2.{number}:7000")
            for number in range(5)
        )
        for letter in (b"l", b"h")
    ]
    asker.answer(Members(first.seek, liars))
    assert asker.outbox.findings == []
    asker.answer(Members(second.seek, honest))
    assert asker.outbox.wakes[-1].delay_seconds == OTHERS_SECONDS
    asker.questions.wake(asker.outbox.wakes[-1].token.name)
    [finding] = asker.outbox.findings
    assert len(finding.contacts) == 5
    assert sum(contact in honest for contact in finding.contacts) in (2, 3)


@pytest.mark.parametrize("answers", [0, 3])
def test_silence_and_ignorance_find_nobody_in_time(answers: int) -> None:
    asker = Asker()
    asked = asker.seek([hint(number) for number in range(3)])
    for _, question in asked[:answers]:
        asker.answer(Unknown(question.seek))
    [wake] = asker.outbox.wakes
    assert wake.delay_seconds == ANSWER_SECONDS
    asker.questions.wake(wake.token.name)
    assert [finding.contacts for finding in asker.outbox.findings] == [()]


def test_only_addresses_of_the_own_network_are_dialled_and_each_once_a_search() -> None:
    hosts = ("127.0.0.1", "8.8.8.8", "10.0.0.1", "192.169.0.1", "192.168.255.9")
    asked = Asker().seek([hint(0, host) for host in hosts])
    assert [to.address for to, _ in asked] == ["tcp://192.168.255.9:7000"]
    same = [Hint("tcp://192.168.1.3:7000", f"key {number}") for number in range(100)]
    assert len(Asker().seek(same)) == 1


def test_a_flood_of_hints_draws_few_questions() -> None:
    """A thousand made-up hints, and a seek every half second, for a minute."""
    asker, asked = Asker(), []
    for half_second in range(120):
        asked += asker.seek([hint(number) for number in range(1000)], half_second / 2)
        assert len(asked) <= AT_ONCE + half_second / 2 + 1


def test_those_that_have_answered_are_asked_again_beside_a_flood() -> None:
    asker = Asker()
    [(to, question)] = asker.seek([hint(0)])
    asker.answer(Unknown(question.seek))
    for seconds in range(1, 60):
        asked = asker.seek([hint(number) for number in range(1000)], float(seconds))
        assert to in [contact for contact, _ in asked]
        assert len(asked) <= ASKED_MAX


@pytest.mark.parametrize("announced", [False, True])
def test_a_question_is_answered_with_members_or_with_oneself_if_one_is_announced(
    announced: bool,
) -> None:
    for known, said in (((ADA, ME), (ADA, ME)), ((), (ME,) if announced else ())):
        asker = Asker(known)
        asker.questions.receive(
            Contact(PeerId(b"x" * 16), "tcp://192.168.1.9:7000"),
            SOCCER.group,
            Ask(7, 5, ".soccer"),
            announced=announced,
        )
        [(_, answer)] = asker.said_to()
        assert answer == (Members(7, said) if said else Unknown(7))
    with pytest.raises(MalformedError):
        asker.questions.receive(ADA, GroupId(bytes(8)), Ask(7, 5, ".soccer"), announced=announced)
