"""The links of one process of percolation gossip: its neighbours, and what they subscribe to.

Theory of operation
-------------------
In the paper a link has two ends, and each end knows the other's subscriptions (003, II-A and
Algorithm 1). A membership gives less. The table of Cyclon or of the DHT is one-way: the processes
that hold this one are unknown to it, or known in part. And a table may change faster than
subscriptions can be told: Cyclon's exchanges two thirds of its entries in a second.

Therefore a process *opens* a link to a neighbour that its membership names, and says so; the other
end then has the link, too, whatever its own membership knows, and answers. Only a process that has
answered is a neighbour: the tables of a membership name processes that are dead, too. A process
opens as many links as its membership has neighbours. It keeps a link that it has opened until its
membership has not named the other end for `lasting` ticks, and then closes it, with a word to the
other end. A link that another process has opened lasts until that process closes it, or has not
confirmed it for three times as long, since the word may be lost and the process may be dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic

LINKS_MAX: Final = 1024  # chosen: of other processes' opening; in-degrees of views are far smaller
_SILENT: Final = 3  # chosen: confirmations that may be lost; at 30 % loss one link in 37 is


@define
class Link:
    """One end of a link."""

    contact: Contact
    """The other end."""
    named: int | None = None
    """The tick at which the membership last named the other end; None if this process
    has not opened the link, or has closed it."""
    confirmed: int | None = None
    """The tick at which the other end last said that it has opened the link; None if it has not."""
    topics: tuple[Topic, ...] | None = None
    """What the other end subscribes to; None until it has said so."""
    announced: tuple[tuple[str, ...], bool] | None = None
    """What this process said last over the link: its subscriptions, and whether it has opened the
    link."""

    @property
    def opened(self) -> bool:
        """Whether this process has opened the link, and not closed it."""
        return self.named is not None


class Links:
    """The links of a process, by the identity of the other end. Time is counted in ticks."""

    def __init__(self, lasting: int) -> None:
        self._lasting = lasting
        self._links: dict[PeerId, Link] = {}

    def all(self) -> Iterable[Link]:
        """Return all links, the oldest first, those that were not answered yet included."""
        return self._links.values()

    def neighbours(self) -> Iterable[Link]:
        """Return the links whose other end has said what it subscribes to, the oldest first."""
        return (link for link in self._links.values() if link.topics is not None)

    def follow(self, named: Sequence[Contact], tick: int) -> list[Contact]:
        """Open and close links, given the neighbours that the membership names at this tick.

        Returns the other ends of links that this process has closed, and that are links no longer.
        """
        links, closed = self._links, list[Contact]()
        for contact in named:
            link = links.get(contact.peer)
            if link is not None and link.opened:
                link.contact, link.named = contact, tick
        for peer, link in list(links.items()):
            if link.confirmed is not None and tick - link.confirmed > _SILENT * self._lasting:
                link.confirmed = None
            if link.named is not None and tick - link.named > self._lasting:
                link.named = None
                if link.confirmed is None:
                    closed.append(link.contact)
            if link.named is None and link.confirmed is None:
                del links[peer]
        room = len(named) - sum(link.opened for link in links.values())
        for contact in named:
            if room <= 0:
                break
            link = links.setdefault(contact.peer, Link(contact))
            if not link.opened:
                link.named = tick
                room -= 1
        return closed

    def remove(self, peer: PeerId) -> None:
        """Forget the link to a process that leaves."""
        self._links.pop(peer, None)

    def on_subscriptions(
        self, source: Contact, topics: tuple[Topic, ...], linked: bool, tick: int
    ) -> Link | None:
        """Note what a process subscribes to, and whether it has opened a link to this one.

        Returns the link. None if there is none: neither process has opened one, or `LINKS_MAX`
        are open already; the other end then has a link of one end, and may be told all the same.
        """
        link = self._links.get(source.peer)
        if link is None:
            if not linked or len(self._links) >= LINKS_MAX:
                return None
            link = self._links[source.peer] = Link(source)
        link.contact, link.topics = source, topics
        link.confirmed = tick if linked else None
        if link.opened or linked:
            return link
        del self._links[source.peer]
        return None
