"""A liveness service whose questions need no network: for tests of the parts that ask them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from camcast.engine.liveness import LivenessService, PartLiveness, TakePiece
from camcast.engine.questions import Questions
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GroupId


class Answered(Questions[PartLiveness]):
    """Whoever is to prove its address has; whoever is doubted is gone."""

    def prove(self, contact: Contact, now: float, then: Callable[[float], None]) -> None:
        then(now)

    def doubt(
        self, part: PartLiveness | None, contact: Contact, group: GroupId, now: float
    ) -> None:
        if part is not None:
            part.watcher.peer_gone(contact, now)


class AnsweredLiveness(LivenessService):
    def __init__(self, outlet: ControlOutlet, rng: Random, take_piece: TakePiece) -> None:
        super().__init__(outlet, rng, take_piece)
        self.questions = Answered(outlet, rng)
