"""`python -m tests.library.hostile.eclipse`: which share of others' tables k of n identities get.

`k` of the `n` members of a community are *puppets* of one attacker. They are real processes, with
one identity and one host each, and do two things more. They *lie*: each process that they name is a
puppet, in whatever message, whatever was asked; what they should pass on for others they pass on to
puppets; and their nodes in the DHT name puppets only. And they *push*: each asks a random honest
member each second for a place, in the way of its membership that brings most places for a message.
An honest directory, which names any member with the same probability, or in the DHT two honest
nodes, bring newcomers in. Or all go by two gateways, the first two members, of which one lies or
both do (`--discovery`); some have two explicit peers besides.

In `open` a node of the DHT chooses its identifier. With `--subtree` those of the puppets surround
one member's, the *victim's*: they are the nearest nodes to it, and every crawl to it meets them.
With `--undialable` the puppets say that nobody can dial them: they have places beside others.

Printed are the shares of puppets among the processes in tables, over all seeds: those of newcomers
ten seconds after their start; those of all honest members after a time; the super-topic tables of a
community below; and routing tables of the DHT. Who draws uniformly has the share k/n, where n
counts the newcomers, too. The last column says how many honest members hold the victim, as a
multiple of how many hold an honest member on average.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from itertools import chain
from math import sqrt
from random import Random
from statistics import mean, stdev
from typing import Annotated, Any, Final, NamedTuple
from unittest.mock import patch

import msgspec
import typer
from attrs import define, evolve, field
from typing_extensions import override

from camcast.doors.contained import plug_of
from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.node import Node
from camcast.engine.settings import Settings
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.topics import GROUP_ID_BYTES, ROOT, Topic
from membership import cyclon, dht, hyparview_messages
from membership.scamp import messages as scamp_messages
from overlays.kademlia.naming import DrawnNames
from overlays.kademlia.protocol import Protocol
from overlays.kademlia.table import Neighbour, Table

ABOVE, BELOW = Topic.parse(".a"), Topic.parse(".a.x")
PUSHES: Final[dict[str, Callable[[Random], Message]]] = {
    "scamp": lambda rng: scamp_messages.Subscribe(-1, rng.getrandbits(32)),
    "hybrid": lambda rng: scamp_messages.Subscribe(-1, rng.getrandbits(32)),
    "cyclon": lambda _: cyclon.Join(),
    "hyparview": lambda _: hyparview_messages.Neighbor(True, b""),
    "dht": lambda _: dht.Place(),
}
"""By membership, the message by which a puppet asks for places."""
# chosen: smaller than a community that can be simulated, so that not everybody is in it
OPTIONS: Final[dict[str, dict[str, object]]] = {"cyclon": {"view": 10, "shuffle": 4}}
OVERLAY: Final = ("hybrid", "dht")
"""The memberships whose newcomers are brought in by the DHT."""
NEWCOMERS: Final = 12
VICTIM: Final = 2
"""The number of the victim among honest members: not of those that bring others in."""
SUBTREE_BYTES: Final = 1  # chosen: 1/256 of the points, in which no other member is likely to be


class Discovery(StrEnum):
    """Who brings newcomers in."""

    HONEST = "honest"
    HALF = "half"
    """Two gateways, of which one is a puppet."""
    LYING = "lying"
    """Two gateways, both puppets."""
    PEERS = "peers"
    """Two gateways, both puppets; who starts after them has two explicit peers, which are honest
    members."""


PUSH_SECONDS: Final = 1.0
_Z: Final = 1.96  # 95 %, as if tables were independent


class Share(NamedTuple):
    """The share of puppets in some tables: the mean, half its interval, and tables of them only."""

    mean: float
    half: float
    owned: int
    tables: int

    @classmethod
    def of(cls, tables: Iterable[Iterable[bool]]) -> Share:
        """Return the share of tables, which say of each process whether it is a puppet."""
        shares = [mean(table) for each in tables if (table := list(each))]
        if not shares:
            return cls(0.0, 0.0, 0, 0)
        half = _Z * stdev(shares) / sqrt(len(shares)) if len(shares) > 1 else 0.0
        return cls(mean(shares), half, sum(one == 1.0 for one in shares), len(shares))

    @override
    def __str__(self) -> str:
        if not self.tables:
            return "none"
        whole = f", {self.owned} of {self.tables} wholly" if self.owned else ""
        return f"{self.mean:.0%} ± {self.half:.0%}{whole}"


@define
class Attack:
    """The puppets of one attacker, and what they say."""

    rng: Random
    puppets: dict[PeerId, Contact] = field(factory=dict)
    nodes: dict[bytes, Neighbour] = field(factory=dict)
    """Those of the puppets in the DHT that others know, by identifier."""
    tables: list[Table] = field(factory=list)
    """All routing tables of the DHT."""
    own: set[bytes] = field(factory=set)
    """The identifiers of the puppets in the DHT."""
    makes_victim: bool = False
    victim: bytes = b""
    """The first bytes of the victim's identifier, which the puppets' nodes have, too."""
    makes_puppet: bool = False
    lies: bool = True
    copies: int = 0
    """Messages that puppets have sent."""

    def lied(self, value: Any) -> Any:
        """Return a value of a message, with puppets in place of all processes in it."""
        if isinstance(value, Contact):
            return self.rng.choice(list(self.puppets.values()))
        if isinstance(value, tuple):
            told = (self.lied(one) for one in value)
            return type(value)(*told) if hasattr(value, "_fields") else tuple(told)
        if isinstance(value, msgspec.Struct):
            return type(value)(*(self.lied(getattr(value, n)) for n in value.__struct_fields__))
        return value

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let the puppets lie in the block."""
        send, nearest = ControlOutlet.send, Table.find_neighbors
        make, draw = Protocol.__init__, DrawnNames.own

        def lying(
            outlet: ControlOutlet, contacts: Iterable[Contact], message: Message, **rest: Any
        ) -> None:
            to = list(contacts)
            if outlet.me.peer in self.puppets and self.lies:
                for_whom = rest.get("reply_to")
                if for_whom is not None and for_whom.peer not in self.puppets:
                    to = [self.rng.choice(list(self.puppets.values())) for _ in to]
                message = self.lied(message)
                self.copies += len(to)
            send(outlet, to, message, **rest)

        def making(protocol: Protocol, node_id: bytes, *rest: Any) -> None:
            make(protocol, node_id, *rest)
            self.tables.append(protocol.router)
            if self.makes_puppet:
                self.own.add(node_id)

        def surrounding(names: DrawnNames, topic: Topic | None) -> bytes:
            drawn = draw(names, topic)
            if topic != ABOVE:
                return drawn
            if self.makes_victim:
                self.victim = drawn[: GROUP_ID_BYTES + SUBTREE_BYTES]
            return self.victim + drawn[len(self.victim) :] if self.makes_puppet else drawn

        def naming(table: Table, node: Neighbour, k: int | None = None, *rest: Any) -> Any:
            if table.node.id not in self.own or not self.lies:
                found = nearest(table, node, k, *rest)
                self.nodes |= {one.id: one for one in found if one.id in self.own}
                return found
            return sorted(self.nodes.values(), key=node.distance_to)[:k]

        with (
            patch.object(ControlOutlet, "send", lying),
            patch.object(Protocol, "__init__", making),
            patch.object(Table, "find_neighbors", naming),
            patch.object(DrawnNames, "own", surrounding),
        ):
            yield


