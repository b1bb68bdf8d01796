"""LocalGroup: what a process holds for one group, such as a community, that it is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define, field

from camcast.doors.dissemination import Dissemination, DisseminationContext
from camcast.doors.membership import Membership
from camcast.engine.known_streams import KnownStreams
from camcast.engine.repair.hold_back import HoldBack
from camcast.engine.repair.last_values import LastValues
from camcast.engine.repair.repair import Repair
from camcast.engine.super_topic_table import SuperTopicTable
from camcast.engine.ways_up import WaysUp
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

RETRY_SECONDS: Final = 1.0  # chosen: a restarted gateway is found again within seconds
LOST_SECONDS: Final = 30.0  # chosen: for whoever asks after an alarm; an older death is no news
LOST_PEERS_MAX: Final = 8  # chosen: more die together where a whole site does, and some name it


@define(eq=False)
class LocalGroup:
    """One group that this process takes part in (paper 000, 2.1: it is "interested")."""

    context: DisseminationContext
    """The arguments of the dissemination: the membership, the interest and the rest."""
    dissemination: Dissemination
    ways_up: WaysUp
    """The super-topic tables; the context shows the active ones to the dissemination."""
    batched: bool
    """Whether batches of the group may have more than one event."""
    batch_events_max: int
    """How many events a batch of this process has at most. With 1, even events that
    arrive together are spread singly."""
    transit: bool
    """Whether events pass through, and are delivered in another group."""
    parasitic: bool
    """Whether the group carries events that do not interest this process."""
    selective: bool
    """Whether attributes of an event, too, decide if it interests this process."""
    reports_duplicates: bool
    """Whether the trace or the dissemination is told of duplicates."""
    serial: int
    """Tells its timers from those of an earlier membership of the same group."""
    neighbour_changes: list[tuple[bool, Contact]]
    """Changes of the topic table that the node has not passed on yet: (there, neighbour)."""
    relayed: bool = False
    """Whether the group's events are of no interest to this process, which relays them."""
    streams: KnownStreams = field(factory=KnownStreams)
    """The known events of the group."""
    repair: Repair | None = None
    """Finds out what was missed, and asks for it; None in a group without repair."""
    hold_back: HoldBack | None = None
    """Delivers events in the order of their publication; None where they come as they arrive."""
    archive: Callable[[Batch], None] | None = None
    """Keeps what is delivered beyond the life of the process; None without an archive."""
    started: bool = False
    """Whether the discovery has answered, so that the membership has begun to join."""
    leaving: bool = False
    named: tuple[Contact, ...] = ()
    """The members that the discovery named last, while the process joins through them."""
    named_at: float = 0.0
    silent: dict[PeerId, int] = field(factory=dict)
    """How often in a row members named last did not answer, where the discovery asks none."""
    unanswered: Finding | None = None
    """The discovery's last answer while it cannot tell who is in the community, else None."""
    retry_seconds: float = RETRY_SECONDS
    retries: int = 0
    """How often the discovery could not answer; only the latest timer for a retry counts."""
    outlived: bool = False
    """Whether the peer that left the topic table last was found dead or cut off."""
    topic: Topic = field(init=False)
    """The group's topic."""
    _lost: dict[str, float] = field(factory=dict)
    """When peers were found dead or cut off that have not come back, by address."""

    @topic.default
    def _its_topic(self) -> Topic:
        return self.context.group

    @property
    def links(self) -> list[SuperTopicTable]:
        """The super-topic tables by which events climb now."""
        return self.ways_up.active

    @property
    def last_values(self) -> LastValues | None:
        """The last values of keys; None where none are kept."""
        comparing = None if self.repair is None else self.repair.comparing
        return None if comparing is None else comparing.values

    @property
    def membership(self) -> Membership:
        """The membership of the group."""
        return self.context.membership

    @property
    def subscribed(self) -> Topic:
        """The first topic subscribed to, under which the trace names the group."""
        return self.context.interest.topics[0]

    @property
    def joined(self) -> bool:
        """Whether the process is a member by now."""
        return self.context.membership.joined and not self.leaving

    def tune(self, settings: CommunitySettings, now: float) -> None:
        """Go by other settings from now on.

        What is settled as a group is joined stays: its spread, and whether events are repaired.
        """
        before, self.context.tuning.settings = self.context.parameters, settings
        self.batch_events_max = settings.batch_events_max if self.batched else 1
        if settings.z != before.z:
            for table in self.ways_up.tables:
                table.fit(now)

    def note_peer(self, contact: Contact, now: float, *, there: bool, silent: bool) -> None:
        """Note that a peer came into the topic table, or left it: `silent` if it was found dead."""
        self._lost.pop(contact.address, None)
        if silent:
            self._lost[contact.address] = now
            if len(self._lost) > LOST_PEERS_MAX:
                del self._lost[next(iter(self._lost))]
        if not there:
            self.outlived = silent
        elif (repair := self.repair) is not None and repair.comparing is not None:
            repair.comparing.greet(contact, now)

    def on_standstill(self, seconds: float, now: float) -> None:
        """Take it that the process did not run, and could read no answers, for so many seconds."""
        if self.repair is not None:
            self.repair.on_standstill(seconds, now)
        for table in self.ways_up.tables:
            table.on_standstill(seconds)

    def on_clock_set(self, now: float) -> None:
        """Go by the wall clock as it is from now on, after it was set."""
        if self.repair is not None:
            self.repair.clock_set(now)

    def lost_peers(self, now: float) -> tuple[str, ...]:
        """Return the addresses of peers found dead or cut off in the last `LOST_SECONDS`."""
        return tuple(one for one, when in self._lost.items() if now - when < LOST_SECONDS)

    def copies_now(self) -> tuple[int, int]:
        """Return how many peers an event published now is sent to, and the live links."""
        return self.dissemination.copies_now(len(self.membership.peers())), self.live_links()

    def first_hop(self) -> list[Contact]:
        """Return every process that may be sent a new event directly."""
        above = [contact for link in self.links for contact in link.nearest()[1]]
        return [*self.dissemination.first_hop(self.membership.peers()), *above]

    def live_links(self) -> int:
        """Count the live super-processes in the super-topic tables, the nearest level only."""
        return sum(len(link.nearest()[1]) for link in self.links)
