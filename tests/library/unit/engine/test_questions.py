"""Questions to processes: how often they are put, and what an answer lets happen."""

from __future__ import annotations

from random import Random

from camcast.engine.liveness_messages import DECODER
from camcast.engine.questions import PROOF_PAUSES, WAITING_MAX, Questions
from camcast.testing.lone_process import LoneProcess, contact
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.wire import Kind

OTHER = contact(2)


class Asking(LoneProcess):
    """The questions of one process, and what answers let happen."""

    def __init__(self) -> None:
        super().__init__(contact(1), DECODER)
        self.questions = Questions[object](self.outlet(Kind.LIVENESS), Random(1))
        self.served: list[int] = []

    def prove(self, number: int) -> None:
        """Let OTHER ask for something, at the beginning."""
        self.questions.prove(OTHER, 0.0, lambda _: self.served.append(number))

    def asked(self) -> list[bytes]:
        """Take away the questions to OTHER that were sent; return their nonces."""
        said = self.said_to()
        assert all(to == OTHER for to, _ in said)
        return [question.nonce for _, question in said]

    def pause(self) -> float:
        """Let the pause under way end; return its length."""
        [(seconds, (name, nonce))] = self.wakes()
        assert name == "question"
        assert isinstance(nonce, bytes)
        assert self.questions.unanswered(nonce) is None
        return seconds


def test_a_question_that_was_lost_is_put_again_and_its_answer_counts() -> None:
    asking = Asking()
    asking.prove(0)
    [nonce] = asking.asked()
    assert asking.pause() == PROOF_PAUSES[0]
    assert asking.asked() == [nonce]
    assert asking.questions.answered(OTHER, nonce, 0.5)
    assert asking.served == [0]
    asking.pause()
    assert asking.asked() == []


def test_who_does_not_answer_is_asked_a_few_times_whoever_names_it() -> None:
    """Whoever names the address of a third party makes this process write to it."""
    asking = Asking()
    for number in range(100):
        asking.prove(number)
    [nonce] = asking.asked()
    assert [asking.pause() for _ in PROOF_PAUSES] == list(PROOF_PAUSES)
    assert asking.asked() == [nonce] * (len(PROOF_PAUSES) - 1)
    assert asking.outbox.wakes == []
    assert not asking.questions.answered(OTHER, nonce, 5.0)
    assert asking.served == []


def test_an_answer_lets_happen_what_waited_up_to_a_bound() -> None:
    asking = Asking()
    for number in range(100):
        asking.prove(number)
    [nonce] = asking.asked()
    assert asking.questions.answered(OTHER, nonce, 0.5)
    assert asking.served == list(range(WAITING_MAX))


def test_an_answer_from_elsewhere_lets_nothing_happen() -> None:
    asking = Asking()
    asking.prove(0)
    [nonce] = asking.asked()
    assert not asking.questions.answered(Contact(OTHER.peer, "tcp://10.0.0.3:1"), nonce, 0.5)
    assert not asking.questions.answered(OTHER, b"x" * 8, 0.5)
    assert asking.served == []


def test_who_asks_to_be_answered_has_been_called_back_by_whoever_repeats_the_nonce() -> None:
    asking = Asking()
    assert not asking.questions.answered(OTHER, b"", 0.0)
    for _ in range(2):
        asking.questions.ask_back([OTHER.address])
    [(to, question), again] = asking.said_to()
    assert (to.address, again[1]) == (OTHER.address, question)
    asking.questions.answered(OTHER, bytes(len(question.nonce)), 0.0)
    assert not asking.questions.called_back
    asking.questions.answered(contact(3), question.nonce, 0.0)
    assert asking.questions.called_back
