"""All that one process counts, as one record."""

from __future__ import annotations

from attrs import define, field

from camcast.doors.transport import PipeCounters
from camcast.engine.recorder import NodeCounters


@define(kw_only=True)
class Counters(NodeCounters):
    """What a process counted until this record was made."""

    published: int = 0
    """Events that `publish` accepted."""
    unpublished: int = 0
    """Events that `publish` dropped: their receipts say so."""
    missed: int = 0
    """Events that subscriptions dropped because their queues were full."""
    input: PipeCounters = field(factory=PipeCounters)
    """What came in at this process's own address."""
    outputs: PipeCounters = field(factory=PipeCounters)
    """What left by the output pipes, which all processes of an event loop may share."""
