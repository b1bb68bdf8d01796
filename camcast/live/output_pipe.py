"""What waits for one address, whatever carries it there."""

from __future__ import annotations

from attrs import define, field

from camcast.vocabulary.identity import PeerId


@define(eq=False, slots=False)
class OutputPipe:
    """What waits for one address; a transport's own class has the connection besides."""

    address: str
    moved: float
    """When a frame last left by it, or when it was opened (seconds of the loop's clock)."""
    records: list[bytes] = field(factory=list)
    waiting: int = 0
    """The bytes in `records`."""
    watched: bool = False
    """Whether the loop watches its connection, because not all could be given to it."""
    closed: bool = False
    carries_events: bool = False
    """Whether an event ever waited in it: then it goes to a peer of a table, no stranger."""
    named: PeerId | None = None
    """Who said to listen there, on the connection that there is; None while nobody has."""
