"""The base of discoveries that wait: for a file system, a name server, a registry.

Theory of operation
-------------------
A `WaitingDiscovery` has three coroutines: `enter` and `strike` write this process into a register
of members and out of it, and `find` reads the register. The base turns them into a `Discovery`.

*One after the other.* For one topic, `enter` and `strike` never run at the same time, and the last
announcement or withdrawal holds. A seek waits until this process's own entry is written: of two
processes that found a community at the same time, at least one then finds the other.

*Leases.* `enter` returns for how many seconds the entry holds, and is called again after a third of
that. A process that dies is thus forgotten. After a failure `enter` is tried again every
`RETRY_SECONDS`.

*Answers.* `find` returns all members that it knows, or some; the base leaves out this process, and
draws as many as are wanted. A `find` that raises `OSError`, or takes longer than `ANSWER_SECONDS`,
did not find out who is there: the process then does not found the community a second time. Any
other exception is a bug of the discovery, and is reported as one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from math import inf
from typing import Any, Final

from attrs import define, field, frozen
from typing_extensions import override

from camcast.doors.discovery import Discovery, DiscoveryContext, Waiting
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import Topic

ANSWER_SECONDS: Final = 8.0  # chosen: every seek is answered within nine seconds (`Discovery.seek`)
RETRY_SECONDS: Final = 2.0  # chosen: a joining process waits for ten


@frozen
class Found:
    """The members that `WaitingDiscovery.find` has found."""

    contacts: Sequence[Contact] = ()
    """All members that the register has, or some; this process may be among them."""
    size: float | None = None
    """An estimate of N_t, if there is one."""


@define(eq=False)
class _Entry:
    """The entry of this process in the register of one topic."""

    announced: bool = False
    """Whether the process is to be found."""
    written: bool = False
    """Whether `enter` or `strike` runs."""
    changed: bool = False
    """Whether `announced` has changed since that began."""
    writes: int = 0
    entering: bool = False
    """Whether the last one that began is `enter`."""
    waiting: list[int] = field(factory=list)
    """The seeks that wait for it."""


class WaitingDiscovery(Discovery):
    """The base of discoveries that wait; see the module's theory of operation.

    A subclass overrides `enter`, `strike` and `find`. These wait by `sleep` and `call`, which also
    work on virtual time; live, anything that asyncio can await may be awaited.
    """

    def __init__(self, context: DiscoveryContext) -> None:
        assert context.waiting is not None, "the driver runs coroutines"
        self._rng, self._outlet = context.rng, context.outlet
        self._waiting: Waiting = context.waiting
        self._options: Any = context.options
        self._entries: dict[Topic, _Entry] = {}
        self._seeks: dict[int, tuple[Topic, int]] = {}
        """The seeks that are not answered, by number: their topics, and how many are wanted."""
        self._numbered = 0
        self._open = self._met = self._failing = False

    # -- what a subclass decides -------------------------------------------------------------

    @abstractmethod
    async def enter(self, topic: Topic) -> float:
        """Write this process into the register of a topic, or renew what is written.

        Returns for how many seconds that holds. Raises `OSError` if it could not be written.
        """

    @abstractmethod
    async def strike(self, topic: Topic) -> None:
        """Take this process out of the register of a topic. Raises `OSError`."""

    @abstractmethod
    async def find(self, topic: Topic, wanted: int) -> Found:
        """Return the members of a topic, at least `wanted` if there are so many.

        Raises `OSError` if the register cannot be read, whose `filename` says what was asked, for
        people: an address or a folder. A register without the topic is empty.
        """

    @property
    def _me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self._outlet.me

    # -- inputs ------------------------------------------------------------------------------

    @property
    @override
    def state(self) -> str:
        return "degraded" if self._failing else "connected" if self._met else "alone"

    @override
    def open(self, datagrams: object, now: float) -> None:
        self._open = True

    @override
    def close(self, now: float) -> None:
        self._open = False
        self._entries.clear()
        self._seeks.clear()

    @override
    def moved(self, now: float) -> None:
        for topic, entry in self._entries.items():
            if entry.announced:
                self._write(topic, entry)

    @override
    def announce(self, topic: Topic, now: float) -> None:
        entry = self._entries.setdefault(topic, _Entry())
        if not entry.announced:
            entry.announced = True
            self._write(topic, entry)

    @override
    def withdraw(self, topic: Topic, now: float) -> None:
        entry = self._entries.get(topic)
        if entry is not None and entry.announced:
            entry.announced = False
            self._write(topic, entry)

    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        self._numbered += 1
        self._seeks[self._numbered] = topic, wanted
        self._outlet.wake(ANSWER_SECONDS, "late", self._numbered)
        entry = self._entries.get(topic)
        if entry is not None and entry.written:
            entry.waiting.append(self._numbered)
        else:
            self._find(self._numbered)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        match name:
            case ("late", int(number)) if number in self._seeks:
                self._answer(number, None)
            case ("renew", int(number)):
                for topic, entry in list(self._entries.items()):
                    if entry.writes == number and entry.announced and not entry.written:
                        self._write(topic, entry)

    @override
    def finished(self, name: tuple[Hashable, ...], outcome: object, now: float) -> None:
        if not self._open:
            return
        failed = isinstance(outcome, Exception)
        match name:
            case ("find", int(number)):
                if number in self._seeks:
                    place = outcome.filename if isinstance(outcome, OSError) else None
                    self._answer(number, outcome if isinstance(outcome, Found) else None, place)
                wrong = not isinstance(outcome, Found | OSError)
            case ("write", Topic() as topic):
                entered = self._entries[topic].entering
                lease = None
                if isinstance(outcome, int | float) and 0 < outcome < inf:
                    lease = float(outcome)
                self._written(topic, lease)
                wrong = not isinstance(outcome, OSError) and (lease is None if entered else failed)
        if failed:
            self._failing = True
        if wrong:  # reported as an error of the plug
            raise outcome if isinstance(outcome, Exception) else TypeError(f"not {outcome!r}")

    # -- the register ------------------------------------------------------------------------

    def _write(self, topic: Topic, entry: _Entry) -> None:
        if entry.written:
            entry.changed = True
            return
        self._numbered += 1
        entry.written, entry.writes, entry.entering = True, self._numbered, entry.announced
        write = self.enter(topic) if entry.announced else self.strike(topic)
        self._waiting.start(write, "write", topic)

    def _written(self, topic: Topic, lease_seconds: float | None) -> None:
        entry = self._entries[topic]
        entry.written = False
        if entry.changed:
            entry.changed = False
            self._write(topic, entry)
            return
        if entry.announced:
            pause = RETRY_SECONDS if lease_seconds is None else lease_seconds / 3
            self._outlet.wake(pause, "renew", entry.writes)
        else:
            del self._entries[topic]
        for number in entry.waiting:
            self._find(number)
        entry.waiting = []

    def _find(self, number: int) -> None:
        if number in self._seeks:
            self._waiting.start(self.find(*self._seeks[number]), "find", number)

    def _answer(self, number: int, found: Found | None, place: object = None) -> None:
        topic, wanted = self._seeks.pop(number)
        if found is None:
            self._failing = True
            self._outlet.found(topic, (), unreachable=(str(place or type(self).__name__),))
            return
        self._failing = False
        others = list({c.peer: c for c in found.contacts if c.peer != self._me.peer}.values())
        self._met = self._met or bool(others)
        self._rng.shuffle(others)
        self._outlet.found(topic, others[:wanted], size=found.size)