class Eclipse:
    """A community of `members`, of which so many are puppets; these are honest unless it `lies`."""

    def __init__(
        self,
        membership: str,
        members: int,
        puppets: int,
        seed: int,
        *,
        lies: bool = True,
        discovery: Discovery = Discovery.HONEST,
        subtree: bool = False,
        undialable: bool = False,
        repair: bool = False,
        options: dict[str, object] | None = None,
    ) -> None:
        self._membership = membership
        self._attack = Attack(Random(seed), lies=lies)
        options = OPTIONS.get(membership, {}) | (options or {})
        self._world = World(seed, membership=membership, options=options, repair=repair)
        self._discovery, self._subtree, self._undialable = discovery, subtree, undialable
        self._honest: list[Node] = []
        self._joins = members, puppets
        self.messages = 0.0
        """How many messages each puppet has sent a second."""

    def tables(self, seconds: float, *, push: bool) -> dict[str, list[list[bool]]]:
        """Let the attack go on for so long, and say of all in tables whether they are puppets."""
        world, attack, (members, puppets) = self._world, self._attack, self._joins
        with attack.at_work():
            # Spread evenly among those that come, but for gateways.
            first = {Discovery.HONEST: 0, Discovery.HALF: 1}.get(self._discovery, 2)
            for number in range(members):
                last = max(0, number - first) * (puppets - first) // (members - first)
                now = max(0, number + 1 - first) * (puppets - first) // (members - first)
                self._start(ABOVE, puppet=number < first or last != now)
            honest = list(self._honest)
            self._run(30.0, push=push)
            new = [self._start(ABOVE) for _ in range(NEWCOMERS)]
            self._run(10.0, push=push)
            newcomers = [self._table(node) for node in new]
            below = [self._start(BELOW) for _ in range(NEWCOMERS)]
            began, before = world.now, attack.copies
            self._run(seconds, push=push)
            self.messages = (attack.copies - before) / (world.now - began) / puppets
            return {
                "newcomer": newcomers,
                "member": [self._table(node) for node in honest],
                "super-topic": [
                    [
                        peer in attack.puppets
                        for table in group.ways_up.tables
                        for peer in table.peers
                    ]
                    for node in below
                    for group in node.local_groups
                ],
                "routing": [
                    [one.id in attack.own for one in table.neighbours()]
                    for table in attack.tables
                    if table.node.id not in attack.own
                ],
            }

    @property
    def victim_held(self) -> float:
        """How many honest members hold the victim, as a multiple of who holds any of them."""
        groups = [(node.me, group) for node in self._honest for group in node.local_groups]
        above = [(me, group) for me, group in groups if group.topic == ABOVE]
        held = Counter(one.peer for _, group in above for one in group.membership.peers())
        members = [me.peer for me, _ in above]
        return held[members[VICTIM]] / mean(held[peer] for peer in members)

    def reception(self, events: int, seconds: float) -> float:
        """Let honest members publish, and return which share of the events they get in this time.

        The puppets pass on nothing from now on.
        """
        world = self._world
        puppets = {contact.address for contact in self._attack.puppets.values()}
        world.cut(lambda source, _target: source not in puppets)
        members = [n for n in self._honest if any(g.topic == ABOVE for g in n.local_groups)]
        world.delivered.clear()
        for number in range(events):
            world.publish(members[number % len(members)], ABOVE, b"%d" % number, 0.1)
        world.run(seconds)
        got = Counter(one.event.id for _, one in world.delivered if one.group == ABOVE.group)
        return sum(got.values()) / (events * len(members))

    def _table(self, node: Node) -> list[bool]:
        (group,) = node.local_groups
        return [one.peer in self._attack.puppets for one in group.membership.peers()]

    def _start(self, topic: Topic, *, puppet: bool = False) -> Node:
        world, attack = self._world, self._attack
        attack.makes_puppet = puppet
        attack.makes_victim = self._subtree and not puppet and len(self._honest) == VICTIM
        node = world.start(self._settings, dialable=not (puppet and self._undialable))
        world.do(node, lambda node, now: node.join(topic, now))
        if puppet:
            attack.puppets[node.me.peer] = node.me
        else:
            self._honest.append(node)
        world.run(1.0)
        attack.makes_puppet = attack.makes_victim = False
        return node

    @property
    def _settings(self) -> Settings:
        """The settings of a process that starts now."""
        honest = [node.me.address for node in self._honest]
        if self._discovery is Discovery.HONEST and self._membership not in OVERLAY:
            return self._world.settings
        if self._discovery is Discovery.HONEST:
            gateways = honest[:2]
        else:
            gateways = [node.me.address for node in self._world.nodes[:2]]
        return evolve(
            self._world.settings,
            discovery=find_discovery(find_backend(self._membership).discovery),
            gateways={ROOT: tuple(gateways)},
            peers=tuple(honest[1:3]) if self._discovery is Discovery.PEERS else (),
        )

    def _run(self, seconds: float, *, push: bool) -> None:
        world, attack = self._world, self._attack
        for _ in range(int(seconds / PUSH_SECONDS)):
            for node in world.nodes if push else ():
                if node.me.peer in attack.puppets:
                    world.do(node, partial(self._push, attack.rng.choice(self._honest).me))
            world.run(PUSH_SECONDS)

    def _push(self, victim: Contact, node: Node, _now: float) -> None:
        for group in node.local_groups:
            outlet: ControlOutlet = plug_of(group.membership)._outlet
            outlet.send([victim], PUSHES[self._membership](self._attack.rng))


