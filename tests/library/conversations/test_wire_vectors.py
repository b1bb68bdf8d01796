"""The vectors of docs/wire-format.md: what they say is what is encoded and decoded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from camcast.engine import link_messages
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary import wire
from camcast.vocabulary.batches import SIGNED, After, Batch, Keyed, make_batch
from camcast.vocabulary.events import Event, EventId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import encode
from camcast.vocabulary.topics import Topic

PAGE = Path(__file__).parents[3] / "docs" / "wire-format.md"
PUBLISHER, SENDER = PeerId(b"P" * 16), PeerId(b"S" * 16)
ADDRESS = "tcp://127.0.0.1:7000"
STARTED, PUBLISHED = 1_700_000_000_000, 1_700_000_000_250
ITALY, SOCCER = Topic.parse(".soccer.italy"), Topic.parse(".soccer")

VECTORS = {
    name: bytes.fromhex("".join(line.partition("#")[0] for line in block.splitlines()))
    for name, block in re.findall(r"```vector (.+)\n([^`]+)```", PAGE.read_text())
}


def batch(number: int, first: int, *payloads: bytes, upward: float | None = None) -> Batch:
    return make_batch(
        *(stream_id(PUBLISHER, STARTED + number), first, payloads, ITALY),
        typed=len(payloads) > 1,
        upward_probability=upward,
        published=PUBLISHED,
    )


def event(of: Batch, group: Topic, hops: int = 1, age: float = 0.0, address: str = "") -> bytes:
    return wire.event_head(len(of.body), hops, age, group.group, SENDER, address) + of.body


def signed() -> bytes:
    body = bytearray(batch(2, 1, b"!", upward=0.0).body + b"C" * 8 + b"s" * 64)
    body[30] |= SIGNED
    return wire.event_head(len(body), 1, 0.0, ITALY.group, SENDER) + body


def follower() -> Batch:
    after = After(stream_id(PUBLISHER, STARTED + 3), 4, PUBLISHED - 100)
    stream = stream_id(PUBLISHER, STARTED)
    return make_batch(stream, 9, [b"!"], ITALY, published=PUBLISHED, after=after)


def keyed() -> Batch:
    stream = stream_id(PUBLISHER, STARTED)
    return make_batch(stream, 10, [b"!"], ITALY, published=PUBLISHED, keyed=Keyed(b"leader"))


def ping() -> bytes:
    head = wire.control_head(wire.Kind.LINKS, ITALY.group, SENDER, ADDRESS)
    return wire.encode_control(head, encode(link_messages.Ping(".soccer")))


ENCODED: dict[str, Callable[[], bytes]] = {
    "one event": lambda: event(batch(0, 1, b"goal"), ITALY, 2, 0.05),
    "an upward message": lambda: event(
        batch(1, 7, b"a", b"", b"bc", upward=0.25), SOCCER, address=ADDRESS
    ),
    "a signed batch": signed,
    "a batch that follows another stream": lambda: event(follower(), ITALY),
    "an event with a key": lambda: event(keyed(), ITALY),
    "two records": lambda: event(batch(0, 2, b"!"), ITALY) + ping(),
}


def received(frame: bytes) -> tuple[Node, list[Event]]:
    """Return a member of the frame's community that got it, and what it delivered."""
    world = World()
    node = world.join(SOCCER if bytes(SOCCER.group) in frame else ITALY)
    world.inject(node.me.address, frame)
    return node, [delivery.event for _, delivery in world.delivered]


def test_every_vector_is_tested() -> None:
    assert {name for name in VECTORS if ":" not in name} == set(ENCODED)


@pytest.mark.parametrize("name", ENCODED)
def test_it_is_encoded_as_the_page_says(name: str) -> None:
    assert (wire.FRAME_HEADER + ENCODED[name]()).hex(" ") == VECTORS[name].hex(" ")


@pytest.mark.parametrize(
    ("name", "number", "first", "hops", "payloads"),
    [
        ("one event", 0, 1, 2, [b"goal"]),
        ("an upward message", 1, 7, 1, [b"a", b"", b"bc"]),
        ("a signed batch", 2, 1, 1, [b"!"]),
        ("a batch that follows another stream", 0, 9, 1, [b"!"]),
        ("an event with a key", 0, 10, 1, [b"!"]),
        ("two records", 0, 2, 1, [b"!"]),
    ],
)
def test_a_node_delivers_what_the_page_says(
    name: str, number: int, first: int, hops: int, payloads: list[bytes]
) -> None:
    node, events = received(VECTORS[name])
    assert events == [
        Event(
            EventId(stream_id(PUBLISHER, STARTED + number), first + place),
            ITALY,
            payload,
            hops,
            len(payloads) > 1,
            PUBLISHED,
        )
        for place, payload in enumerate(payloads)
    ]
    assert node.counters.malformed == 0
    assert node.counters.controls == (name == "two records")


@pytest.mark.parametrize("name", [name for name in VECTORS if ":" in name])
def test_a_node_drops_what_the_page_says(name: str) -> None:
    """And delivers the event that follows an unknown record."""
    node, events = received(VECTORS[name])
    assert [one.payload for one in events] == ([b"!"] if name.endswith("before an event") else [])
    counters = node.counters
    dropped = {
        "refused": counters.other_versions,
        "malformed": counters.malformed,
        "unknown": counters.records_unknown,
    }
    assert dropped == {kind: int(name.startswith(kind)) for kind in dropped}
