"""The last value of each key in a community, as an application reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic

from typing_extensions import override

from camcast.engine.repair.last_values import LastValue
from camcast.inbox.received import Received, ReceivedBatch, with_value
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import E

OfTopics = Mapping[Topic, Mapping[bytes, LastValue]]
"""The last values of each topic, by key."""


class Latest(Mapping[bytes, Received[E]], Generic[E]):
    """The last value of each key of a community, read-only, as `Community.latest` gives it.

    It changes as events arrive. A key that was deleted is not in it. A community above others has
    the keys of their topics too: `by_topic` has them apart, and of a key that several topics have,
    this mapping has the event that was published last. `complete` says whether, when this was asked
    for, a neighbour had said that it has the same; where nobody has any key, nobody says so.

    Example:
        ::

            for key, event in community.latest.items():
                print(key, event.value)
    """

    def __init__(
        self,
        topics: OfTopics,
        received: Callable[[Batch], Received[E] | ReceivedBatch[E]],
        *,
        complete: bool,
    ) -> None:
        self.complete = complete
        self._topics = topics
        self._received = received

    @property
    def by_topic(self) -> Mapping[Topic, Latest[E]]:
        """The last values of each topic that has some at present."""
        return {
            topic: Latest({topic: values}, self._received, complete=self.complete)
            for topic, values in self._topics.items()
            if not all(value.deleted for value in values.values())
        }

    def snapshot(self) -> Latest[E]:
        """Return the last values of this moment, which no longer change."""
        topics = {topic: dict(values) for topic, values in self._topics.items()}
        return Latest(topics, self._received, complete=self.complete)

    @override
    def __getitem__(self, key: bytes) -> Received[E]:
        values = (values.get(key) for values in self._topics.values())
        there = [value for value in values if value is not None and not value.deleted]
        if not there:
            raise KeyError(key)
        received = self._received(max(there, key=_rank).batch)
        return with_value(received if isinstance(received, Received) else next(iter(received)))

    @override
    def __iter__(self) -> Iterator[bytes]:
        return iter(self._keys())

    @override
    def __len__(self) -> int:
        return len(self._keys())

    @override
    def __repr__(self) -> str:
        return f"<Latest of {len(self)} keys>"

    def _keys(self) -> dict[bytes, None]:
        return {
            key: None
            for values in self._topics.values()
            for key, value in values.items()
            if not value.deleted
        }


def _rank(value: LastValue) -> Any:
    return value.rank
