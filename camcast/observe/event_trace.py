"""The fate of one event: its publisher, its way, its receivers, and why somebody lacks it.

Every process that is asked gives an `Account` of itself, of its communities, and of the moments
that it remembers. `explain` puts the accounts together. Those of running processes come through
their control sockets (`camcast.live`), those of a finished run from its traces
(`camcast.research.runs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec
from attrs import frozen

from camcast.vocabulary.topics import Topic

Reason = Literal[
    "published",
    "delivered",
    "no_subscription",
    "filtered",
    "queue_full",
    "not_interested",
    "not_joined",
    "left",
    "out_of_retention",
    "paused",
    "refused",
    "dropped_at_pipe",
    "partitioned",
    "link_dead",
    "lost_on_the_way",
    "gone",
    "unknown",
]
"""Why a process has an event or lacks it, in a word for programs."""

_CUT_OFF: Final = {"isolated": True, "healed": False, "deafened": True, "hears": False}
"""Whether nothing reached the process after a moment of this kind."""
_HAVE: Final = ("publish", "receive", "deliver")


class Moment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that happened to consecutive events of a stream; without events, to the process.

    The kinds are those that the ring remembers (`camcast.vocabulary.happenings`), by the name of
    their trace record if they have one.
    """

    when: float
    """In seconds, by a clock that all accounts share."""
    kind: str
    community: str = ""
    event: str = ""
    """The identifier of the first event."""
    count: int = 0
    peer: str = ""
    """The other process, in hexadecimal."""
    address: str = ""
    """The address at the pipe that dropped it."""
    topic: str = ""
    hops: int = 0
    seconds: float = 0.0

    def covers(self, event: str) -> bool:
        """Say whether an event is among these."""
        stream, _, sequence = event.rpartition("-")
        of, _, first = self.event.rpartition("-")
        return of == stream and int(first) <= int(sequence) < int(first) + max(1, self.count)


class CommunityAccount(msgspec.Struct, frozen=True):
    """A process's account of an event in a community that it is in, or is joining."""

    topic: str
    joined: bool
    knows: bool
    """Whether it has had the event, even before the moments that it remembers."""
    subscriptions: int
    links: dict[str, int]
    """The number of super-processes that it knows, by super-topic."""


class Account(msgspec.Struct, frozen=True):
    """One process's account of an event."""

    name: str
    """The place where it was asked."""
    peer: str = ""
    address: str = ""
    communities: tuple[CommunityAccount, ...] = ()
    known: tuple[str, ...] = ()
    """The processes in its tables, and those that have it in theirs, in hexadecimal."""
    moments: tuple[Moment, ...] = ()
    """The moments of the event that the process remembers, in order."""
    life: tuple[Moment, ...] = ()
    """The moments of its own life that the process remembers."""
    stopped: bool = False
    error: str = ""
    """Why it gave no account."""

    def community(self, topic: str) -> CommunityAccount | None:
        """Return its account of a community."""
        return next((one for one in self.communities if one.topic == topic), None)

    def has(self, topic: str) -> bool:
        """Say whether it has had the event in a community."""
        of = self.community(topic)
        moments = any(one.kind in _HAVE and one.community == topic for one in self.moments)
        return moments or (of is not None and of.knows)


@frozen
class Step:
    """One message that brought the event to a process that did not have it."""

    seconds: float | None
    """After the publication, if that is known."""
    sender: str
    receiver: str
    community: str
    hops: int


@frozen
class Verdict:
    """Whether a process got the event in one community, and why."""

    process: str
    peer: str
    community: str
    has: bool | None
    """None: it could not be asked."""
    reason: Reason
    says: str


@frozen
class Explanation:
    """The fate of an event."""

    event: str
    topic: str
    """Empty if nobody remembers it."""
    publisher: str
    published: float | None
    """When; None if nobody remembers it."""
    way: tuple[Step, ...]
    verdicts: tuple[Verdict, ...]


def explain(event: str, accounts: Sequence[Account]) -> Explanation:
    """Put together what became of an event."""
    moments = [one for account in accounts for one in account.moments]
    topic = next((one.topic for one in moments if one.topic), "")
    published = next((one.when for one in moments if one.kind == "publish"), None)
    case = _Case(event, topic, published, accounts)
    return Explanation(
        event, topic, event.partition("-")[0], published, tuple(case.way()), tuple(case.verdicts())
    )


