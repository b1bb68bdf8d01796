"""Remote queries: what a node answers to the links and discoveries of other processes.

A process of another community searches for super-processes, checks those that it has, or still
sends events to a process that has left or that had this address before. This process answers it
from its topic tables and its super-topic tables. It also names, to a process that searches, those
that check this one as their super-process, so that two communities below this one find each other
when no gateway lives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from math import inf
from typing import Final, NamedTuple

from camcast.engine import link_messages
from camcast.engine.link_messages import (
    SEARCH_BYTES,
    SEARCH_NEIGHBOURS,
    SEARCH_TTL,
    AnsContact,
    Gone,
    NewProcess,
    Ping,
    Pong,
    ReqContact,
    SuperProcesses,
    SuperTopics,
)
from camcast.engine.local_group import LocalGroup
from camcast.engine.process_context import ProcessContext
from camcast.engine.super_topic_table import PUSH_PEERS, SuperTopicTable
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.hierarchy import ANCESTORS_MAX, SUPER_TOPICS_MAX, by_name
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, read_topic
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.token_buckets import each_second
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind

# chosen: each process that has a link to this one needs one goodbye. Events with forged addresses
# make 64 processes a second get a record of some 90 bytes.
GOODBYES_A_SECOND: Final = 64
BELOW_MAX: Final = 64  # chosen: the g checkers of a dozen communities; 10 kB
BELOW_SECONDS: Final = 60.0  # chosen: a dozen checks; a dead process is not named for longer
SCOPE_MAX: Final = 33  # chosen: a topic has at most 32 levels, so 33 with the root
STEPS_MAX: Final = 1 + ANCESTORS_MAX  # of one telling: a topic, and all that may include it
SEARCHES_REMEMBERED: Final = 1024  # chosen: minutes of searches by a community of thousands


class _Below(NamedTuple):
    """A process that has checked this one, in its community, and when it did so last."""

    contact: Contact
    group: GroupId
    when: float


class RemoteQueries:
    """Answers other processes, and hands what they answer to this process's own links."""

    def __init__(self, process: ProcessContext, parameters: CommunitySettings) -> None:
        self._process = process
        self._groups = process.groups
        self._rng = process.rng
        self._counters = process.recorder.counters
        self._questions = process.liveness.questions
        self._goodbyes = each_second(GOODBYES_A_SECOND)
        self._below: dict[PeerId, _Below] = {}  # who checked last comes last
        self._relay = SearchRelay(
            process.me, self._known_to_searchers, self.neighbours, self._outlet, parameters
        )

    # -- what this process knows -----------------------------------------------------------

    def members(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return members of a group that this process is in, itself first; else none."""
        local_group = self._groups.joined(group)
        if local_group is None:
            return []
        return [self._process.me, *local_group.membership.peers().sample(wanted - 1, self._rng)]

    def known(self, group: GroupId, wanted: int) -> list[Contact]:
        """Draw members of any community, from the topic and super-topic tables."""
        if members := self.members(group, wanted):
            return members
        known = self._groups.tables.sample(group, wanted, self._rng)
        return self._rng.sample(known, min(wanted, len(known)))

    def _known_to_searchers(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return members of any community; if none is known, those that have checked recently."""
        below = (one.contact for one in self._below.values() if one.group == group)
        return self.known(group, wanted) or list(islice(below, wanted))

    def neighbours(self, wanted: int) -> list[Contact]:
        """neighborhood(p_i): a sample of all processes in this process's tables (3.3)."""
        groups = self._groups
        known = groups.neighbours(wanted, self._rng) + groups.tables.nearest(self._rng)
        contacts = list({contact.peer: contact for contact in known}.values())
        return self._rng.sample(contacts, min(wanted, len(contacts)))

    def is_super_process(self, peer: PeerId) -> bool:
        """Return whether a process is in one of the super-topic tables."""
        return self._groups.tables.is_super_process(peer)

    def remembers(self, table: SuperTopicTable, topic: Topic) -> None:
        """See `KnownProcesses`."""
        self._groups.tables.remembers(table, topic)

    def entered(self, table: SuperTopicTable, peer: PeerId) -> None:
        """See `KnownProcesses`."""
        self._groups.tables.entered(table, peer)

    def removed(self, table: SuperTopicTable, peer: PeerId) -> None:
        """See `KnownProcesses`."""
        self._groups.tables.removed(table, peer)

    # -- what this process answers ---------------------------------------------------------

    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        """Answer a question of another process's links, or take an answer to those of `group`.

        A question about a topic that this process is joining is not answered: nobody shall send it
        events yet, or forget its address.
        """
        self._forget_below(now)
        match message:
            case ReqContact():
                self._relay.receive(source, group, message)
            case NewProcess(topic=name, wanted=wanted):
                topic = read_topic(name)
                wanted = max(1, min(wanted, link_messages.CONTACTS_MAX))
                if self.members(topic.group, 1):
                    named = partial(self._name_members, source, group, topic, wanted)
                    self._questions.prove(source, now, named)
                elif topic.group not in self._groups.current:
                    self._outlet(group).send([source], Gone(name))
            case Ping(topic=name):
                self._below.pop(source.peer, None)
                self._below[source.peer] = _Below(source, group, now)
                asked = read_topic(name).group
                if (joined := self._groups.joined(asked)) is not None:
                    age = inf if joined.repair is None else joined.repair.seconds_a_member(now)
                    self._outlet(group).send([source], Pong(name, age))
                    self._tell_super_topics(joined, source, group)
                elif asked not in self._groups.current:
                    self._outlet(group).send([source], Gone(name))
            case (
                AnsContact(topic=name) | SuperProcesses(topic=name, pushed=False) | Gone(topic=name)
            ):
                # All tables share what one has asked. And `Gone` may answer an event of any
                # subtopic, so its group does not say which table it is for.
                for table in self._groups.tables.tables(read_topic(name)):
                    table.receive(source, message, now)
            case SuperTopics():
                self._learn_super_topics(source, group, message, now)
            case _ if (asking := self._groups.current.get(group)) is not None:
                for table in asking.ways_up.tables:
                    table.receive(source, message, now)
            case _:
                self._counters.stray_controls += 1

    def _name_members(
        self, source: Contact, group: GroupId, topic: Topic, wanted: int, _now: float
    ) -> None:
        members = self.members(topic.group, wanted)
        contacts = tuple(c for c in members if c.peer != source.peer and c.meets(source))
        outlet = self._outlet(group)
        outlet.send([source], SuperProcesses(topic.name, contacts, pushed=False))
        local_group = self._groups.joined(topic.group)
        for table in local_group.links if local_group is not None else ():
            for above, contact in table.ancestors():
                outlet.send([source], AnsContact(above.name, (contact,)))

    def _tell_super_topics(self, joined: LocalGroup, receiver: Contact, group: GroupId) -> None:
        """Tell a process that checks this one what names do not say of its super-topics."""
        topic, hierarchy = joined.topic, self._process.hierarchy
        told = hierarchy.unusual(topic)
        if joined.ways_up.super_topics != by_name(topic):
            told[topic] = joined.ways_up.super_topics
        if told:
            steps = tuple(
                (one.name, tuple(super_topic.name for super_topic in super_topics))
                for one, super_topics in list(told.items())[:STEPS_MAX]
            )
            self._outlet(group).send([receiver], SuperTopics(topic.name, steps, pushed=False))

    def _learn_super_topics(
        self, source: Contact, group: GroupId, message: SuperTopics, now: float
    ) -> None:
        """Note what a super-process tells of topics above a community, and push what is new."""
        asking, above = self._groups.current.get(group), read_topic(message.topic)
        if asking is None:
            return
        if not message.pushed and not any(
            table.holds(source.peer, above) for table in asking.ways_up.tables
        ):
            return  # nobody has asked it
        hierarchy, changed = self._process.hierarchy, list[Topic]()
        for name, super_topics in message.steps[:STEPS_MAX]:
            topic = read_topic(name)
            if topic == above or topic in hierarchy.ancestors(above):
                told = [read_topic(one) for one in super_topics[:SUPER_TOPICS_MAX]]
                if hierarchy.tell(topic, told, now):
                    changed.append(topic)
        if changed:
            self._groups.fit(changed, now)
            pushed = SuperTopics(message.topic, message.steps[:STEPS_MAX], pushed=True)
            peers = asking.membership.peers().sample(PUSH_PEERS, self._rng)
            self._outlet(group).send(peers, pushed)

    def _forget_below(self, now: float) -> None:
        """Forget those that have not checked this process lately, and the oldest of too many."""
        below = self._below
        while below:
            oldest = next(iter(below))
            if len(below) <= BELOW_MAX and below[oldest].when >= now - BELOW_SECONDS:
                return
            del below[oldest]

    def say_gone(
        self, sender: PeerId, address: str, event_topic: Topic, group: GroupId, now: float
    ) -> None:
        """Tell the sender of an event that this process is not in the event's super-community.

        This process has left, or listens where one that died did before. Nobody is told without a
        valid address, or beyond `GOODBYES_A_SECOND`.
        """
        left = self._groups.left.get(group)
        known = self._process.hierarchy.ancestors(event_topic)
        above = (left.topic,) if left is not None else (event_topic, *known)
        topic = next((topic for topic in above if topic.group == group), None)
        if not address or topic is None:
            return
        try:
            stranger = Contact(sender, address)
        except AddressError:
            return
        if self._goodbyes.take(now):
            self._outlet(event_topic.group).send([stranger], Gone(topic.name))

    def _outlet(self, group: GroupId) -> ControlOutlet:
        return self._process.outlet(Kind.LINKS, group)


class SearchRelay:
    """Answers each search once, or passes it on while its TTL lasts (Figure 5, lines 4 to 13).

    `known(group, k)` are members of a community that this process knows, `neighbours(k)` all that
    it knows; `outlet(group)` sends for a community.
    """

    def __init__(
        self,
        me: Contact,
        known: Callable[[GroupId, int], list[Contact]],
        neighbours: Callable[[int], list[Contact]],
        outlet: Callable[[GroupId], ControlOutlet],
        parameters: CommunitySettings,
    ) -> None:
        self._me = me
        self._known = known
        self._neighbours = neighbours
        self._outlet = outlet
        self._parameters = parameters
        self._searches: dict[bytes, None] = {}  # ordered: the oldest is forgotten first

    def receive(self, origin: Contact, group: GroupId, message: ReqContact) -> None:
        """Take a search that `origin` sends for its community `group`."""
        search = message.search[:SEARCH_BYTES]
        if search in self._searches:
            return
        if len(self._searches) >= SEARCHES_REMEMBERED:
            del self._searches[next(iter(self._searches))]
        self._searches[search] = None
        for name in message.topics[:SCOPE_MAX]:
            known = self._known(read_topic(name).group, self._parameters.z)
            contacts = tuple(c for c in known if c.peer != origin.peer and c.meets(origin))
            if contacts and self._me.meets(origin):
                self._outlet(group).send([origin], AnsContact(name, contacts))
                return
        ttl = min(message.ttl, SEARCH_TTL) - 1
        if ttl > 0:
            onward = [
                contact
                for contact in self._neighbours(SEARCH_NEIGHBOURS + 1)
                if contact.peer != origin.peer
            ][:SEARCH_NEIGHBOURS]
            passed_on = ReqContact(search, message.topics[:SCOPE_MAX], ttl)
            self._outlet(group).send(onward, passed_on, reply_to=origin)
