"""Worlds of one protocol, each node interested in one topic; tests of protocols begin with one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from camcast.research.testing.protocol_contract import AB, CERTAIN, TOPICS, A, X
from camcast.testing.world import World
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic

__all__ = ["AB", "CERTAIN", "CERTAIN_OPTIONS", "TOPICS", "A", "X", "fleet"]

# With these, and `CERTAIN`, every event reaches everybody of a few tens of processes: rounds go on
# beyond the last process.
CERTAIN_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "rfpbcast": {"fan_out": 4, "constant": 8.0},
    "pmcast": {"fan_out": 30},
    "hpmcast": {"fan_out": 30, "arity": 3},
    "percolation": {"gamma": 1.0},
}


def fleet(
    protocol: str,
    topics: Iterable[Topic] = (),
    *,
    seed: int = 1,
    options: Mapping[str, object] | None = None,
    membership_options: Mapping[str, object] | None = None,
    parameters: Parameters = CERTAIN,
    settle_seconds: float = 12.0,
) -> World:
    """Start a node for each of the topics, and let them settle."""
    chosen = CERTAIN_OPTIONS.get(protocol) if options is None else options
    world = World(
        seed,
        options=membership_options,
        protocol=protocol,
        protocol_options=chosen,
        parameters=parameters,
        topics=TOPICS,
    )
    for topic in topics:
        world.join(topic)
    world.run(settle_seconds)
    return world
