"""The door of repair: how a dissemination and the repair of its group call each other.

Repair (`camcast.engine.repair`) asks neighbours for events that this process has missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import Topic


class RepairWatcher:
    """A dissemination as repair calls it. Each verb does nothing unless it is overridden."""

    def told(self, stream: StreamId, stop: int, source: Contact, below: str, now: float) -> None:
        """Learn that `source` has events of a stream that this process lacks.

        They have sequence numbers below `stop`. `below` is the name of the topic of the source's
        community, if that is below this one; else empty.
        """

    def offered(
        self, stream: StreamId, source: Contact, below: str, known: bool, now: float
    ) -> None:
        """Learn that `source` offers a batch of a stream, which is `known` here or is asked for.

        `below` as in `told`.
        """

    def answered(self, stream: StreamId, contact: Contact, above: Topic) -> None:
        """Learn that a process was sent what it asked for, in its community `above` this one."""

    def patience(self, stream: StreamId, told: float, now: float) -> float:
        """Return for how many more seconds repair waits before it asks for announced events.

        `told` is the time at which the first of those that are still missing was announced. Repair
        does not wait for events that precede one that has arrived. It asks at once for 0 or less,
        which is the default.
        """
        return 0.0


class Repairs(Protocol):
    """The repair of one group of this process, as the group's dissemination calls it."""

    def report_to(self, watcher: RepairWatcher) -> None:
        """Register the dissemination; called once, while the dissemination is made."""

    def offers(self, batch: Batch) -> bool:
        """Say whether a batch is so large that it is to be offered in place of being pushed."""

    def offer(
        self, batch: Batch, contacts: Sequence[Contact], now: float, above: Topic | None = None
    ) -> None:
        """Offer a batch to members of the group, or of the super-community of the topic `above`.

        Those that lack it ask for it once, and get it as one that `disseminate` takes.
        """

    def tell(self, contacts: Sequence[Contact], streams: Sequence[StreamId], now: float) -> None:
        """Tell members of the group at once which events of these streams are known (a `Have`)."""
