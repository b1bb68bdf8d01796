"""The invariants of every run, checked after every step and at the end; a breach stops the run.

* no parasite: no process receives an event of a community that it never was part of;
* at most once: no process delivers an event twice in one life;
* bounded tables: no topic table outgrows what its membership promises;
* symmetry: where a membership keeps in-views, an arc is known at both ends. Messages about an
  arc may be under way, so only an arc that is one-sided at every look, for some time, is a breach,
  and only if no message was lost and no process died meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Final

from camcast.engine.local_group import LocalGroup
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.topics import GroupId, Topic

# [membership.scamp.scamp.CAP_FACTOR] a view has at most 3(c+1) ln N; other memberships keep fewer
CAP_FACTOR: Final = 3
# chosen: a size estimate of 13 % standard error is beyond twice the size once in 10^13 times
ESTIMATE_FACTOR: Final = 2
SIZE_MIN: Final = 64  # [membership.scamp.scamp.CAP_SIZE_MIN] a young process allows for so many

Arc = tuple[PeerId, PeerId, GroupId]  # from whom, to whom, in which community


class InvariantError(AssertionError):
    """An invariant is broken; the message says when, at which process, and how."""


class Invariants:
    """Watches a network, which calls `on_step` and `on_delivery`."""

    def __init__(
        self, network: VirtualNetwork, law: Callable[[float], float], *, parasitic: bool = False
    ) -> None:
        """Watch tables of the given law of the view (`Backend.expected_view`).

        `parasitic`: events may reach processes that are not interested, as in a broadcast.
        """
        self._network = network
        self._law = law
        self._parasitic = parasitic
        self._delivered: dict[tuple[int, GroupId], dict[EventId, None]] = {}
        self._bounds: dict[GroupId, int] = {}
        self._one_sided: dict[Arc, str] | None = None

    def on_step(self, process: Process) -> None:
        """Check what a step may have broken."""
        node = process.node
        if node.counters.parasites and not self._parasitic:
            self._fail(process, "received an event of a community that it is not part of")
        for local_group in node.local_groups:
            view = len(local_group.membership.peers())
            if view > self._bounds.get(local_group.topic.group, 0):
                size = len(self._network.processes)
                bound = ceil(CAP_FACTOR * self._law(float(ESTIMATE_FACTOR * max(size, SIZE_MIN))))
                self._bounds[local_group.topic.group] = bound
                if view > bound:
                    self._fail(process, f"has a table of {view} in {local_group.topic}")

    def on_delivery(self, process: Process, delivery: Deliver) -> None:
        """Check that this process has not delivered an event in this community before."""
        seen = self._delivered.setdefault((process.life, delivery.group), {})
        for event in delivery.batch.events():
            if event.id in seen:
                self._fail(process, f"delivered {event.id} twice")
            seen[event.id] = None

    def one_sided_arcs(self) -> dict[Arc, str]:
        """Return the arcs between living processes that only one end knows of, in words."""
        one_sided: dict[Arc, str] = {}
        for process in self._network:
            for local_group in process.node.local_groups:
                holders = local_group.membership.in_view()
                if holders is None or not local_group.joined:
                    continue
                topic = local_group.topic
                for contact in local_group.membership.peers():
                    other = self._member(contact, topic)
                    if other is None:
                        continue
                    known = other.membership.in_view() or ()
                    if process.me.peer not in {holder.peer: None for holder in known}:
                        one_sided[process.me.peer, contact.peer, topic.group] = (
                            f"{process.me} holds {contact} in {topic}, which does not know of it"
                        )
                for contact in holders:
                    other = self._member(contact, topic)
                    if other is not None and process.me.peer not in other.membership.peers():
                        one_sided[contact.peer, process.me.peer, topic.group] = (
                            f"{process.me} believes that {contact} holds it in {topic}"
                        )
        return one_sided

    def _member(self, contact: Contact, topic: Topic) -> LocalGroup | None:
        """Return the local group of the live process that a contact names, if there is one."""
        process = self._network.processes.get(contact.address)
        if process is None or process.me.peer != contact.peer:
            return None
        for local_group in process.node.local_groups:
            if local_group.topic == topic:
                return local_group
        return None

    def look_at_arcs(self) -> None:
        """Note which arcs have been one-sided at every look so far."""
        now, before = self.one_sided_arcs(), self._one_sided
        self._one_sided = {a: words for a, words in now.items() if before is None or a in before}

    def check_symmetry(self) -> None:
        """Raise if an arc has been one-sided at every look."""
        for words in (self._one_sided or {}).values():
            raise InvariantError(f"at {self._network.now:.3f} s {words}")

    def _fail(self, process: Process, what: str) -> None:
        raise InvariantError(
            f"at {self._network.now:.3f} s process {process.number} ({process.me}) {what}"
        )
