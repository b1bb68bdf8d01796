"""The liveness service: one heartbeat a peer and period, whatever the two processes share.

Theory of operation
-------------------
Each part of a process (a membership, the links) has a `PartLiveness`, its end of the service. A
peer has one entry, with the parts that *watch* it or only *listen* to it; the shortest period
and the shortest silence of these parts count.

*Signs of life.* The node names the sender of every record (`heard`). A record that was passed on
names the process that it was passed on for, which was alive a walk ago; it does not count where
links prove who is at their other end.

*Heartbeats.* Once a period every watched peer gets a `Heartbeat`. Its receiver answers, unless the
receiver has sent a heartbeat of its own since the sender's last one. Two processes that watch
each other send one record each a period, and so do one that watches and one that only answers.
An answer is not answered. A part that is told something which cannot wait for a period has the
heartbeat answered in any case (`reply`).

*Events in place of heartbeats.* An event is a sign of life as well. A process sends no heartbeat
to a peer that it has just sent an event, as long as it hears of the peer without asking: the peer
sends heartbeats, in turn, to whoever sends it events, even if its parts only listen. Where events
flow one way, one record a period is left of two, and none where they flow both ways. Piggybacked
messages are sent regardless.

*Piggybacked messages.* Heartbeats and answers carry messages of the parts that the sender has in
the peer: a small message of a part, of the kind and for the group it would otherwise be sent in, or
empty for "I watch you as a member of this group". A part's piggybacked message goes along when the
part asks for it (`tell`), and otherwise in one heartbeat of `AGAIN`: two processes that share a
hundred topics rarely have news about any one of them. A receiver that is not in the group says so
in its answer (`gone`), and the watching part learns it (`Watcher.peer_gone`). For `LEFT_SECONDS`
after it left a group, a process says so in each answer: a peer that its goodbye did not reach would
notice only with its next piggybacked message. The watching part learns it, too, when another
process answers at the peer's address, since it took over the port of one that died.

*Suspicion* (after A. Dadgar, J. Phillips, J. Currey, "Lifeguard: local health awareness for more
accurate failure detection", DSN-W 2018, which builds on SWIM). A peer of which nothing was heard
for its entry's silence is *suspect*. No part is told yet: events still go to the peer. It is sent
heartbeats, even if the parts only listen to it, and `HELPERS` other peers, if possible at other
hosts than these two, are asked with a `Probe` whether it lives. A helper tries for itself, and
tells with a `Verdict` what it found: that the peer lives, which ends the suspicion, or that the
helper cannot reach it either. With C such
confirmations of k live helpers a suspicion lasts

    high - (high - low) * log(C + 1) / log(k + 1)

(Lifeguard, 4.2), and the parts are then told that the peer is silent. They are told once more when
a record of it arrives. The unit of these times is a third of the entry's silence; `low` and `high`
are in `_patience`. A peer that helpers reach and this process does not is given up after
`UNREACHED` units, so that a cut between just two processes does not last for ever in tables.

*Local health* (Lifeguard, 4.1 and 4.3). When more than half of the watched peers are suspect at
once, or this process stood still for longer than a period, the cause is rather this process.
`high` is then multiplied, by one more with each such period up to `HEALTH_MAX`, and by one less
with each other period. Only helpers, which it hears, then convince this process that a peer is
gone. If nobody is left to ask, each part learns that all are silent and can look for others; so
does a part whose own peers are all suspect. The time in which this process stood still counts as
nobody's silence, and no helper whose errand was late confirms anything.

*Deaf.* A process that watches peers, and receives no frame of anybody for `DEAF_SILENCES` silences,
is *deaf*: it may be that frames leave it and none gets in, as behind a firewall. Unlike isolation,
this does not need a peer that was ever heard of. It ends with the next frame, and only then: the
membership may meanwhile give its peers up for others, which it does not hear either.

*Doubts.* Anybody can say in another's name that it has left a group. A peer is asked
before a part learns that it is gone (`camcast.engine.questions`). So is a peer that is said to be
elsewhere, where no record proves an address; its messages from there are dropped meanwhile.

*Hostile peers.* Entries come from this process's own parts alone. A stranger's heartbeat draws one
answer of about its size, and `PIGGYBACKED_MAX` piggybacked messages of it are read. What a `Probe`
draws is bounded too (`camcast.engine.errands`). Verdicts count only from peers that were asked.
Lies in them shorten a suspicion to `low` if all helpers lie, and lengthen it to `UNREACHED`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice
from math import inf, log
from random import Random
from typing import Final, NamedTuple

from attrs import define, field
from typing_extensions import override

from camcast.doors.contained import Containment
from camcast.doors.liveness import Liveness, Watcher
from camcast.engine.errands import PROBE_UNITS, Errands
from camcast.engine.group_tallies import GroupTallies
from camcast.engine.helper_candidates import HelperCandidates
from camcast.engine.liveness_messages import (
    PIGGYBACKED_BYTES_MAX,
    PIGGYBACKED_MAX,
    Answer,
    GroupTally,
    Heartbeat,
    Here,
    Piggybacked,
    Probe,
    Question,
    Verdict,
    page_of,
)
from camcast.engine.questions import NONCE_BYTES, Asked, Questions
from camcast.vocabulary.happenings import NO_GROUP
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.streams import jittered
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind

AGAIN: Final = 10  # chosen: periods; at 30 % loss a part is heard of within 30 with 0.97
LEFT_SECONDS: Final = 10.0  # chosen: as many heartbeats as a message waits: by then one has come
LATE: Final = 0.85  # chosen: the share of a period after which a heartbeat is due: jitter is 0.1
UNASKED: Final = 1.2  # chosen: periods; the peer's come every 0.9 to 1.1 (jitter), late by a tenth
SILENCE_UNITS: Final = 3  # chosen: at 30 % loss three in a row are lost once in 37 times
HELPERS: Final = 3  # [Lifeguard 4.2: K = 3] who is asked about a suspect
LOW_MAX: Final = 5.0  # chosen: units that a suspect has at most, also among very many
LOW_MIN: Final = 2.0  # chosen: 15 s without helpers outlast TCP's pauses of 13 s at 30 % loss
HIGH_FACTOR: Final = 6.0  # [Lifeguard 4.2: beta = 6]
# chosen: units. At 30 % loss TCP is silent for as long once in 15,000 segments (0.3^8).
UNREACHED: Final = 60
HEALTH_MAX: Final = 8  # [Lifeguard 4.1: S = 8]
DEAF_SILENCES: Final = 3  # chosen: told before a peer that never answers is given up, after 5
ATTACHED_MAX: Final = 64  # chosen: three views; as many connections as a small limit has room for
WATCHED_MIN: Final = 3  # chosen: that one or two peers are silent says nothing of this process

_ALIVE: Final = Heartbeat(()), Answer((), ())  # what is said where nothing is repaired

OnPiggybacked = Callable[[Contact, int, GroupId, bytes, float], bool]
"""Gives a piggybacked message to a part of this process; False if it is not in that group."""


class _Terms(NamedTuple):
    """The terms on which the parts of an entry together watch a peer; see `Entry`."""

    watched: bool
    period: float
    silence: float
    soonest: float
    """The time after which the peer gets a heartbeat if it is suspect."""
    groups: tuple[GroupId, ...]


@define(eq=False)
class Entry:
    """The state of one peer."""

    contact: Contact
    began: float
    """Since when there is this entry."""
    heard: float
    """When the peer was last heard of; before its first record as `began`."""
    parts: dict[PartLiveness, bool] = field(factory=dict)
    """The parts that watch the peer (True) or listen to it (False)."""
    sent: float = -inf
    spoken: bool = False
    """Whether a heartbeat was sent to the peer since its last one."""
    answered: float = -inf
    """When the peer's last answer came."""
    event_sent: float = -inf
    """When the peer was last sent an event; the outlet of events notes it here."""
    event_heard: float = -inf
    """When the peer's last event came; the intake notes it here, and in `heard`."""
    silent: bool = False
    """Whether the parts were told that the peer is silent."""
    vouched: float = -inf
    """When a helper last said that the peer lives."""
    helpers: dict[PeerId, bool] = field(factory=dict)
    """The helpers asked about this suspect, and whether each said that it cannot reach it
    either."""
    due: dict[PartLiveness, float] = field(factory=dict)
    """When the piggybacked message of each part goes along again at the latest; the part whose
    message went along longest ago comes first."""
    _terms: _Terms | None = None

    @property
    def watched(self) -> bool:
        """Whether any part watches the peer."""
        return self.terms().watched

    @property
    def period(self) -> float:
        """The shortest period of the parts."""
        return self.terms().period

    @property
    def silence(self) -> float:
        """The shortest silence of the parts."""
        return self.terms().silence

    @property
    def groups(self) -> tuple[GroupId, ...]:
        """The groups of the memberships among the parts."""
        return self.terms().groups

    @property
    def unit(self) -> float:
        """The unit of the times of a suspicion, in seconds."""
        return self.silence / SILENCE_UNITS

    @property
    def met(self) -> bool:
        """Whether the peer was heard of at all: one that was not says nothing of this process."""
        return self.heard > self.began

    def is_due(self, now: float, *, suspect: bool) -> bool:
        """Say whether the peer, which may be suspect, is to get a heartbeat now."""
        terms = self.terms()
        period = terms.soonest if suspect else terms.period
        if now - self.sent < LATE * period:
            return False
        return suspect or (
            not self._events_suffice(now, period)
            if terms.watched
            else now - self.event_heard <= period
        )

    def has_spoken(self, now: float) -> bool:
        """Say whether the peer, whose heartbeat came, knows without an answer of this process."""
        lately = now - UNASKED * self.period
        return (self.spoken and self.sent >= lately) or self.event_sent >= lately

    def _events_suffice(self, now: float, period: float) -> bool:
        """Say whether a watched peer needs no heartbeat: each hears of the other without."""
        return (
            now - self.event_sent <= LATE * period
            and now - self.heard <= UNASKED * period
            and self.heard != self.answered  # nobody has to ask it
            and min(self.due.values()) > now
        )

    def suspected_for(self, now: float) -> float:
        """Return for how many seconds the peer has been suspect; negative if it is not."""
        last = self.heard if self.heard >= self.vouched else self.vouched
        return now - last - self.terms().silence

    def parts_changed(self) -> None:
        """Follow a change of the parts, when somebody asks: mostly several change at once."""
        self._terms = None

    def terms(self) -> _Terms:
        """Return the terms on which the parts together watch the peer."""
        terms = self._terms
        if terms is None:
            parts = self.parts
            period = min((part.period for part in parts), default=inf)
            silence = min((part.silence for part in parts), default=inf)
            terms = self._terms = _Terms(
                any(parts.values()),
                period,
                silence,
                min(period, silence / SILENCE_UNITS),
                tuple(part.group for part in parts if part.kind == Kind.MEMBERSHIP),
            )
        return terms


