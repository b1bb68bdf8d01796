"""Carrying: members above take part in a community of processes that nobody can dial.

Theory of operation
-------------------
Processes that nobody can dial hear each other through any member of their community that can be
dialled. Where there is none, such a process asks those that get its events anyway, the
super-processes that it is linked to, for one of them to *carry* the community (`Carry`). These take
part in it like a member: they keep tables, announce themselves, spread events and repair them. They
deliver nothing for it, since their own communities deliver what climbs. Newcomers find them as they
find other members. No stranger carries a byte.

A process without an interest, such as a gateway, does the same only if it *relays*, which is asked
of it by its configuration alone. Processes ask their first contacts when `PATIENCE` questions to
super-processes, or the lack of any, brought no carrier. What a relay gets is counted as `relayed`.

*How long.* Whoever asked goes on to ask as long as its table has nobody but those that it asked;
carriers leave when nobody has asked for `LEASE_SECONDS`, and when they have no interest any more.

*Hostile peers.* A process carries only communities below its own, in which whoever asks has the
right to be, and `CARRIED_MAX` of them; `CARRIED_ASKER_MAX` for the same process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define, evolve

from camcast.doors.discovery import Discovery
from camcast.engine.joining import Joining
from camcast.engine.link_messages import Carry
from camcast.engine.local_group import LocalGroup
from camcast.engine.process_context import ProcessContext
from camcast.engine.settings import Settings
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.happenings import Happening
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import read_topic
from camcast.vocabulary.outbox import Token, Wake
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind

CARRIERS: Final = 2  # chosen: one goes on while the other one is replaced
ASK_SECONDS: Final = 2.0  # chosen: twice the time in which a community of one finds its links
PATIENCE: Final = 3  # chosen: members above have had the time to be found, and to join
RENEW_SECONDS: Final = 20.0  # chosen: a third of the lease, so that two losses do not matter
LEASE_SECONDS: Final = 60.0  # chosen: as long as an idle connection is kept
CARRIED_MAX: Final = 64  # chosen: as many undialable processes as a table holds; 1 record/s each
CARRIED_ASKER_MAX: Final = 8  # chosen: more topics than most processes are in


@define
class _Lease:
    """A community that this process carries."""

    local_group: LocalGroup
    asker: PeerId
    """The process that asked first."""
    until: float


class Carrying:
    """The communities that one process asks others to carry, and those that it carries itself.

    With `Settings.relay` it carries also what does not interest it. `end` leaves a group.
    """

    def __init__(
        self,
        process: ProcessContext,
        settings: Settings,
        discovery: Discovery,
        joining: Joining,
        end: Callable[[LocalGroup, float], None],
    ) -> None:
        self._process, self._settings = process, settings
        self._discovery, self._joining, self._end = discovery, joining, end
        self._carried: dict[GroupId, _Lease] = {}
        self._asked: dict[GroupId, dict[str, None]] = {}
        """The addresses of those that were asked to carry each community of this process."""
        self._in_vain: dict[GroupId, int] = {}
        """How often they were asked since somebody was in the topic table."""

    def watch(self, local_group: LocalGroup) -> None:
        """Look after a group that this process enters: whether it needs carriers, or still carries.

        Only an undialable process needs any.
        """
        if not self._process.me.is_dialable:
            self._wake_after(ASK_SECONDS, local_group)

    def forget(self, group: GroupId) -> None:
        """Forget whom this process has asked to carry a group that it leaves."""
        self._asked.pop(group, None)
        self._in_vain.pop(group, None)

    def wake(self, local_group: LocalGroup, now: float) -> None:
        """Do what is due for a group: ask others, or look whether to go on."""
        if local_group.topic.group in self._carried:
            self.end_unwanted(now)
            if local_group.topic.group in self._carried:
                self._wake_after(RENEW_SECONDS, local_group)
        else:
            self._wake_after(self._ask(local_group), local_group)

    def receive(self, source: Contact, message: Carry, now: float) -> None:
        """Carry a community for a process that nobody can dial."""
        topic, me = read_topic(message.topic), self._process.me
        group = topic.group
        if (lease := self._carried.get(group)) is not None:
            lease.until = now + LEASE_SECONDS
            return
        if source.is_dialable or not me.is_dialable or group in self._process.groups.current:
            return
        interested = self._is_interested(topic)
        askers = [one.asker for one in self._carried.values()]
        if len(askers) >= CARRIED_MAX or askers.count(source.peer) >= CARRIED_ASKER_MAX:
            return
        settings, may_join = self._settings, self._process.guard.may_join
        if not (settings.protocol.linked and may_join(me.peer, topic, now)):
            return
        if interested or settings.relay:
            self._begin(topic, source.peer, now, interested=interested)

    def _begin(self, topic: Topic, asker: PeerId, now: float, *, interested: bool) -> None:
        """Take part in a community without a subscription; its events climb if they interest."""
        settings, hierarchy = self._settings, self._process.hierarchy
        super_topics = hierarchy.super_topics(topic) if interested else ()
        for group in settings.protocol.groups(topic, settings.topics, self._process.me.peer):
            local_group = self._joining.enter(
                evolve(group, transit=True),
                *(ProcessInterest(topic), super_topics, settings.parameters, now),
            )
            local_group.relayed = not interested
            self._carried[group.topic.group] = _Lease(local_group, asker, now + LEASE_SECONDS)
            self._process.recorder.tell(Happening("carries", group.topic.group))
            self._wake_after(RENEW_SECONDS, local_group)
        self._joining.settle(now)

    def end(self, topic: Topic, now: float) -> None:
        """Carry a community no longer, as the application joins it."""
        if (lease := self._carried.pop(topic.group, None)) is not None:
            self._end(lease.local_group, now)

    def end_unwanted(self, now: float) -> None:
        """Leave the communities that nobody asks to carry, or that are below no own one now."""
        for lease in list(self._carried.values()):
            topic = lease.local_group.topic
            if lease.until < now or not (self._settings.relay or self._is_interested(topic)):
                self.end(topic, now)

    def _is_interested(self, topic: Topic) -> bool:
        """Whether this process gets the events of a topic anyway."""
        groups = self._process.groups
        return any(
            one.group not in self._carried and groups.joined(one.group) is not None
            for one in self._process.hierarchy.ancestors(topic)
        )

    def _ask(self, local_group: LocalGroup) -> float:
        """Ask for carriers if the group needs them; return when to look again, in seconds."""
        topic, table = local_group.topic, local_group.membership.peers()
        group = topic.group
        asked = self._asked.setdefault(group, {})
        in_vain = self._in_vain.pop(group, 0)
        if any(peer.address not in asked for peer in table):
            return ASK_SECONDS
        receivers = list(table)[:CARRIERS]
        others = [
            contact
            for link in local_group.links
            for contact in link.nearest()[1]
            if contact.is_dialable and contact.peer not in table
        ]
        missing = min(CARRIERS - len(receivers), len(others))
        receivers += self._process.rng.sample(others, missing)
        if not len(table):
            self._in_vain[group] = in_vain + 1
            if in_vain >= PATIENCE:
                contacts = self._discovery.contact_addresses()
                receivers += [Contact(UNKNOWN_PEER, one) for one in contacts]
        asked |= dict.fromkeys(contact.address for contact in receivers)
        self._process.outlet(Kind.LINKS, group).send(receivers, Carry(topic.name))
        return RENEW_SECONDS if len(table) else ASK_SECONDS

    def _wake_after(self, seconds: float, local_group: LocalGroup) -> None:
        name = local_group.serial, "carry"
        token = Token(None, local_group.topic.group, name)
        self._process.outbox.wakes.append(Wake(seconds, token))
