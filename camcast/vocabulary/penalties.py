"""Penalties: one score for each process, which all that is refused of it raises.

A refusal has one of two verdicts. What is *rejected* no honest process sends or passes on, and it
is a `Fault` of the process at the other end of the link. What is *ignored* an honest process may
have believed: it may trust other roots, know other revocations, have another clock, or be of a
release with other letters in topics. That is counted and logged, and no fault of anybody.

Some faults honest processes commit as well, seldom: a message is lost when it was promised, or a
plug of another release has written it. By those alone the score stays below half of what bars a
process, however many they are; whoever commits them has that much less left for forgeries.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final, NamedTuple

from camcast.vocabulary.identity import PeerId

BARRED_ABOVE: Final = 7.0  # [docs/security.md] the eighth forgery in a row bars its sender
# chosen: a minute of peace halves the score; who forges less than one record in twelve seconds is
# never barred, and costs 4 µs of CPU a second
HALF_LIFE_SECONDS: Final = 60.0
BARRED_SECONDS: Final = 600.0  # chosen: 8 forged records in ten minutes are 40 µs of CPU a minute
SCORES_MAX: Final = 4096  # chosen: as many as processes are known (`camcast.security.known_peers`)


class Fault(NamedTuple):
    """Something that a process did wrong: what it adds to a score, and up to where."""

    points: float
    most: float = inf


FORGED: Final = Fault(1.0)  # chosen: the unit; a signature was checked, for 50 µs
# chosen: a record is decoded in a tenth of that, and logged; a plug of another release may err
MALFORMED: Final = Fault(1 / 4, BARRED_ABOVE / 2)
# chosen: two questions of a few bytes; at 30 % loss one honest process in four is silent twice
BROKEN_PROMISE: Final = Fault(1 / 64, BARRED_ABOVE / 2)

_FAULTS: Final[Mapping[str, Fault]] = {
    "forged": FORGED,
    "wider": FORGED,
    "no_right": FORGED,
    "unsigned": FORGED,
    "malformed": MALFORMED,
}


def fault_in(refusal: str) -> Fault | None:
    """Return the fault of who sent what was refused for a reason; None where it is ignored.

    The bytes alone show each of these faults. The reasons are those of
    `camcast.security.refusals.Reason` and of the engine.
    """
    return _FAULTS.get(refusal)


class _Score:
    __slots__ = ("barred_until", "points", "when")

    def __init__(self, when: float) -> None:
        self.points = 0.0
        self.when = when
        """When `points` were that many."""
        self.barred_until = -inf


class Penalties:
    """The scores of processes; all times are of one clock, in seconds.

    A score belongs to a proved identity, however many connections it opens: the owner of a barred
    one needs another certified key to come back.
    """

    def __init__(self) -> None:
        self._scores: dict[PeerId, _Score] = {}
        """By process; the one with the latest fault comes last."""

    def add(self, peer: PeerId, fault: Fault, now: float) -> bool:
        """Raise the score of a process by a fault; return whether the process is barred by it."""
        score = self._scores.pop(peer, None)
        if score is None:
            if len(self._scores) >= SCORES_MAX:
                del self._scores[next(iter(self._scores))]
            score = _Score(now)
        self._scores[peer] = score
        points = score.points * 0.5 ** (max(0.0, now - score.when) / HALF_LIFE_SECONDS)
        score.points = max(points, min(points + fault.points, fault.most))
        score.when = now
        if score.points <= BARRED_ABOVE:
            return False
        before, score.barred_until = score.barred_until, now + BARRED_SECONDS
        return before <= now

    def barred(self, peer: PeerId, now: float) -> bool:
        """Say whether a process is barred now."""
        score = self._scores.get(peer)
        return score is not None and now < score.barred_until