class LivenessService:
    """Watches the peers of one process; see the module's theory of operation."""

    def __init__(
        self,
        outlet: ControlOutlet,
        rng: Random,
        on_piggybacked: OnPiggybacked,
        tallies: GroupTallies | None = None,
        *,
        nonces: Random | None = None,
        addresses_signed: bool = False,
    ) -> None:
        """Nonces of questions are drawn from `nonces`, or from `rng` without it.

        With `addresses_signed`, each process has signed the address in its contact.
        """
        self._outlet = outlet
        self._rng = rng
        self._errands = Errands(outlet)
        self.questions: Questions[PartLiveness] = Questions(outlet, nonces or rng)
        """The open questions of all parts."""
        self._addresses_signed = addresses_signed
        self._on_piggybacked = on_piggybacked
        self._tallies = tallies
        self._changing: dict[GroupId, bytes] = {}  # the tallies that `_plain` has
        self._plain: dict[tuple[GroupId, ...], tuple[Heartbeat, Answer]] = {}
        """The messages without piggybacked ones, by the groups that a peer shares."""
        self._parts: dict[GroupId, list[PartLiveness]] = {}
        self._left = OrderedDict[GroupId, float]()  # the groups left recently, and when
        self.entries: dict[PeerId, Entry] = {}
        """The state of each peer; the intake notes signs of life here."""
        self._interval = inf  # the length of the period under way, infinite if there is none
        self._timer = 0  # the number of its timer; those before cannot be taken back
        self.health = 1
        """The factor of `high`."""
        self.isolated = False
        """Whether every watched peer was suspect at the end of the last period that watched any."""
        self.frame_at = -inf
        """When the last frame of anybody arrived; the node notes it here."""
        self._listened_at = -inf  # when the last period ended
        self._unheard_seconds = 0.0  # periods with watched peers since the last frame
        self._deaf_at = -inf  # when the last period of a deaf process ended
        self.given_up: dict[PeerId, None] = {}
        """Peers reported silent to the parts, until the node has announced it."""
        self.pauses = 0
        """How often this process did not run for longer than a period."""
        self.paused_seconds = 0.0
        """How long these pauses were together."""

    def part(
        self, kind: Kind, group: GroupId, containment: Containment | None = None
    ) -> PartLiveness:
        """Make the end of the service of one part of this process; that of a plug is contained."""
        self._left.pop(group, None)
        part = PartLiveness(self, int(kind), group, containment)
        self._parts.setdefault(group, []).append(part)
        return part

    def close(self, group: GroupId, now: float) -> None:
        """Stop watching for a group that was left."""
        self._forget_left(now)
        self._left[group] = now
        for part in self._parts.pop(group, ()):
            self._end(part)

    def close_part(self, part: PartLiveness) -> None:
        """Stop watching for one part of a group that is not left."""
        self._parts[part.group].remove(part)
        self._end(part)

    def _end(self, part: PartLiveness) -> None:
        part.closed = True
        for peer in list(part.peers):
            self.remove(part, peer)

    def _forget_left(self, now: float) -> None:
        while self._left and now - next(iter(self._left.values())) > LEFT_SECONDS:
            self._left.popitem(last=False)

    # -- what others read ------------------------------------------------------------------

    def watched(self) -> int:
        """Count the peers that get heartbeats."""
        return sum(entry.watched for entry in self.entries.values())

    @property
    def deaf(self) -> bool:
        """Whether no frame has arrived for `DEAF_SILENCES` silences, though peers were watched."""
        return self.frame_at < self._deaf_at

    def contact(self, peer: PeerId) -> Contact | None:
        """Return the contact of a process that a part watches or listens to; None of another."""
        entry = self.entries.get(peer)
        return None if entry is None else entry.contact

    def can_hold(self, part: PartLiveness, contact: Contact) -> bool:
        """See `Liveness.can_hold`."""
        if contact.is_dialable or contact.peer in part.peers:
            return True
        attached = (not self.entries[peer].contact.is_dialable for peer in part.peers)
        return self._outlet.me.meets(contact) and sum(attached) < ATTACHED_MAX

    def suspects(self, now: float) -> int:
        """Count the watched peers that are suspect, and not given up yet."""
        return sum(
            entry.watched and not entry.silent and entry.suspected_for(now) > 0
            for entry in self.entries.values()
        )

    # -- inputs: each says whether it has told a part of a peer ----------------------------

    def heard(self, peer: PeerId, now: float) -> bool:
        """Take a sign of life: a record has arrived from this peer."""
        if self._errands.under_way:
            self._errands.heard(peer)
        entry = self.entries.get(peer)
        if entry is not None:
            entry.heard = now
            if entry.silent:
                entry.silent = False
                for part in list(entry.parts):
                    part.watcher.peer_back(entry.contact, now)
                return True
        return False

    def give_up(self, peer: PeerId, now: float) -> bool:
        """Tell the parts that a peer is silent, whatever is heard of it."""
        entry = self.entries.get(peer)
        if entry is None or entry.silent:
            return False
        self._tell_silent(entry, now)
        return True

    def on_standstill(self, seconds: float, now: float) -> bool:
        """Count it as nobody's silence that this process did not run; say if that was for long.

        After more than a period, the next begins at once: others wait for heartbeats.
        """
        for entry in self.entries.values():
            entry.began = min(now, entry.began + seconds)
            entry.heard = min(now, entry.heard + seconds)
            entry.vouched = min(now, entry.vouched + seconds)
        if seconds <= self._interval:
            return False
        self.pauses += 1
        self.paused_seconds += seconds
        self.health = min(HEALTH_MAX, self.health + 1 + int(seconds / self._interval))
        self._begin_period(0.0)
        return True

    def receive(self, source: Contact, message: Message, now: float) -> bool:
        """Take a heartbeat or an answer; `heard` has recorded that the sender is alive."""
        if isinstance(message, Heartbeat | Answer):  # nearly always
            self._take_heartbeat(source, message, now)
            return False
        if isinstance(message, Probe):
            entry = self.entries.get(message.contact.peer)
            heard = -inf if entry is None else entry.heard
            watched = entry is not None and entry.watched
            if (
                entry is not None or message.contact.is_dialable
            ):  # else it may be attached to others
                self._errands.take(source, message, now, heard, watched=watched)
            return False
        if isinstance(message, Verdict):
            return self._on_verdict(source.peer, message, now)
        if isinstance(message, Question):
            named = GroupId(message.group)
            if not named or self._on_piggybacked(source, Kind.MEMBERSHIP, named, b"", now):
                self._outlet.send([source], Here(message.nonce[:NONCE_BYTES]))
            return False
        assert isinstance(message, Here), "the decoder gives no others"
        return self.questions.answered(source, message.nonce, now)

    def _take_heartbeat(self, source: Contact, message: Heartbeat | Answer, now: float) -> None:
        gone: tuple[tuple[int, bytes], ...] = ()
        if message.piggybacked:
            gone = tuple(
                (kind, group)
                for kind, group, body in message.piggybacked[:PIGGYBACKED_MAX]
                if not self._on_piggybacked(source, kind, GroupId(group), body, now)
            )
        if self._left and isinstance(message, Heartbeat):
            self._forget_left(now)
            left = page_of(tuple(self._left), int(now))
            gone += tuple((int(Kind.MEMBERSHIP), one) for one in left)
        if self._tallies is not None:
            for group, tally in message.tallies[:PIGGYBACKED_MAX]:
                self._tallies.hear(source, GroupId(group), tally, message.second, now)
        entry = self.entries.get(source.peer)
        if isinstance(message, Answer):
            if entry is not None:
                entry.answered = now
            if message.gone:
                for peer in self._peers_at(source.address):
                    for kind, group in message.gone[: 2 * PIGGYBACKED_MAX]:
                        self._lose(peer, kind, group, now)
            return
        if entry is not None and entry.has_spoken(now) and not gone:
            entry.spoken = False
        else:
            if entry is None:
                answer = Answer((), gone)
            elif (piggybacked := self._to_piggyback(entry, now)) or gone:
                answer = Answer(
                    piggybacked, gone, *self._tallies_for(entry.groups, piggybacked, now)
                )
            else:
                _, answer = self._without_pieces(entry.groups, now)
            self._outlet.send([source], answer)

    def wake(self, name: tuple[Hashable, ...], now: float) -> bool:
        """Take the timer of a period, or of the end of an errand."""
        match name:
            case ("question", bytes(nonce)):
                return self._tell_gone(self.questions.unanswered(nonce), now)
            case ("errand", bytes(peer), began):
                self._errands.end(PeerId(peer), began, now, self.last_heard(PeerId(peer)))
                return False
            case ("period", timer) if timer != self._timer:
                return False
        watched = suspects = 0
        changed = False
        candidates: HelperCandidates[Entry] | None = None
        alike, receivers = Heartbeat(()), list[Contact]()  # mostly there is nothing to say to most
        for entry in list(self.entries.values()):
            if entry.silent or not entry.parts:  # a part may unwatch one when told of another
                continue
            suspect = entry.suspected_for(now) > 0
            counts = entry.watched and entry.met
            watched += counts
            if suspect:
                suspects += counts
                entry.due = dict.fromkeys(entry.due, -inf)  # the peer may have given it up
                candidates = candidates or self._helper_candidates(now)
                self._ask_helpers(entry, candidates, now)
                changed = self._judge(entry, now) or changed
            elif entry.helpers:
                entry.helpers.clear()
            if entry.is_due(now, suspect=suspect):
                entry.sent, entry.spoken = now, True
                if piggybacked := self._to_piggyback(entry, now):
                    heartbeat = Heartbeat(
                        piggybacked, *self._tallies_for(entry.groups, piggybacked, now)
                    )
                else:
                    heartbeat, _ = self._without_pieces(entry.groups, now)
                if heartbeat != alike:
                    self._outlet.send(receivers, alike)
                    receivers, alike = [], heartbeat
                receivers.append(entry.contact)
        self._outlet.send(receivers, alike)
        if watched:
            unwell = watched >= WATCHED_MIN and 2 * suspects > watched
            self.health = max(1, min(HEALTH_MAX, self.health + (1 if unwell else -1)))
            self.isolated = suspects == watched
        self._note_hearing(now)
        if suspects:
            cut_off = self._cut_off(now, everybody=suspects == watched)
            for part in cut_off:
                part.watcher.all_silent(now)
            changed = changed or bool(cut_off)
        self._schedule(min((entry.terms().soonest for entry in self.entries.values()), default=inf))
        return changed

    def _note_hearing(self, now: float) -> None:
        """Find out at the end of a period whether this process is deaf."""
        if self.frame_at >= self._listened_at:
            self._unheard_seconds = 0.0
        else:
            watched = (entry.silence for entry in self.entries.values() if entry.watched)
            if (silence := min(watched, default=inf)) < inf:
                self._unheard_seconds += self._interval
            if self._unheard_seconds >= DEAF_SILENCES * silence:
                self._deaf_at = now
        self._listened_at = now

    # -- suspicion -------------------------------------------------------------------------

    def _cut_off(self, now: float, *, everybody: bool) -> list[PartLiveness]:
        """Return the parts that hear of none of their peers: all if all peers are suspect."""
        if everybody:
            return [part for parts in self._parts.values() for part in parts]
        hears: dict[PartLiveness, bool] = {}
        for entry in self.entries.values():
            if entry.met and not entry.silent:
                alive = entry.suspected_for(now) <= 0
                for part, watches in entry.parts.items():
                    if watches:
                        hears[part] = hears.get(part, False) or alive
        return [part for part, hears_one in hears.items() if not hears_one]

    def _live_helpers(self, entry: Entry, now: float) -> list[Entry]:
        """Return those that were asked about a suspect, and are not suspect themselves."""
        asked = [self.entries.get(peer) for peer in entry.helpers]
        return [one for one in asked if one is not None and one.suspected_for(now) <= 0]

    def _helper_candidates(self, now: float) -> HelperCandidates[Entry]:
        alive = (
            one
            for one in self.entries.values()
            if one.met and one.silence < inf and one.suspected_for(now) <= 0
        )
        ranked = sorted(alive, key=lambda one: one.heard, reverse=True)
        return HelperCandidates(ranked, self._outlet.me.address)

    def _ask_helpers(self, entry: Entry, candidates: HelperCandidates[Entry], now: float) -> None:
        """Ask helpers about a suspect: the best, and again those without an answer."""
        helpers = self._live_helpers(entry, now)
        if len(helpers) < HELPERS:
            others = (
                one
                for one in candidates.best_for(entry.contact)
                if one.parts and one.contact.peer not in entry.helpers
            )
            helpers += islice(others, HELPERS - len(helpers))
        # A helper that is asked later, since the first ones died too, has less time.
        units = max(SILENCE_UNITS, PROBE_UNITS - entry.suspected_for(now) / entry.unit)
        probe = Probe(entry.contact, units * entry.unit)
        unanswered = [
            helper.contact
            for helper in helpers
            if not entry.helpers.setdefault(helper.contact.peer, False)
        ]
        self._outlet.send(unanswered, probe)

    def _patience(self, entry: Entry, now: float) -> float:
        """Return how long a suspicion lasts, in seconds."""
        size = max(part.watcher.size() for part in entry.parts)
        low = max(LOW_MIN, min(LOW_MAX, log(max(1.0, size))))
        high = HIGH_FACTOR * low * self.health
        helpers = self._live_helpers(entry, now)
        if helpers:
            confirmed = sum(entry.helpers[helper.contact.peer] for helper in helpers)
            high -= (high - low) * log(confirmed + 1) / log(len(helpers) + 1)
        return high * entry.unit

    def _judge(self, entry: Entry, now: float) -> bool:
        """Tell the parts that a suspect is silent if it has been suspect for too long."""
        unreached = entry.vouched > entry.heard and now - entry.heard > UNREACHED * entry.unit
        if not unreached and entry.suspected_for(now) <= self._patience(entry, now):
            return False
        self._tell_silent(entry, now)
        return True

    def _tell_silent(self, entry: Entry, now: float) -> None:
        entry.silent = True
        self.given_up[entry.contact.peer] = None
        for part in list(entry.parts):
            part.watcher.peer_silent(entry.contact, now)

    def _on_verdict(self, helper: PeerId, verdict: Verdict, now: float) -> bool:
        """Take what a helper found."""
        entry = self.entries.get(verdict.peer)
        if entry is None or entry.silent or helper not in entry.helpers:
            return False
        if verdict.alive:
            entry.vouched = now
            entry.helpers.clear()
            return False
        entry.helpers[helper] = True
        return entry.suspected_for(now) > 0 and self._judge(entry, now)

    # -- inside ----------------------------------------------------------------------------

    def _to_piggyback(self, entry: Entry, now: float) -> tuple[Piggybacked, ...]:
        """Collect what the parts that share a peer have for it; what does not fit, waits."""
        if min(entry.due.values(), default=inf) > now:  # mostly
            return ()
        due = [part for part, when in entry.due.items() if when <= now][:PIGGYBACKED_MAX]
        piggybacked, room = [], PIGGYBACKED_BYTES_MAX
        for part in due:
            if room <= 0:
                break
            if entry.due.pop(part, None) is None:
                continue  # a part before it has unwatched the peer for it
            entry.due[part] = now + AGAIN * entry.period
            message = part.watcher.heartbeat(entry.contact, now)
            if message is not None or entry.parts[part]:
                body = b"" if message is None else encode(message)
                piggybacked.append((part.kind, part.group, body))
                room -= len(part.group) + len(body)
        return tuple(piggybacked)

    def _without_pieces(self, shared: tuple[GroupId, ...], now: float) -> tuple[Heartbeat, Answer]:
        """Return what is said to a peer for which no part has a piggybacked message.

        They are the same objects for as long as they say the same, so that each is encoded once.
        """
        if self._tallies is None:
            return _ALIVE
        if (changing := self._tallies.changing(now)) is not self._changing:  # once a second
            self._changing = changing
            self._plain.clear()
        said = self._plain.get(shared)
        if said is None:
            tallies = self._tallies_for(shared, (), now)
            said = self._plain[shared] = Heartbeat((), *tallies), Answer((), (), *tallies)
        return said

    def _tallies_for(
        self, shared: Iterable[GroupId], piggybacked: Sequence[Piggybacked], now: float
    ) -> tuple[tuple[GroupTally, ...], int]:
        """Return what goes along with these messages of the memberships shared with a peer."""
        if self._tallies is None:
            return (), 0
        named = (GroupId(group) for kind, group, _ in piggybacked if kind == Kind.MEMBERSHIP)
        return self._tallies.between(shared, named, now)

    def _peers_at(self, address: str) -> list[PeerId]:
        """Return the peers that are known at an address: who answers there speaks for them all.

        The heartbeat may have been for a process whose port the answering one took over.
        """
        return [peer for peer, one in self.entries.items() if one.contact.address == address]

    def _lose(self, peer: PeerId, kind: int, group: bytes, now: float) -> None:
        """Doubt that a peer is in the group of the part of this kind and group."""
        entry = self.entries.get(peer)
        for part in self._parts.get(GroupId(group), ()):
            if entry is not None and part.kind == kind and part in entry.parts:
                self.questions.doubt(part, entry.contact, part.group, now)

    def _tell_gone(self, asked: Asked[PartLiveness] | None, now: float) -> bool:
        """Tell the part that doubted a process, or all that have it at an address in doubt."""
        if asked is None:
            return False
        entry = self.entries.get(asked.contact.peer)
        if asked.part is not None:
            parts = [] if asked.part.closed else [asked.part]
        else:
            parts = [] if entry is None or entry.contact != asked.contact else list(entry.parts)
        for part in parts:
            part.watcher.peer_gone(asked.contact, now)
        return bool(parts)

    def is_elsewhere(self, source: Contact, now: float) -> bool:
        """Say whether a message comes from another address than its sender is known to have.

        The known address is asked then; if nobody answers, the parts forget it.
        """
        entry = self.entries.get(source.peer)
        if entry is None or self._addresses_signed or entry.contact.address == source.address:
            return False
        self.questions.doubt(None, entry.contact, NO_GROUP, now)
        return True

    def enter(self, part: PartLiveness, contact: Contact, watching: bool, now: float) -> None:
        """Let a part watch a peer or listen to it."""
        entry = self.entries.get(contact.peer)
        if entry is None:
            entry = self.entries[contact.peer] = Entry(contact, now, now)
        if not self.is_elsewhere(contact, now):
            entry.contact = contact
        if part not in entry.parts and entry.silent:
            entry.silent, entry.heard = False, now  # this part has not been told
            entry.helpers.clear()
        if entry.parts.get(part) is not watching:
            entry.parts[part] = watching
            part.peers[contact.peer] = None
            entry.due[part] = -inf
            entry.parts_changed()
            if (interval := min(part.period, part.silence / SILENCE_UNITS)) < self._interval:
                self._schedule(interval)

    def remove(self, part: PartLiveness, peer: PeerId) -> None:
        """Let a part watch a peer and listen to it no more."""
        entry = self.entries.get(peer)
        if entry is not None and entry.parts.pop(part, None) is not None:
            del entry.due[part], part.peers[peer]
            entry.parts_changed()
            if not entry.parts:
                del self.entries[peer]

    def tell(self, part: PartLiveness, peer: PeerId) -> Entry | None:
        """See `Liveness.tell`; return the peer's entry if the part is in it."""
        entry = self.entries.get(peer)
        if entry is None or part not in entry.parts:
            return None
        entry.due[part] = -inf
        return entry

    def last_heard(self, peer: PeerId) -> float:
        """Return the time of the last record from a peer that is watched or listened to."""
        entry = self.entries.get(peer)
        return -inf if entry is None else entry.heard

    def last_heard_from(self, address: str) -> float:
        """Return the time of the last record from any of the peers known at an address."""
        return max((self.entries[peer].heard for peer in self._peers_at(address)), default=-inf)

    def _schedule(self, interval: float) -> None:
        """Begin a period of this length, in place of the one under way."""
        self._interval = interval
        if interval < inf:
            self._begin_period(jittered(interval, self._rng))

    def _begin_period(self, pause: float) -> None:
        self._timer += 1
        self._outlet.wake(pause, "period", self._timer)


