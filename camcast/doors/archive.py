"""The door of archives: where a process keeps the batches of its communities beyond its own life.

An archive is told of every batch that is new to a community of the process, with the body as its
publisher made it, and is asked what is known of a stream and for bodies. The engine calls it
synchronously and waits for no disk: an implementation writes in a thread of its own, and answers
as if all that it was given were written (`camcast.live.archive`).

Times are the publication's, in milliseconds since 1970 by the publisher's clock, as in the body.
What says that it was published later than now counts as published now: a publisher whose clock is
ahead does not outlive the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic


class Archive(Protocol):
    """The archive of one process, for all of its communities.

    Keeping never fails for its caller: an archive that cannot write counts what it loses. Reading
    returns what can be read.
    """

    @property
    def age_seconds_max(self) -> float:
        """How long after its publication a batch is kept, if there is room."""

    def keep(self, community: Topic, batch: Batch, chain: Sequence[bytes]) -> None:
        """Keep a batch that is new to a community, unless it is here already or too old.

        `chain` are the certificates of its publisher, empty where batches are not signed. The
        batches that were published first make room.
        """

    def known(self, community: Topic, stream: StreamId) -> Sequence[int]:
        """Return which events of a stream were kept at any time, as `KnownRanges.told` does.

        Those whose batches had to make room since are among them. Empty: nothing is known.
        """

    def batches(
        self, community: Topic, stream: StreamId, start: int, stop: int, since: int
    ) -> Iterator[bytes]:
        """Yield the bodies with events from `start` to before `stop`, in the order of the stream.

        Those that were published before `since` are left out.
        """

    def lowest(self, community: Topic, stream: StreamId, since: int) -> bytes | None:
        """Return the first body of a stream published at or after a time; None without one."""

    def streams(self, community: Topic, since: int) -> Sequence[StreamId]:
        """Return the streams with something published at or after a time, the latest first."""

    def history(self, community: Topic, since: int) -> Iterator[bytes]:
        """Yield the bodies published at or after a time, in the order of their publication."""

    def oldest(self, community: Topic) -> int:
        """Return when the oldest batch was published that is kept; 0 without one."""

    def latest(self, community: Topic) -> int:
        """Return when the latest batch was published that was kept at any time; 0 without one."""

    def reach(self, community: Topic) -> int:
        """Return the time since when nothing that was given to this archive is missing."""

    def chain(self, certificate: bytes) -> Sequence[bytes]:
        """Return the certificates that end in the one of this hash; empty if they are not here."""
