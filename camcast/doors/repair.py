"""The door of repair: what a dissemination asks of it, and is asked (`camcast.engine.repair`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId


class RepairWatcher:
    """A dissemination as repair sees it. Each verb does nothing unless it is overridden."""

    def told(self, stream: StreamId, stop: int, source: PeerId, now: float) -> None:
        """Learn that `source` has told of events up to before `stop`, not all known here."""

    def patience(self, stream: StreamId, told: float, now: float) -> float:
        """Return for how many seconds what was told of a stream is not asked for yet.

        Something that is still missing was first told of at the time `told`. Holes below what has
        arrived are asked for in any case. By default 0.
        """
        return 0.0


class Repairs(Protocol):
    """What a dissemination asks of the repair of its group in the same process."""

    def report_to(self, watcher: RepairWatcher) -> None:
        """Name the dissemination that is asked for its patience; called once, when it is made."""

    def tell(self, contacts: Sequence[Contact], streams: Sequence[StreamId], now: float) -> None:
        """Tell members of the group now what is known of these streams (a `Have`)."""