class PartLiveness(Liveness):
    """One part's end of the service; see `camcast.doors.liveness.Liveness`."""

    def __init__(
        self, service: LivenessService, kind: int, group: GroupId, containment: Containment | None
    ) -> None:
        self.kind = kind
        self.group = group
        self.watcher = Watcher()
        self.period = inf
        self.silence = inf
        self.closed = False
        self.peers: dict[PeerId, None] = {}
        """The peers that the part watches or listens to."""
        self._service = service
        self._containment = containment

    @override
    def report_to(
        self, watcher: Watcher, period_seconds: float = 1.0, silent_seconds: float = 3.0
    ) -> None:
        if not (period_seconds > 0 and silent_seconds > 0):  # nor nan
            raise ValueError(f"not a time: {period_seconds} or {silent_seconds} seconds")
        if self._containment is not None:
            watcher = self._containment.contain(Watcher, watcher)
        self.watcher, self.period, self.silence = watcher, period_seconds, silent_seconds

    @override
    def watch(self, contact: Contact, now: float) -> None:
        if not self.closed:
            self._service.enter(self, contact, True, now)

    @override
    def listen(self, contact: Contact, now: float) -> None:
        if not self.closed:
            self._service.enter(self, contact, False, now)

    @override
    def unwatch(self, peer: PeerId) -> None:
        self._service.remove(self, peer)

    @override
    def close(self) -> None:
        if not self.closed:
            self._service.close_part(self)

    @override
    def tell(self, peer: PeerId) -> None:
        self._service.tell(self, peer)

    @override
    def reply(self, peer: PeerId) -> None:
        entry = self._service.tell(self, peer)
        if entry is not None:
            entry.spoken, entry.event_sent = False, -inf

    @override
    def doubt(self, contact: Contact, now: float, group: GroupId | None = None) -> None:
        asked = self.group if group is None else group
        self._service.questions.doubt(self, contact, asked, now)

    @override
    def prove(self, contact: Contact, now: float, then: Callable[[float], None]) -> None:
        if self._containment is not None:
            then = self._containment.callback("prove", then)
        self._service.questions.prove(contact, now, then)

    @override
    def can_hold(self, contact: Contact) -> bool:
        return self._service.can_hold(self, contact)

    @override
    def met(self, peer: PeerId) -> bool:
        entry = self._service.entries.get(peer)
        return entry is not None and entry.met

    @override
    def heard(self, peer: PeerId) -> float:
        return self._service.last_heard(peer)