def main(
    membership: Annotated[str, typer.Option(help="With commas; default: all.")] = ",".join(PUSHES),
    members: Annotated[int, typer.Option(min=4)] = 50,
    puppets: Annotated[int, typer.Option(min=1)] = 5,
    minutes: Annotated[
        float, typer.Option(help="Of virtual time, before members are looked at.")
    ] = 60,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs a row.")] = 1,
    discovery: Annotated[
        Discovery, typer.Option(help="Who brings newcomers in.")
    ] = Discovery.HONEST,
    subtree: Annotated[
        bool, typer.Option("--subtree", help="The puppets' nodes surround the victim's in the DHT.")
    ] = False,
    undialable: Annotated[
        bool, typer.Option("--undialable", help="The puppets say that nobody can dial them.")
    ] = False,
) -> None:
    """Print a row of a table in Markdown for each membership, without and with pushing."""
    print(
        "| membership | | newcomer's table | member's table | super-topic table | routing table |"
        " messages a second | victim held |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in membership.split(","):
        for push in (False, True):
            runs = [
                Eclipse(
                    name,
                    members,
                    puppets,
                    seed + 1,
                    discovery=discovery,
                    subtree=subtree,
                    undialable=undialable,
                )
                for seed in range(seeds)
            ]
            found = [run.tables(60 * minutes, push=push) for run in runs]
            shares = [Share.of(chain(*(one[kind] for one in found))) for kind in found[0]]
            sent = mean(run.messages for run in runs)
            held = f"{mean(run.victim_held for run in runs):.2f}" if subtree else "none"
            row = [name, "push" if push else "lie", *map(str, shares)]
            cells = [*row, f"{sent:.1f}", held]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
