"""The register of a gateway: the members that have announced themselves, by their communities.

Anybody who may join a topic may announce itself in any number of topics below it. So each community
counts as one of the member that announced itself there first, and a member with more than a
sixteenth of all drives out its own (`camcast.vocabulary.share.Used`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from attrs import define

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.share import Used
from camcast.vocabulary.topics import GroupId, Topic

log = Logger(__name__)

LEASE_SECONDS: Final = 30.0  # chosen: a crashed process is offered as a contact no longer
CONTACTS_MAX: Final = 64  # chosen: members remembered for a community; a newcomer gets 5
TELL_SECONDS: Final = 60.0  # chosen: as names are looked up; members renew at all that they know
# chosen: two losses of three messages do not matter; whoever asks finds out who died (`Check`)
TOLD_SECONDS: Final = 2.5 * TELL_SECONDS
GROUPS_MAX: Final = 4096  # chosen: bounds a gateway's memory at about 50 MB


@define
class Member:
    """A member of a community that has announced itself."""

    contact: Contact
    until: float
    """When the lease ends."""
    checked: float = -inf
    """When the member last answered a check."""
    since: float = -inf
    """When the member announced itself first; it has renewed its lease since then."""
    told: bool = False
    """Whether another gateway has told of the member, and not the member itself."""


class Register:
    """The members of each group that have announced themselves here, until their lease ends."""

    def __init__(self) -> None:
        self._groups: dict[GroupId, dict[PeerId, Member]] = {}
        self._topics: dict[GroupId, Topic] = {}
        self._used = Used[PeerId, GroupId](GROUPS_MAX)
        self._log = MinuteLog()

    def remember(self, topic: Topic, contact: Contact, now: float, *, told: bool = False) -> Member:
        """Remember a member; beyond the bounds the one announced longest ago makes room.

        What another gateway has `told` does not replace an announcement. A community that makes
        room, which is that announced longest ago as well, is logged: until its members announce
        themselves again, a newcomer founds it a second time.
        """
        group = topic.group
        if group not in self._groups and len(self._groups) >= GROUPS_MAX:
            self._leave(self._used.to_go())
            if self._log.due("full", now):
                log.warning("the register is full with %d communities: one is left out", GROUPS_MAX)
        members = self._groups.setdefault(group, {})
        self._topics[group] = topic
        before = members.get(contact.peer)
        if told and before is not None and not before.told and before.until >= now:
            return before
        members.pop(contact.peer, None)
        if len(members) >= CONTACTS_MAX:
            del members[next(iter(members))]
        checked = -inf if before is None else before.checked
        until = now + (TOLD_SECONDS if told else LEASE_SECONDS)
        since = now if before is None or before.until < now else before.since
        remembered = members[contact.peer] = Member(contact, until, checked, since, told)
        eldest = min(members.values(), key=lambda one: one.since)
        self._used.use(eldest.contact.peer, group)
        return remembered

    def _leave(self, group: GroupId) -> None:
        """Leave a community out."""
        self._groups.pop(group, None)
        self._topics.pop(group, None)
        self._used.drop(group)

    def forget(self, group: GroupId, peer: PeerId) -> None:
        """Forget a member that withdrew."""
        members = self._groups.get(group, {})
        members.pop(peer, None)
        if not members:
            self._leave(group)

    def announced(self, now: float) -> Iterator[tuple[Topic, tuple[Contact, ...]]]:
        """Yield each topic with the members that announced themselves here."""
        for group, topic in self._topics.items():
            members = self._groups[group].values()
            contacts = tuple(one.contact for one in members if one.until >= now and not one.told)
            if contacts:
                yield topic, contacts

    def all(self, now: float) -> Iterator[tuple[Topic, Member]]:
        """Yield all members whose lease runs, each with its topic."""
        for group, topic in self._topics.items():
            for member in self._groups[group].values():
                if member.until >= now:
                    yield topic, member

    def members(self, group: GroupId, now: float) -> list[Contact]:
        """Return the members whose lease runs."""
        members = self._groups.get(group, {})
        for peer, member in list(members.items()):
            if member.until < now:
                self.forget(group, peer)
        return [member.contact for member in members.values()]

    def unchecked(self, group: GroupId, since: float) -> dict[PeerId, Contact]:
        """Return the members that have not answered a check since then."""
        members = self._groups.get(group, {}).items()
        return {p: one.contact for p, one in members if one.checked < since}

    def get(self, group: GroupId, peer: PeerId) -> Member | None:
        """Return a member, whether or not its lease runs."""
        return self._groups.get(group, {}).get(peer)
