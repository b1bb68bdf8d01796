"""An output pipe: the records that wait for one address, whatever the transport."""

from __future__ import annotations

from attrs import define, field

from camcast.vocabulary.identity import PeerId


@define(eq=False, slots=False)
class OutputPipe:
    """The records that wait for one address; a transport's subclass adds the connection."""

    address: str
    moved: float
    """When a frame last left, or when the pipe was opened (seconds of the loop's clock)."""
    records: list[bytes] = field(factory=list)
    waiting: int = 0
    """The bytes in `records`."""
    watched: bool = False
    """Whether the loop watches the connection, because it did not take all that waits."""
    closed: bool = False
    carries_events: bool = False
    """Whether an event ever waited here: then the pipe leads to a peer of a table, no stranger."""
    named: PeerId | None = None
    """The process that named itself on the present connection; None while none has."""
