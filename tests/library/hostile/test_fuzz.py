"""Mutated records and datagrams, of every kind and in every profile: nothing comes of them.

Processes of each world talk for a while, and all that they say is captured. With a message of each
other class that there is, also those that nobody had a reason to send, one of them then takes
mutations of it, while virtual time goes on, its timers run, and its answers go out. Whatever it
takes, the engine raises nothing, its memory stays as it is, and the process still does its work.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from random import Random
from typing import Final

import pytest
from typing_extensions import override

from camcast.doors.datagrams import Endpoint
from camcast.engine.node import Node
from camcast.security.datagram_seal import DatagramSeal
from camcast.security.keys import SecretKey
from camcast.security.taken_once import NONCE_BYTES, DatagramError
from camcast.testing.world import World
from camcast.vocabulary import wire
from camcast.vocabulary.batches import After, Keyed, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import encode
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic
from tests.admitted_world import AdmittedWorld
from tests.authority import ADA, CLUB, EVE
from tests.library.hostile.lying_fields import Lies, shipped_classes
from tests.library.hostile.mutator import Mutator, records_of
from tests.mutations import mutated
from tests.protocol_fleet import AB, A, X, fleet
from tests.signed_world import ITALY, SOCCER, SignedWorld, join, key

# chosen: 10^6 in all worlds; `FUZZ_INPUTS=715000 pytest -m slow` of this file makes 10^7
INPUTS: Final = int(os.environ.get("FUZZ_INPUTS", "100000"))
GROWTH_MEGABYTES_MAX = 20  # [docs/security.md]
CPU_SECONDS_MAX = 0.5  # chosen: for the worst MiB; measured 0.1
BATCH = 50  # chosen: frames between two steps of virtual time
# chosen: some 2,500 records a second; with twice as many, and what they draw where events are
# signed, the world takes the run for an endless one (`camcast.testing.world.ENDLESS_INPUTS`)
STEP_SECONDS = 0.04

STREAM_EVENTS = 40
AFTER = After(stream_id(ADA.public.peer_id, 2), 3, 1)
TALKING_SECONDS = 15.0  # chosen: some periods of every part


def of_camcast(backend: str, undialable: int = 0, **parameters: object) -> World:
    """Six processes of three levels, one of which everybody asks first.

    The last ones cannot be dialled: others pass on what is for them.
    """
    world = World(seed=5, repair=True)
    nodes: list[Node] = []
    chosen = CommunitySettings(check_seconds=2, **parameters)  # type: ignore[arg-type]  # of one kind
    for number, topics in enumerate(((ROOT,), (A, AB), (A,), (A,), (AB,), (ROOT,))):
        gateways = tuple(node.me.address for node in nodes[:1])
        dialable = number < 6 - undialable
        node = world.add(gateways, backend=backend, parameters=chosen, dialable=dialable)
        for topic in topics:
            world.do(node, partial(join, topic))
        nodes.append(node)
        world.run(2.0)
    return world


def of_protocol(name: str) -> World:
    return fleet(name, (A, A, ROOT, AB, X, A))


def signed() -> World:
    """Processes with certificates, one without the right to publish, and one of another topic."""
    world = SignedWorld(repair=True)
    for secret in (ADA, CLUB, SecretKey(bytes(32)), SecretKey(b"\1" * 32)):
        world.member(secret, ITALY, SOCCER)
    world.member(EVE, SOCCER)
    world.run(5.0)
    return world


class Admitted(AdmittedWorld):
    """Processes that introduce themselves; over the link of a member comes what is mutated."""

    @override
    def restart(self, killed: Node) -> Node:
        """Start another member: whoever has no identity is not admitted."""
        return self.member(key(200))


def admitted() -> World:
    world = Admitted()
    for number in range(4):
        world.member(key(100 + number), ITALY, SOCCER)
    world.run(5.0)
    return world


WORLDS: dict[str, Callable[[], World]] = {
    "open, scamp": lambda: of_camcast("scamp"),
    "open, tree": lambda: of_camcast("scamp", spread="tree"),
    "open, undialable": lambda: of_camcast("scamp", undialable=2),
    "open, cyclon": lambda: of_camcast("cyclon"),
    "open, hyparview": lambda: of_camcast("hyparview"),
    "open, hybrid": lambda: of_camcast("hybrid"),
    "open, dht": lambda: of_camcast("dht"),
    **{
        f"open, {name}": partial(of_protocol, name)
        for name in ("hpmcast", "pmcast", "rfpbcast", "hierarchical", "percolation")
    },
    "signed": signed,
    "signed, admitted": admitted,
}


def capture(world: World) -> tuple[list[bytes], list[bytes]]:
    """Let the processes talk, leave and come; return some of each kind of what they said."""
    records: dict[bytes, list[bytes]] = {}
    datagrams: list[bytes] = []

    def on_send(_source: str, _target: str, sent: bytes) -> None:
        for record in records_of(sent):
            key = record[4:5]  # the kind, and of a control record which message it is
            if record[4]:
                body = 32 + record[6]
                key += record[body : body + 2]
            if len(same := records.setdefault(key, [])) < 40:
                same.append(record)

    carry = world.virtual.datagrams.send

    def send(source: Endpoint, target: Endpoint, data: bytes) -> None:
        if len(datagrams) < 400:
            datagrams.append(data)
        carry(source, target, data)

    world.virtual.on_send = on_send
    world.virtual.datagrams.send = send  # type: ignore[method-assign]  # to listen
    for node in world.nodes:
        for topic in topics_of(node):
            for number in range(STREAM_EVENTS):  # so that it is busy enough for a tree
                world.publish(node, topic, b"honest %d" % number, seconds=0.02)
    *_, leaver, crasher = world.nodes
    for topic in topics_of(leaver):
        world.leave(leaver, topic)
    gone = topics_of(crasher)
    world.kill(crasher)
    world.run(TALKING_SECONDS)
    again = world.restart(crasher)
    for topic in gone:
        world.do(again, partial(join, topic))
    world.run(TALKING_SECONDS)
    world.virtual.on_send = None
    world.virtual.datagrams.send = carry  # type: ignore[method-assign] # as it was
    return [*(record for same in records.values() for record in same), *every_record()], datagrams


def every_record() -> list[bytes]:
    """Return records of each class of messages, and of batches of each kind."""
    sender, address = ADA.public.peer_id, "tcp://10.0.0.9:7000"
    lies = Lies((A.name, AB.name, "."), (Contact(sender, address),))
    records = []
    for cls, kind in shipped_classes().items():
        if kind is not None:
            head = wire.control_head(kind, A.group, sender, address)
            records += [wire.encode_control(head, encode(one)) for one in islice(lies.of(cls), 3)]
    stream = stream_id(sender, 1)
    for more in ({"keyed": Keyed(b"key")}, {"keyed": Keyed(b"key", True)}, {"after": AFTER}):
        payload = b"" if more == {"keyed": Keyed(b"key", True)} else b"!"
        batch = make_batch(stream, 1, [payload], A, published=1, **more)
        records.append(wire.event_head(len(batch.body), 1, 0.0, A.group, sender) + batch.body)
    return records


def topics_of(node: Node) -> list[Topic]:
    wanted = [part.context.interest.topics for part in node.local_groups]
    return list(dict.fromkeys(topic for topics in wanted for topic in topics))


def megabytes() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def attack(world: World, victim: Node, mutator: Mutator, rng: Random, count: int) -> float:
    """Give a process so many mutations; return the CPU seconds of the worst MiB of frames."""
    virtual, address = world.virtual, victim.me.address
    endpoints = [at for at in virtual.datagrams.endpoints if at[0] in address]
    others = [at for at in virtual.datagrams.endpoints if at not in endpoints]
    link = world.nodes[2].me.peer if isinstance(world, AdmittedWorld) else None
    worst = spent = 0.0
    taken = 0
    while mutator.made < count:
        for _ in range(BATCH):
            if endpoints and rng.random() < 0.3:
                source, target = rng.choice(others), rng.choice(endpoints)
                virtual.datagrams.send(source, target, mutator.datagram())
                continue
            frame = mutator.frame()
            begun = time.process_time()
            virtual.inject(address, frame, link)
            spent += time.process_time() - begun
            taken += len(frame)
            if taken >= 2**20:
                worst, spent, taken = max(worst, spent), 0.0, 0
        world.run(STEP_SECONDS)
        world.delivered.clear()
    return worst


def test_records_of_every_class_of_messages_are_mutated() -> None:
    """Of the class that a later change adds, too: it has a record without being named here."""
    heads = {(record[4], record[32 + record[6] :][1]) for record in every_record() if record[4]}
    classes = {
        (int(kind), cls.__struct_config__.tag)
        for cls, kind in shipped_classes().items()
        if kind is not None
    }
    assert len(classes) > 50
    assert classes <= heads


@pytest.mark.parametrize("count", [1_000, pytest.param(INPUTS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("profile", WORLDS)
def test_no_mutation_makes_the_engine_raise_or_grow(profile: str, count: int) -> None:
    """10^4 over all worlds here, 10^6 in the slow suite, with the sealed datagrams below."""
    world, rng = WORLDS[profile](), Random(count)
    victim = world.nodes[1]
    mutator = Mutator(rng, *capture(world))
    attack(world, victim, mutator, rng, count // 10)  # what is bounded, fills
    gc.collect()
    before = megabytes()
    worst = attack(world, victim, mutator, rng, count)
    gc.collect()
    assert megabytes() - before < GROWTH_MEGABYTES_MAX
    assert worst < CPU_SECONDS_MAX  # 0 below a MiB, so that only the slow suite measures time
    for topic in topics_of(victim):
        world.publish(victim, topic, b"still here", seconds=0.0)
        assert world.delivered, topic
        world.delivered.clear()


@pytest.mark.parametrize("count", [1_000, pytest.param(2 * INPUTS, marks=pytest.mark.slow)])
def test_no_mutation_of_a_sealed_datagram_is_opened(count: int) -> None:
    rng = Random(count)
    mine, other = DatagramSeal((b"k" * 32,)), DatagramSeal((b"o" * 32,))
    sealed = [
        one.seal(rng.randbytes(rng.randrange(300)), rng.randbytes(NONCE_BYTES), now)
        for one, now in [(mine, 1_000.0)] * 20 + [(other, 1_000.0)] * 5 + [(mine, 2_000.0)] * 5
    ]
    before = megabytes()
    for _ in range(count):
        datagram = mutated(rng, rng.choice(sealed))
        if datagram not in sealed:
            with pytest.raises(DatagramError):
                mine.open(datagram, 1_000.0)
    assert megabytes() - before < GROWTH_MEGABYTES_MAX