@frozen
class _Case:
    event: str
    topic: str
    published: float | None
    accounts: Sequence[Account]

    def way(self) -> Iterator[Step]:
        arrivals = [
            (one, account.peer)
            for account in self.accounts
            for one in account.moments
            if one.kind == "receive"
        ]
        for one, receiver in sorted(arrivals, key=lambda arrival: arrival[0].when):
            yield Step(self._after(one.when), one.peer, receiver, one.community, one.hops)

    def verdicts(self) -> Iterator[Verdict]:
        for account in self.accounts:
            if account.error:
                reason: Reason = "paused" if account.stopped else "gone"
                yield Verdict(account.name, account.peer, "", None, reason, account.error)
                continue
            topics = self._communities_of(account)
            for topic in topics:
                has, reason, says = self._verdict(account, topic)
                yield Verdict(account.name, account.peer, topic, has, reason, says)
            if not topics:
                says = f"it is in no community of {self.topic} or above it"
                if not self.topic:
                    says = "nobody remembers the topic of the event, and it has not had the event"
                yield Verdict(account.name, account.peer, "", False, "not_interested", says)

    def _communities_of(self, account: Account) -> list[str]:
        """Return the communities, also former ones, in which a process should have the event."""
        names = [one.topic for one in account.communities]
        names += [one.community for one in account.life if one.kind == "leave"]
        distinct = dict.fromkeys(name for name in names if name)
        return [
            name
            for name in distinct
            if (self.topic and _includes(name, self.topic)) or account.has(name)
        ]

    def _after(self, when: float) -> float | None:
        return None if self.published is None else when - self.published

    # -- one process in one community -------------------------------------------------------

    def _verdict(self, account: Account, topic: str) -> tuple[bool, Reason, str]:
        of = account.community(topic)
        if any(one.kind == "publish" for one in account.moments):
            return True, "published", "published it"
        if account.has(topic):
            return (True, *self._delivery(account, topic, of))
        return (False, *self._lack(account, topic, of))

    def _delivery(
        self, account: Account, topic: str, of: CommunityAccount | None
    ) -> tuple[Reason, str]:
        moments = [one for one in account.moments if one.community == topic]
        lagged = sum(one.kind == "lagged" for one in moments)
        filtered = sum(one.kind == "filtered" for one in moments)
        subscriptions = 0 if of is None else of.subscriptions
        if lagged:
            return "queue_full", f"{lagged} subscriptions were too slow: their queues were full"
        if of is not None and not subscriptions:
            return "no_subscription", "it arrived, and there is no subscription"
        if filtered and filtered >= subscriptions:
            return "filtered", "it arrived, and matches no subscription's interest (where)"
        came = next((one for one in moments if one.kind == "receive"), None)
        after = None if came is None else self._after(came.when)
        took = "" if after is None else f" {after:.3f} s after it was published"
        return "delivered", f"it arrived{took}"

    def _lack(
        self, account: Account, topic: str, of: CommunityAccount | None
    ) -> tuple[Reason, str]:
        life = [one for one in account.life if one.community in ("", topic)]
        left, crash = _last(life, "leave"), _last(life, "crash")
        if crash is not None:
            return "gone", f"it was killed {self._when(crash.when)}"
        if of is None:
            assert left is not None, "a community is told of, or was left"
            return "left", f"it left {topic} {self._when(left.when)}"
        joined = _last(life, "join")
        if not of.joined or joined is None:
            return "not_joined", f"it has not joined {topic} yet"
        if self.published is not None and joined.when > self.published:
            return "not_joined", f"it joined {topic} {self._when(joined.when)}"
        if any(one.kind == "missed" and one.covers(self.event) for one in life):
            return "out_of_retention", "nobody keeps it any more, which its subscribers were told"
        if refused := sum(m.kind == "drop" and m.community == topic for m in account.moments):
            says = "without a valid certificate of its publisher for that (docs/security.md)"
            return "refused", f"refused by rights: {refused} copies came, {says}"
        if pause := self._pause(life):
            return "paused", f"the process did not run for {pause.seconds:.1f} s then"
        if unsent := self._unsent_to(account):
            return "dropped_at_pipe", f"dropped at the pipe to it, which was full, by {unsent}"
        if self._was_isolated(life):
            return "partitioned", "it heard nothing of any peer then"
        if below := self._unlinked_below(topic):
            return "link_dead", f"no link up to {topic} at those who have it: {below}"
        return self._lost(account)

    def _lost(self, account: Account) -> tuple[Reason, str]:
        """Say why no copy came to a process that was a member and ran."""
        holders = [
            one
            for one in self.accounts
            if one.peer and any(one.has(of.topic) for of in one.communities)
        ]
        near = [one for one in holders if one.peer in account.known or account.peer in one.known]
        if holders and not near:
            return "partitioned", "none of those who have it is in its tables, nor has it in theirs"
        sent = [
            one.name
            for one in self.accounts
            for moment in one.moments
            if moment.kind in ("send", "upward") and moment.peer == account.peer
        ]
        if sent:
            return "lost_on_the_way", f"{len(sent)} copies were sent to it and did not arrive (yet)"
        return "unknown", "no process that was asked has sent it a copy (yet)"

    def _when(self, when: float) -> str:
        after = self._after(when)
        if after is None:
            return "lately"
        return f"{abs(after):.1f} s {'after' if after >= 0 else 'before'} it was published"

    def _pause(self, life: Iterable[Moment]) -> Moment | None:
        if self.published is None:
            return None
        pauses = (one for one in life if one.kind == "paused")
        return next((p for p in pauses if p.when - p.seconds <= self.published <= p.when), None)

    def _was_isolated(self, life: Iterable[Moment]) -> bool:
        isolated = False
        for one in life:
            if self.published is not None and one.when > self.published:
                break
            isolated = _CUT_OFF.get(one.kind, isolated)
        last = _last(life, *_CUT_OFF)
        return isolated or (last is not None and _CUT_OFF[last.kind])

    def _unsent_to(self, account: Account) -> str:
        names = (
            one.name
            for one in self.accounts
            for moment in one.moments
            if moment.kind == "unsent" and moment.address == account.address
        )
        return ", ".join(dict.fromkeys(names))

    def _unlinked_below(self, topic: str) -> str:
        """Return who has the event below a community; empty if one of these has a link up."""
        if any(moment.kind == "upward" for one in self.accounts for moment in one.moments):
            return ""
        names: list[str] = []
        for account in self.accounts:
            for of in account.communities:
                if account.has(of.topic) and of.topic != topic and _includes(topic, of.topic):
                    if any(of.links.values()):
                        return ""
                    names.append(account.name)
        return ", ".join(dict.fromkeys(names))


def _includes(above: str, topic: str) -> bool:
    return Topic.parse(above).includes(Topic.parse(topic))


def _last(life: Iterable[Moment], *kinds: str) -> Moment | None:
    return next((one for one in reversed(list(life)) if one.kind in kinds), None)
