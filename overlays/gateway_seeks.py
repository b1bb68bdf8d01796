"""Seeks under way: the questions of a process to its gateways, and their answers so far."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from random import Random

from attrs import define, field

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import Topic
from overlays.gateway_messages import SEEK_BITS


@define(eq=False)
class Seek:
    """A seek under way, of members of one community."""

    topic: Topic
    wanted: int
    silent: dict[int, str]
    """The gateways that have not answered, by the number of the question to each."""
    remembered: dict[int, str]
    """The remembered contacts that have not answered, by the number of the question to each."""
    unknown: tuple[str, ...]
    """The names of gateways that have no address so far."""
    registers: Container[str]
    """The gateways that were asked, and this process if it keeps the register itself."""
    ignorant: list[str] = field(factory=list)
    """The gateways that answered `Unknown`, and go by gateways that were not asked."""
    referring: list[str] = field(factory=list)
    """The gateways that answered `Unknown`, and go by `registers` only."""
    nobody: list[str] = field(factory=list)
    """The gateways that answered `Nobody`."""
    named: list[tuple[Contact, ...]] = field(factory=list)
    """The members that each answer named which named some."""
    waits: bool = True
    """Whether it waits for further answers after the first one that names members."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the questions that are open."""
        return (*self.silent, *self.remembered)

    @property
    def empty(self) -> bool:
        """Whether the community is empty by all answers, of which none is open."""
        return bool(self.nobody) and not (self.silent or self.ignorant or self.unknown)

    @property
    def over(self) -> bool:
        """Whether the finding without members is certain, whatever is answered later."""
        return not self.silent and (self.empty or not self.remembered)

    def members(self, rng: Random) -> tuple[Contact, ...]:
        """Return the members found."""
        return in_equal_parts(self.named, rng)[: self.wanted]


def in_equal_parts(named: Sequence[tuple[Contact, ...]], rng: Random) -> tuple[Contact, ...]:
    """Return the members that answers name, of each in turn: one liar has its part alone."""
    answers = rng.sample(named, len(named)) if len(named) > 1 else named
    turns = chain.from_iterable(zip_longest(*answers))
    return tuple({contact.peer: contact for contact in turns if contact is not None}.values())


class Questions:
    """The questions that gateways still have time to answer, by number."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._asked: dict[int, str] = {}
        """The gateway that each number was sent to."""
        self._numbers: dict[str, dict[int, None]] = {}
        """The numbers that were sent to each gateway."""

    def __contains__(self, number: object) -> bool:
        return number in self._asked

    def __len__(self) -> int:
        return len(self._asked) + len(self._numbers)

    def numbered(self, addresses: Iterable[str]) -> dict[int, str]:
        """Return a random number for the question to each of these addresses.

        A stranger must not guess it: a gateway may answer from another address than was asked, so
        the number alone shows that the answer is a gateway's.
        """
        return {self._rng.getrandbits(SEEK_BITS): address for address in addresses}

    def add(self, gateways: Mapping[int, str]) -> None:
        """Note the questions of these numbers to gateways, which have time to answer from now."""
        self._asked |= gateways
        for number, gateway in gateways.items():
            self._numbers.setdefault(gateway, {})[number] = None

    def to(self, gateway: str) -> tuple[int, ...]:
        """Return the numbers of the questions to a gateway."""
        return tuple(self._numbers.get(gateway, ()))

    def take(self, number: int) -> str:
        """Return the gateway that was asked with this number, "" if its question is not open."""
        gateway = self._asked.pop(number, "")
        if gateway:
            numbers = self._numbers[gateway]
            del numbers[number]
            if not numbers:
                del self._numbers[gateway]
        return gateway
