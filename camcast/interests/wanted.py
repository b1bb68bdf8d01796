"""The interest of a process in one group: topics, and all or some of the events of each."""

from __future__ import annotations

from camcast.interests.bounded import union_of
from camcast.interests.interest import Interest
from camcast.interests.term import Term
from camcast.vocabulary.topics import Topic


class ProcessInterest:
    """The topics that a process has subscribed to in a group, and the events it wants of each.

    In CAMCAST a group is a community, and a process subscribes to the community's topic only.
    """

    def __init__(self, topic: Topic, where: Interest | None = None) -> None:
        self._where: dict[Topic, Interest | None] = {topic: where}
        self.topics = [topic]
        """The topics, at least one, in the order of subscribing."""
        self._whole: Interest | None = None

    @property
    def whole(self) -> Interest:
        """The union of the interests in all topics, weakened if it is too large to travel.

        The same object is returned until an interest changes.
        """
        if self._whole is None:
            wanted = [one for topic, where in self._where.items() for one in _of(topic, where)]
            # If no event can match, peers get the topics themselves.
            self._whole = union_of(wanted or [Interest([Term(one)]) for one in self.topics])
        return self._whole

    def want(self, topic: Topic, where: Interest | None = None) -> None:
        """Subscribe to the events of a topic that match `where`, None for all, from now on."""
        if topic not in self._where:
            self.topics.append(topic)
        elif self._where[topic] == where:
            return
        self._where[topic] = where
        self._whole = None

    def drop(self, topic: Topic) -> None:
        """End the subscription to a topic; at least one other topic must be left."""
        self.topics.remove(topic)
        del self._where[topic]
        self._whole = None


def _of(topic: Topic, where: Interest | None) -> list[Interest]:
    """Return the events of a topic that match `where`, as interests of one term each."""
    if where is None:
        return [Interest([Term(topic)])]
    inside = (Term(topic).both(term) for term in where.terms)
    # Protocols that go by this know topics by their names alone: none is below two unrelated ones.
    return [Interest([term]) for term in inside if term is not None and not term.also]
