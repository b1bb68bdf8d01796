"""Questions to processes: how often they are put, and what an answer lets happen."""

from __future__ import annotations

from random import Random

from camcast.engine.liveness_messages import DECODER, Question
from camcast.engine.questions import PROOF_PAUSES, WAITING_MAX, Questions
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.notices import NO_GROUP
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.wire import Kind, decode_control

ME = Contact(PeerId(b"m" * 16), "tcp://10.0.0.1:1")
OTHER = Contact(PeerId(b"o" * 16), "tcp://10.0.0.2:1")


class Asking:
    """The questions of one process, and what answers let happen."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        outlet = ControlOutlet(self.outbox, ME, Kind.LIVENESS, NO_GROUP)
        self.questions = Questions[object](outlet, Random(1))
        self.served: list[int] = []

    def prove(self, number: int) -> None:
        """Let OTHER ask for something, at the beginning."""
        self.questions.prove(OTHER, 0.0, lambda _: self.served.append(number))

    def asked(self) -> list[bytes]:
        """Take away the questions to OTHER that were sent; return their nonces."""
        sends, self.outbox.sends = self.outbox.sends, []
        nonces = []
        for contacts, record, *_ in sends:
            message = DECODER.decode(decode_control(record, 0, len(record)).body)
            assert isinstance(message, Question)
            assert list(contacts) == [OTHER]
            nonces.append(message.nonce)
        return nonces

    def pause(self) -> float:
        """Let the pause under way end; return its length."""
        wakes, self.outbox.wakes = self.outbox.wakes, []
        [(seconds, token)] = wakes
        name, nonce = token.name
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
