"""Questions to processes: what is asked again, and what an answer lets happen."""

from __future__ import annotations

from random import Random

from camcast.engine.liveness_messages import DECODER, Question
from camcast.engine.questions import WAITING_MAX, Questions
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.notices import NO_GROUP
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.wire import FRAME_HEADER, Kind, decode_control

ME = Contact(PeerId(b"m" * 16), "tcp://10.0.0.1:1")
OTHER = Contact(PeerId(b"o" * 16), "tcp://10.0.0.2:1")


class Asking:
    """The questions of one process, what they ask, and what an answer let happen."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        outlet = ControlOutlet(self.outbox, ME, Kind.LIVENESS, NO_GROUP)
        self.questions = Questions[object](outlet, Random(1))
        self.served: list[int] = []

    def prove(self, number: int, now: float = 0.0) -> list[bytes]:
        """Let OTHER ask for something; return the nonces of what it is asked."""
        self.outbox.sends.clear()
        self.questions.prove(OTHER, now, lambda _: self.served.append(number))
        nonces = []
        for send in self.outbox.sends:
            assert list(send.contacts) == [OTHER]
            frame = FRAME_HEADER + send.record
            message = DECODER.decode(decode_control(frame, len(FRAME_HEADER), len(frame)).body)
            assert isinstance(message, Question)
            nonces.append(message.nonce)
        return nonces


def test_who_asks_again_is_asked_again_for_the_question_may_be_lost() -> None:
    asking = Asking()
    [nonce] = asking.prove(0)
    assert asking.prove(1) == [nonce]
    assert asking.questions.answered(OTHER, nonce, 0.5)
    assert asking.served == [0, 1]
    assert asking.prove(2, now=1.0) == []
    assert asking.served == [0, 1, 2]


def test_a_third_party_is_asked_so_often_and_no_more() -> None:
    """Whoever names its address makes this process write to it."""
    asking = Asking()
    asked = sum(len(asking.prove(number)) for number in range(100))
    assert asked == WAITING_MAX


def test_an_answer_from_elsewhere_lets_nothing_happen() -> None:
    asking = Asking()
    [nonce] = asking.prove(0)
    assert not asking.questions.answered(Contact(OTHER.peer, "tcp://10.0.0.3:1"), nonce, 0.5)
    assert not asking.questions.answered(OTHER, b"x" * 8, 0.5)
    assert asking.served == []
