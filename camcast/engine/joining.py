"""How a process comes into its groups: whom its discovery seeks, and what is done with the answer.

A node announces itself to its discovery and seeks members. An answer goes to each part that may
have asked for it: the membership that joins, or has joined, and the super-topic tables. An empty
answer makes the process the founder. Without any answer the node tells whom it asked, and asks
again later, ever more rarely, for as long as the group is wanted. Where the discovery does not ask
itself whether the members that it names are alive, it is told who was named in vain.

A group is *joining* until its membership says that it has joined; then its super-topic tables,
its dissemination and its repair start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from camcast.doors.discovery import Discovery
from camcast.doors.first_contacts import CONTACTS_WANTED
from camcast.doors.protocol import Group
from camcast.doors.signatures import NotAllowedError
from camcast.engine.local_group import RETRY_SECONDS, LocalGroup
from camcast.engine.local_group_maker import Surroundings, make_local_group
from camcast.engine.misfits import MisfitAnswers
from camcast.engine.process_context import ProcessContext
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.happenings import Happening
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Finding, Token, Wake
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind

# chosen: as often as a process announces itself to a gateway, be that silent or not. With 30, a
# newcomer that lost three searches in a row (30 % loss: one in 500) was kept out for a minute.
RETRY_SECONDS_MAX: Final = 10.0
SILENT_SECONDS: Final = 0.3  # chosen: less than a membership waits for the answer of a contact, 0.4
# chosen: where the discovery does not ask itself whether the members that it names are alive. At
# 30 % loss a living one is silent twice with probability 0.26; the communities then merge.
SILENT_TIMES: Final = 2


class Joining:
    """The groups that a process is joining, and its questions to the discovery.

    `is_put_out` says whether a process is known to be revoked, `tell_neighbours` tells the changes
    of a group's topic table.
    """

    def __init__(
        self,
        process: ProcessContext,
        around: Surroundings,
        discovery: Discovery,
        misfits: MisfitAnswers,
        is_put_out: Callable[[PeerId], bool],
        tell_neighbours: Callable[[LocalGroup, float], None],
    ) -> None:
        self._process, self._around = process, around
        self._discovery, self._misfits = discovery, misfits
        self._is_put_out, self._tell_neighbours = is_put_out, tell_neighbours
        self.under_way: dict[GroupId, LocalGroup] = {}
        """The groups that are being joined."""
        self.moved: dict[GroupId, None] = {}
        """The joining groups whose membership has had an input, so that it may have joined."""

    def check(self, topics: Sequence[Topic], now: float) -> None:
        """Raise `NotAllowedError` if the members of a topic would not take this process in."""
        for topic in topics:
            if not self._process.guard.may_join(self._process.me.peer, topic, now):
                raise NotAllowedError(
                    f"this process has no certificate to join {topic} now; certify its key for it,"
                    " or renew the certificate"
                )

    def enter(
        self,
        group: Group,
        interest: ProcessInterest,
        super_topics: Sequence[Topic],
        parameters: CommunitySettings,
        now: float,
    ) -> LocalGroup:
        """Begin to take part in a group."""
        local_group = make_local_group(
            self._process, self._around, group, interest, super_topics, parameters
        )
        self._process.groups.enter(local_group)
        self._begin(local_group, now)
        return local_group

    def _begin(self, local_group: LocalGroup, now: float) -> None:
        """Announce this process as a member of a group, and seek others."""
        self.under_way[local_group.topic.group] = local_group
        self._discovery.announce(local_group.topic, now)
        self.seek(local_group.topic, now)

    def end(self, topic: Topic, now: float) -> None:
        """Announce this process no longer, be it a member by now or not."""
        self.under_way.pop(topic.group, None)
        self._discovery.withdraw(topic, now)

    def seek(self, topic: Topic, now: float) -> None:
        """Look for members of a group, which this process need not be joining."""
        self._discovery.seek(topic, CONTACTS_WANTED, now)

    def on_clock_set(self, now: float) -> None:
        """Ask anew for each group: it may be that the wrong time was why nobody answered."""
        for local_group in self.under_way.values():
            local_group.retry_seconds = RETRY_SECONDS
            self.seek(local_group.topic, now)

    def note_moved(self, local_group: LocalGroup) -> None:
        """Note that the membership of a group has had an input."""
        if (group := local_group.topic.group) in self.under_way:
            self.moved[group] = None

    def note_all_moved(self) -> None:
        """Note an input that any membership may have had."""
        self.moved |= dict.fromkeys(self.under_way)

    def settle_if_due(self, now: float) -> None:
        """Call `settle` if there is anything to handle: cheap, since after each frame and timer."""
        outbox = self._process.outbox
        if outbox.seeks or outbox.findings or self.moved:
            self.settle(now)

    def settle(self, now: float) -> None:
        """Handle seeks and findings in the outbox, and start local groups that have joined."""
        outbox, tell = self._process.outbox, self._process.recorder.tell
        while outbox.seeks or outbox.findings:
            seeks, outbox.seeks = outbox.seeks, []
            for seek in seeks:
                tell(Happening("seek", topic=seek.topic))
                if seek.by is Kind.MEMBERSHIP:
                    self._report_silent(seek.topic, now)
                self._discovery.seek(seek.topic, seek.wanted, now)
            findings, outbox.findings = outbox.findings, []
            for finding in findings:
                self.found(finding, now)
        moved, self.moved = self.moved, {}
        joining = [self.under_way[group] for group in moved if group in self.under_way]
        joined = [local_group for local_group in joining if local_group.joined]
        if joined:
            for local_group in joined:
                del self.under_way[local_group.topic.group]
            for local_group in joined:
                for topic in local_group.context.interest.topics:
                    tell(Happening("joined", local_group.topic.group, topic=topic))
                local_group.ways_up.start(now)
                local_group.dissemination.start(now)
                if local_group.repair is not None:
                    local_group.repair.start(now)
            self.settle(now)

    def found(self, finding: Finding, now: float) -> None:
        """Give an answer of the discovery to each part that may have asked for it."""
        topic, tell = finding.topic, self._process.recorder.tell
        finding, contacts = self._usable(finding, now)
        local_group = self._process.groups.current.get(topic.group)
        if local_group is not None:
            local_group.unanswered = finding if finding.unknown else None
            if finding.unknown and not local_group.joined:
                asked = (*finding.unreachable, *finding.ignorant)
                tell(Happening("unanswered", topic.group, addresses=asked))
                if self._discovery.decoder is None:
                    self._misfits.ask(finding.unreachable, now)
            membership = local_group.membership
            if not membership.joined:
                silent = local_group.silent
                contacts = tuple(c for c in contacts if silent.get(c.peer, 0) < SILENT_TIMES)
                local_group.named, local_group.named_at = contacts, now
            if finding.unknown:
                self._retry(local_group)
            elif local_group.started or membership.joined:  # or others found this process first
                membership.contacts_found(contacts, now, finding.size)
            else:
                local_group.started = True
                membership.join(contacts, now)
                if finding.size is not None:
                    membership.contacts_found((), now, finding.size)
            self.note_moved(local_group)
            self._tell_neighbours(local_group, now)
        tell(Happening("found", topic=topic, count=len(contacts)))
        if contacts:
            for table in self._process.groups.tables.tables(topic):
                table.contacts_found(topic, contacts, now)

    def _usable(self, finding: Finding, now: float) -> tuple[Finding, tuple[Contact, ...]]:
        """Return whom of those that were found this process may ask, and can.

        The discovery may still name a process that listened at this process's address before. Where
        there are members and this process can call none, the finding counts them as unreachable.
        """
        me = self._process.me
        contacts = tuple(
            c
            for c in finding.contacts
            if c.peer != me.peer and c.address != me.address and not self._is_put_out(c.peer)
        )
        contacts = self._process.guard.only_members(contacts, finding.topic, now)
        if not me.is_dialable and contacts:
            undialable = tuple(c.address for c in contacts if not c.is_dialable)
            if len(undialable) == len(contacts):
                finding = finding._replace(unreachable=(*finding.unreachable, *undialable))
            contacts = tuple(c for c in contacts if c.is_dialable)
        return finding, contacts

    def _report_silent(self, topic: Topic, now: float) -> None:
        """Tell the discovery whom it named in vain, as a membership that joins seeks again."""
        local_group = self._process.groups.current.get(topic.group)
        if local_group is None or local_group.membership.joined or not local_group.named:
            return
        if now - local_group.named_at < SILENT_SECONDS:
            return  # they have not had the time to answer
        named, local_group.named = local_group.named, ()
        if not self._discovery.contacts_silent(topic, named, now):
            before = local_group.silent
            local_group.silent = {one.peer: before.get(one.peer, 0) + 1 for one in named}

    def _retry(self, local_group: LocalGroup) -> None:
        """Ask the discovery again after a while, by a timer of the node's own."""
        if not local_group.joined:
            local_group.retries += 1
            name = local_group.serial, local_group.retries
            token = Token(None, local_group.topic.group, name)
            self._process.outbox.wakes.append(Wake(local_group.retry_seconds, token))
            local_group.retry_seconds = min(2 * local_group.retry_seconds, RETRY_SECONDS_MAX)
