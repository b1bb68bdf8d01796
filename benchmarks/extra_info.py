"""What a benchmark of multicast says in `extra_info`: flat names, explained in docs/benchmarks.md.

The names are the interface to whoever reads a benchmark file, so each is written once, here. A
value is a number, a text, or None where it makes no sense or is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from attrs import frozen

from camcast import Parameters

Value = float | str | None


@frozen(kw_only=True)
class MulticastInfo:
    """Events published in communities of nodes, live or simulated, and what that cost."""

    membership: str
    protocol: str
    seed: int
    """Of the protocols' randomness, and of everything if the world is simulated."""
    nodes: int
    events: int
    """Published in each round."""
    rounds: int
    payload_bytes: int
    rate_per_second: float | None
    """Of the publisher; None: as fast as possible."""
    deliveries: int
    """In all rounds, at the publishers too."""
    missed: int
    """Deliveries that should have been, and were not."""
    messages: int
    """Copies of events that were sent, in all rounds."""
    control_messages: int
    """Whatever else was sent meanwhile."""
    bytes: int
    """Of everything sent in all rounds, by live nodes with the headers of frames."""
    cpu_seconds_per_1000_deliveries: float
    memory_mb_per_node: float
    parameters: Parameters
    options: Mapping[str, object] = {}
    """Of the membership, those that were set."""

    @property
    def redundancy(self) -> float:
        """Copies sent for each that somebody other than a publisher needed; 1 is a tree."""
        return self.messages / max(1, self.deliveries - self.events * self.rounds)

    def flat(self) -> dict[str, Value]:
        """Return one flat dictionary; parameters as ``parameter_c``, options as ``option_c``."""
        info = {
            field.name: getattr(self, field.name)
            for field in attrs.fields(MulticastInfo)
            if field.name not in ("parameters", "options")
        }
        info["redundancy"] = self.redundancy
        for name, value in attrs.asdict(self.parameters).items():
            info[f"parameter_{name}"] = value
        for name, option in self.options.items():
            info[f"option_{name}"] = option
        return info


@frozen(kw_only=True)
class LiveInfo:
    """What a live run adds: its speed, and a raw PUSH→PULL pair beside it in the same rounds.

    A rate that somebody else sets is not compared with anything: paced runs compare what a
    delivery costs and how long it takes, the others how many there are in a second.
    """

    processes: int
    """OS processes that the nodes share."""
    deliveries_per_second: float
    """The median of the rounds, as all that follow."""
    raw_messages_per_second: float
    ratio_to_raw: float | None
    """Deliveries for each raw message that the same second brings; None if paced."""
    ratio_to_raw_min: float | None
    ratio_to_raw_max: float | None
    raw_cpu_seconds_per_1000_messages: float
    cpu_ratio_to_raw: float
    """Processor time of a delivery for that of a raw message."""
    latency_ms_p50: float
    latency_ms_p99: float
    raw_latency_ms_p50: float | None
    latency_ratio_to_raw: float | None
    cores_busy: float
    """Processor seconds a second."""
    view_mean: float
    """Mean size of the topic tables."""
    records_dropped: int
    """Copies for which a peer's queue had no room, in all rounds."""
    malformed: int

    def flat(self) -> dict[str, Value]:
        """Return one flat dictionary."""
        return attrs.asdict(self)
