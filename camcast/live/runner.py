"""The live runner: drives one node with the real clock and real pipes.

Timers of one process share wake-ups of the event loop: a process in a hundred communities, each of
which sets a timer once a second, would wake a hundred times a second. A timer of `PATIENT_SECONDS`
or more comes up to `TOGETHER_SECONDS` later, with the others of the same moment; such a process
then wakes 10 times a second. The moments are the same for all nodes of an operating system's
process, so that heartbeats of several nodes to one peer share a frame: with 150 nodes a frame
carries 3.2 of them, and 2.4 where moments were 0.05 s apart, for three quarters of the CPU.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import ceil
from random import Random, random
from typing import TYPE_CHECKING, Final, TypeVar

from attrs import evolve

from camcast.doors.contained import PlugError
from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.doors.profile import Profile
from camcast.doors.transport import AddressInUse, BarredError, BindError, InputPipe, OutputPipes
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.engine.questions import PROOF_PAUSES
from camcast.engine.settings import Parts, Settings
from camcast.inbox.deliveries import Inbox
from camcast.inbox.step import here, step
from camcast.interests.interest import Interest
from camcast.live.audit import AuditFile
from camcast.live.live_waiting import LiveWaiting
from camcast.live.own_address import with_port_of
from camcast.live.reporting import Reporter
from camcast.live.wall_clock import COMPARE_SECONDS, read_clocks
from camcast.live.wire.pipes import peers_allowed
from camcast.live.wire.reading_time import Patience, ReadingTime, reading_time
from camcast.live.wire.udp import UdpPort
from camcast.observe.condition_table import LOOK_SECONDS
from camcast.observe.failure_log import FailureLog
from camcast.observe.recent import Recent
from camcast.observe.trace import Sink, Trace
from camcast.vocabulary.addresses import is_numeric
from camcast.vocabulary.batches import Batch, Keyed
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import NO_EVENT, EventId, Receipt
from camcast.vocabulary.extensions import BOTH_WAYS
from camcast.vocabulary.happenings import NO_GROUP, Change, Standing
from camcast.vocabulary.hierarchy import Steps
from camcast.vocabulary.identity import (
    UNKNOWN_PEER,
    Contact,
    PeerId,
    new_peer_id,
    placeholder,
)
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.outbox import Token
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

if TYPE_CHECKING:
    from camcast.live.archive.archive import FileArchive

_log = Logger(__name__)

ResultT = TypeVar("ResultT")

# chosen: 800 joins in one turn at a process whose view has 20 peers; as many records as a queue has
# room for. Control records beyond it, which strangers may cause, are dropped.
CONTROL_COPIES_A_TURN_MAX: Final = 2**14
# chosen: a quiet process says less than that in a second, and is spared a callback in each turn
_FEW_COPIES: Final = 2**8

# chosen: of two gateways one may be down, or behind a firewall of its own
GATEWAYS_ASKED: Final = 2

WAIT_SECONDS: Final = 1.0  # chosen: how long `publish` waits for room, at most

# chosen: four frames. Gathered events are not yet in the queues by which room is judged; 16
# publishers of a loop gather at most half a queue together.
GATHERED_BYTES_MAX: Final = 2**17
# chosen: with fifty publishers of an event a turn, 1 turn costs 31 us a delivery, 2 cost 23, 4 14,
# 8 11; nothing waits in an idle loop, and with 200 events a second latencies are the same.
GATHERING_TURNS_MAX: Final = 8
_HEADS_BYTES: Final = 2**14  # chosen: heads of the records that are gathered, of 300 bytes at most

PATIENT_SECONDS: Final = 0.5  # chosen: shorter ones repair and retry, and events wait for them
TOGETHER_SECONDS: Final = 0.1  # chosen: the jitter of a second's heartbeats; see the head
_PHASE: Final = random()  # no secret
"""The part of `TOGETHER_SECONDS`, from 0 to 1, at which the shared moments lie: by chance, so that
the processes of a machine do not all wake at once."""


class Runner:
    """Feeds frames, timers and commands to a node, and carries out what it wishes.

    Binds to the running loop; `clock` gives the wall clock's time by that of the loop. The `inbox`
    gets every batch for the application, and the events that can no longer be had; `on_change` is
    called with each change in a group. A process that is not `dialable` announces a placeholder,
    and hears what others send on the connections that it makes. `recent` is told what happens to
    events, `audit` what is refused. Raises what `OutputPipes.open_input` raises.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        pipes: OutputPipes,
        *,
        clock: Clock,
        bind: str,
        advertise: str | None,
        dialable: bool,
        rng: Random,
        sink: Sink | None,
        recent: Recent | None,
        inbox: Inbox,
        on_change: Callable[[GroupId, Change], None],
        archive: FileArchive | None = None,
        audit: AuditFile | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.clock = clock
        """The wall clock, by the time of the loop."""
        self.store = parts.store
        """Where batches are kept for others; None without repair."""
        self.archive = archive
        """Where they are kept on disk; None: nowhere."""
        self._pipes = pipes
        self.crowded = pipes.crowded
        """The output pipes that are more than half full, by the addresses of their processes."""
        self._inbox = inbox
        self.reading = reading_time()
        """The time by which this process is patient."""
        self.conditions = Conditions(self.reading)
        """The conditions that tasks wait for, such as that this process has joined."""
        self._closed = False
        self._control_copies = 0  # in this turn of the loop, with at most `_FEW_COPIES` of before
        self._gathered = 0  # the bytes published since the last flush
        self._timers = Timers(self.reading, self._wake)
        self.published = 0
        """The events that were accepted."""
        self.unpublished = 0
        """The events that were dropped."""
        self.failures = 0
        """The timers, datagrams, records, deliveries and happenings that have raised."""
        self._log = MinuteLog()
        self._failures: dict[str, FailureLog] = {}
        signatures = parts.signatures
        peer = new_peer_id(os.urandom) if signatures is None else signatures.peer_id
        self.input: InputPipe = pipes.open_input(bind, self._receive, peer)
        inbox.begin(peer, clock)
        me = Contact(peer, with_port_of(advertise or self.input.address, self.input.address))
        if not dialable:
            pipes.hear_on_outputs(self.input)
            me = placeholder(peer)
        pipes.unattached.append(self._on_unattached)
        if audit is not None:
            audit.watch(pipes, self._loop.time)
            parts = evolve(parts, audit=audit.note)
        self._audit = audit
        trace = None if sink is None else Trace(me.peer, sink)
        ring = None
        if recent is not None:
            ring = recent.note_batch
            pipes.lost.append(self._note_unsent)
        self._recent = recent
        self.waiting = LiveWaiting(clock, self._finish)
        """Runs the coroutines of the discovery."""
        parts = evolve(
            parts,
            waiting=self.waiting,
            plug_failed=self._on_plug_error,
            speaks=pipes.speaks,
            room=inbox.room,
            archive=archive,
        )
        self.node = Node(
            me, settings, rng, clock, trace, inbox.attributes, parts, ring, inbox.hierarchy
        )
        self._comparing = self._compare_later()
        self._looking: Patience | None = None
        self.node.outbox.happenings = []
        self._reporter = Reporter(self.node, on_change, recent)
        self._flush_handle: asyncio.Handle | None = None
        self._gathers = False
        """Whether what was published waits for more (`CommunitySettings.gather_seconds`)."""
        self._datagrams = _datagram_port(self._receive_datagram, pipes.profile, clock)
        self.reading.tell(self)

    @step
    def join(
        self,
        topic: Topic,
        parameters: CommunitySettings | None,
        super_topics: Sequence[Topic] | None,
        where: Interest | None,
        above: Steps,
    ) -> LocalGroup:
        """Begin to take part in the community of `topic`; the local group tells when it joined."""
        now = self._loop.time()
        local_group = self.node.join(topic, now, parameters, super_topics, where, above)
        self._drain()
        return local_group

    @step
    def tune(self, topic: Topic, settings: CommunitySettings) -> None:
        """See `Node.tune`; what was published before leaves by the settings of before."""
        self.flush()
        self.node.tune(topic, settings, self._loop.time())
        self._drain()

    @step
    def link(self, topic: Topic, super_topic: Topic) -> None:
        """See `Node.link`."""
        self.node.link(topic, super_topic, self._loop.time())
        self._drain()

    @step
    def unlink(self, topic: Topic, super_topic: Topic) -> None:
        """See `Node.unlink`; what was published before leaves first."""
        self.flush()
        self.node.unlink(topic, super_topic, self._loop.time())
        self._drain()

    @step
    def leave(self, topic: Topic) -> None:
        """See `Node.leave`; what was published before leaves first."""
        self.flush()
        local_group = self.node.local_group(topic)
        self.node.leave(topic, self._loop.time())
        self._drain()
        if local_group is not None:  # which may go on for other topics: then nothing happens to it
            self.conditions.look({local_group.topic.group: None})

    async def wait_for_room(self, local_group: LocalGroup) -> None:
        """Wait, `WAIT_SECONDS` at most, until the first hop of an event has room for more."""
        await self._pipes.wait_for_room(local_group.first_hop, WAIT_SECONDS)

    def publish(
        self,
        local_group: LocalGroup,
        topic: Topic,
        payload: bytes,
        upward_probability: float | None,
        *,
        typed: bool,
        keyed: Keyed | None = None,
    ) -> Receipt:
        """See `Node.publish`; the event leaves at the end of the loop's turn, or soon after.

        The event is dropped if its first hop has no room for it.
        """
        size = len(payload)
        if size > PAYLOAD_BYTES_MAX:  # it leaves in pieces, which are asked for
            repair, size = local_group.repair, 0
            has_room = repair is None or repair.has_room(len(payload), self._loop.time())
        else:
            has_room = not self.crowded or self._pipes.has_room(
                local_group.first_hop(), size + self._gathered + _HEADS_BYTES
            )
        if not has_room:
            self._drop(topic)
            return Receipt(NO_EVENT, 0, 0, accepted=False)
        steps = here.steps
        steps.in_step = True  # and no step is around this one: a task publishes
        try:
            receipt = self.node.publish(
                topic,
                payload,
                self._loop.time(),
                upward_probability=upward_probability,
                typed=typed,
                keyed=keyed,
            )
        finally:
            steps.in_step = False
        self.published += 1
        self._gathered += size
        # An event with a key leaves in a batch of its own.
        gather_seconds = 0.0 if keyed else local_group.context.tuning.settings.gather_seconds
        if self._flush_handle is None or (self._gathers and not gather_seconds):
            self._flush_in(gather_seconds)
        if self._gathered >= GATHERED_BYTES_MAX:
            self.flush()
        return receipt

    def _flush_in(self, seconds: float) -> None:
        """Flush after these seconds; with none soon, also what waits for others."""
        if self._flush_handle is not None:
            self._flush_handle.cancel()
        self._gathers = seconds > 0
        if self._gathers:
            self._flush_handle = self._loop.call_later(seconds, self.flush)
        else:
            frames = self.input.counters.frames_received
            self._flush_handle = self._loop.call_soon(self._flush_soon, frames, 1)

    def _flush_soon(self, frames: int, turns: int) -> None:
        """Flush if no frame came in the last turn of the loop, or what waits did so for enough.

        `frames` had come in before that turn. Where frames come in all the time, what is published
        one by one so leaves in batches, which cost their receivers as little as one event.
        """
        now = self.input.counters.frames_received
        if now == frames or turns == GATHERING_TURNS_MAX:
            self.flush()
        else:
            self._flush_handle = self._loop.call_soon(self._flush_soon, now, turns + 1)

    def now(self) -> float:
        """Return the time of the loop."""
        return self._loop.time()

    def seconds_since(self, when: float) -> float:
        """Return how many seconds ago a time was, given in seconds since 1970."""
        return max(0.0, self.clock.wall(self.now()) - when)

    @step
    def flush(self) -> None:
        """Let what was published leave now, if anything was."""
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
            self._gathered = 0
            self.node.flush(self._loop.time())
            self._drain()

    async def confirmed(
        self, local_group: LocalGroup, event: EventId, members: int, timeout: float
    ) -> int:
        """Return how many other members have said that they hold an event of this process.

        Waits until so many have, for `timeout` seconds at most.
        """
        self.flush()  # the questions follow the event
        confirmation = self._act(self.node.confirm, local_group, event, members)
        try:
            await self.conditions.wait_for(lambda: confirmation.complete, timeout)
        finally:
            if local_group.repair is not None:
                local_group.repair.confirming.end(confirmation)
        return len(confirmation.members)

    @step
    def history(self, local_group: LocalGroup, seconds: float) -> list[Batch]:
        """Return what is kept of a group's last `seconds`, and ask others for the rest."""
        batches = self.node.history(local_group, seconds, self._loop.time())
        self._drain()
        return batches

    def has_past(self, local_group: LocalGroup) -> bool:
        """Say whether the past that was asked for is here, or there is none to be had."""
        repair = local_group.repair
        return repair is None or (local_group.joined and repair.has_past(self._loop.time()))

    def reach(self, local_group: LocalGroup) -> float:
        """Return since when, in seconds since 1970, some member keeps events, this one included."""
        now, repair = self._loop.time(), local_group.repair
        return self.clock.wall(now if repair is None else repair.reach(now))

    @step
    def seek(self, topic: Topic) -> None:
        """Look for members of a community without joining it, to see who answers."""
        self.node.seek(topic, self._loop.time())
        self._drain()

    def standing(self, group: GroupId) -> Standing | None:
        """Return how this process stands in a group; None unless it is a member."""
        return self._reporter.standings.get(group)

    def misfits(self) -> list[str]:
        """Return a sentence about each process met lately that does not fit (`Stats.misfits`)."""
        now = self._loop.time()
        return [*self._pipes.misfits.lately(now), *self.node.misfits.lately(now)]

    def refusals(self) -> list[str]:
        """Return a sentence if there was no room for the connections of some peers."""
        refused = self.input.counters.connections_refused + self._pipes.counters.pipes_refused
        says = f"this process may have {peers_allowed(self._pipes)} (ulimit -n, LimitNOFILE=)"
        return [f"{refused} connections were refused, since {says}"] if refused else []

    async def is_called_back(self, gateways: Iterable[str]) -> bool:
        """Ask some of the gateways to connect to this process; say whether any does. Before `open`.

        True as well where no gateway takes the question that could send to a process which nobody
        can connect to: then nothing is known. False is never the worse for it: such gateways could
        not have answered this process at the address that it announces.
        """
        own = self.input.address, self.node.me.address
        asked = [one for one in await self._addresses_of(gateways) if one not in own]
        asked, questions = asked[:GATEWAYS_ASKED], self.node.liveness.questions
        for pause in PROOF_PAUSES if asked else ():
            self._act(self.node.ask_back, asked)
            if await self.conditions.wait_for(lambda: questions.called_back, pause):
                return True
        speaks, me = self._pipes.speaks, self.node.me.peer
        return not any(
            speaks(Contact(UNKNOWN_PEER, one), BOTH_WAYS.name)
            and not speaks(Contact(me, one), BOTH_WAYS.name)  # this process, by another address
            for one in asked
        )

    async def _addresses_of(self, gateways: Iterable[str]) -> list[str]:
        """Return the addresses of gateways, of which some may have host names."""
        found = list[str]()
        for one in gateways:
            if is_numeric(one):
                found.append(one)
                continue
            with suppress(OSError):  # an unknown name is not yet there
                found += await self.waiting.look_up(one)
        return list(dict.fromkeys(found))

    @step
    def open(self) -> None:
        """Let the discovery listen; raises `AddressInUse` or another `BindError`."""
        try:
            self.node.open(self._datagrams, self._loop.time())
        except OSError as error:
            reason = error.strerror or str(error)
            kind = AddressInUse if error.errno == errno.EADDRINUSE else BindError
            raise kind(error.errno, f"the overlay cannot listen: {reason}") from error
        self._drain()

    @step
    def move(self, address: str) -> None:
        """Announce another address from now on; port 0 stands for the one that is listened at.

        Connections are made again, since those from an address that this machine no longer has
        carry nothing.
        """
        self.flush()
        self.node.move(with_port_of(address, self.input.address), self._loop.time())
        self._pipes.dial_anew()
        self._drain()

    def look_regularly(self, look: Callable[[], None]) -> None:
        """Call `look` every `LOOK_SECONDS` until this is closed."""

        def look_now() -> None:
            look()
            self.look_regularly(look)

        due = self._timers.shared(LOOK_SECONDS)
        self._looking = self.reading.call_at(due, look_now)

    @step
    def close(self) -> None:
        """Stop listening; timers still to come do nothing. Closing again changes nothing."""
        if self._closed:
            return
        self._closed = True
        self.reading.tell_no_more(self)
        self._comparing.cancel()
        if self._looking is not None:
            self._looking.cancel()
        self._pipes.unattached.remove(self._on_unattached)
        if self._recent is not None:
            self._pipes.lost.remove(self._note_unsent)
        if self._audit is not None:
            self._audit.close(self._loop.time())
        self._timers.close()
        self.waiting.close()
        self.input.close()
        self.node.close(self._loop.time())

    def _on_unattached(self, contact: Contact) -> None:
        """Let an undialable process be called, once what is being sent now has left."""
        self._loop.call_soon(self._call_undialable, contact)

    @step
    def _call_undialable(self, contact: Contact) -> None:
        if not self._closed:
            self.node.unattached(contact, self._loop.time())
            self._drain()

    def _note_unsent(self, address: str, pieces: Sequence[bytes]) -> None:
        assert self._recent is not None
        self._recent.note_unsent(self._loop.time(), self.node.me.peer, address, pieces)

    @step
    def _receive_datagram(
        self, port: int, source: Endpoint, data: bytes, sender: bytes = b""
    ) -> None:
        try:
            self.node.receive_datagram(port, source, data, self._loop.time(), sender)
        except Exception as error:
            self._failed("a datagram", error)
        self._drain()

    def _receive(self, frame: bytes, link: PeerId | None = None) -> None:
        now = self._loop.time()
        steps = here.steps
        outer, steps.in_step = steps.in_step, True  # as `step` does: spares calls for each frame
        try:
            self.node.receive(frame, now, link)
        finally:
            try:
                self._drain()
            finally:
                steps.in_step = outer
        if link is not None and self.node.guard.is_barred(link, now):
            raise BarredError

    @step
    def _wake(self, tokens: Sequence[Token]) -> None:
        if not self._closed:
            for token in tokens:
                try:
                    self.node.wake(token, self._loop.time())
                except Exception as error:
                    self._failed("a timer", error)
            self._drain()

    @step
    def _finish(self, name: tuple[Hashable, ...], outcome: object) -> None:
        if not self._closed:
            try:
                self.node.finished(name, outcome, self._loop.time())
            except Exception as error:
                self._failed("a coroutine", error)
            self._drain()

    def _on_plug_error(self, error: PlugError) -> None:
        """Log an error of a plug, which the node has counted and contained."""
        log = self._failures.setdefault(error.plug, FailureLog())
        log.take(str(error), error.__cause__ or error, self._loop.time())

    def _failed(self, what: str, error: Exception) -> None:
        """Count and log what one input or wish has raised: the others go on."""
        self.failures += 1
        log = self._failures.setdefault(what, FailureLog())
        log.take(f"{what} of {self.node.me.address} failed: {error!r}", error, self._loop.time())

    @step
    def on_standstill(self, seconds: float) -> None:
        """See `Node.on_standstill`; the reading time tells of it."""
        self.node.on_standstill(seconds, self._loop.time())
        self._drain()

    def _compare_later(self) -> Patience:
        return self.reading.call_at(self._timers.shared(COMPARE_SECONDS), self._compare_clocks)

    @step
    def _compare_clocks(self) -> None:
        """Look once a second whether the wall clock was set, and go by it if it was."""
        self._comparing = self._compare_later()
        if self.node.compare_clocks(*read_clocks(self._loop.time)):
            self._pipes.introduce_anew()
            self._drain()

    def _drop(self, topic: Topic) -> None:
        """Count an event that was not accepted."""
        self.unpublished += 1
        if self._log.due(topic, self._loop.time()):
            _log.warning(
                "dropped an event of %s: its peers take events more slowly than they are published"
                " (%d events dropped so far; said once a minute)",
                topic,
                self.unpublished,
            )

    @step
    def _act(self, act: Callable[..., ResultT], *arguments: object) -> ResultT:
        """Have the node do something, and carry out what it wishes."""
        result = act(*arguments, self._loop.time())
        self._drain()
        return result

    def _drain(self) -> None:
        outbox = self.node.outbox
        if outbox.sends:
            send = self._pipes.send
            for contacts, record, control, _ in outbox.sends:
                if not control or self._may_answer(len(contacts)):
                    try:
                        send(contacts, record, control=control)
                    except Exception as error:
                        self._failed("a record to be sent", error)
            outbox.sends.clear()
        if outbox.wakes:
            for delay_seconds, token in outbox.wakes:
                self._timers.set(delay_seconds, token)
            outbox.wakes.clear()
        if outbox.deliveries:
            for delivery in outbox.deliveries:
                try:
                    self._inbox.deliver(delivery)
                except Exception as error:
                    self._failed("a delivery", error)
            outbox.deliveries.clear()
        if outbox.tells:
            self._inbox.tell(outbox.tells)
            outbox.tells.clear()
        happenings = outbox.happenings
        if happenings:
            outbox.happenings = []
            for happening in happenings:
                try:
                    self._reporter.take(happening, self._loop.time())
                except Exception as error:  # of a handler of the log, say
                    self._failed("what happened", error)
        if self.conditions.waiting:
            self.conditions.look(dict.fromkeys(one.group for one in happenings or ()))

    def _may_answer(self, copies: int) -> bool:
        """Count copies of a control record; False if there were too many in this turn."""
        before = self._control_copies
        self._control_copies = count = before + copies
        if before < _FEW_COPIES <= count:
            self._loop.call_soon(self._turn_ended)
        if count > CONTROL_COPIES_A_TURN_MAX:
            self._pipes.counters.controls_unsent += copies
            return False
        self._pipes.counters.controls_sent += copies
        return True

    def _turn_ended(self) -> None:
        self._control_copies = 0


def _datagram_port(
    receive: Callable[..., None], profile: Profile | None, clock: Clock
) -> DatagramPort:
    if profile is None:
        return UdpPort(receive)
    # Imported when needed, and PyNaCl with them.
    if keys := profile.datagram_keys:
        from camcast.live.profiles.sealed_port import SealedPort

        return SealedPort(receive, keys, clock)
    from camcast.live.profiles.signed_links import SignedLinks
    from camcast.live.profiles.signed_port import SignedPort

    assert isinstance(profile, SignedLinks)
    return SignedPort(receive, profile)


class Timers:
    """Gives tokens back when their time has come, in the order of their times.

    `wake` takes the tokens of one moment. Delays are of reading time: after a standstill of the
    loop, what has arrived meanwhile is read before anybody's patience ends.
    """

    def __init__(
        self,
        reading: ReadingTime,
        wake: Callable[[Sequence[Token]], None],
        phase: float = _PHASE,
    ) -> None:
        self._reading = reading
        self._wake = wake
        self._phase = phase
        self._together: dict[int, list[Token]] = {}

    def set(self, delay_seconds: float, token: Token) -> None:
        """Give a token back after a delay."""
        if delay_seconds < PATIENT_SECONDS:
            self._reading.call_later(delay_seconds, self._wake, (token,))
            return
        moment = self._moment(delay_seconds)
        tokens = self._together.get(moment)
        if tokens is None:
            tokens = self._together[moment] = []
            self._reading.call_at(self._time_of(moment), self._come, moment)
        tokens.append(token)

    def shared(self, delay_seconds: float) -> float:
        """Return the reading time of the first shared moment after a delay."""
        return self._time_of(self._moment(delay_seconds))

    def close(self) -> None:
        """Stop giving tokens back, and let go of the recipient."""
        self._wake = lambda _: None  # the loop keeps the handles, some of them for minutes
        self._together.clear()

    def _moment(self, delay_seconds: float) -> int:
        return ceil((self._reading.seconds() + delay_seconds) / TOGETHER_SECONDS - self._phase)

    def _time_of(self, moment: int) -> float:
        return (moment + self._phase) * TOGETHER_SECONDS

    def _come(self, moment: int) -> None:
        self._wake(self._together.pop(moment, ()))


class Conditions:
    """Conditions on a node's state that tasks wait for.

    A condition on a group is looked at again after each step of the node in which something has
    happened to the group, any other condition after every step.
    """

    def __init__(self, reading: ReadingTime) -> None:
        self._reading = reading
        self.waiting: dict[GroupId, dict[asyncio.Future[bool], Callable[[], bool]]] = {}

    def look(self, groups: Mapping[GroupId, None]) -> None:
        """Wake the tasks whose conditions on these groups, or on none, hold now."""
        for group in {**groups, NO_GROUP: None}:
            for future, holds in self.waiting.get(group, {}).items():
                if not future.done() and holds():
                    future.set_result(True)

    async def wait_for(
        self, holds: Callable[[], bool], timeout: float | None, group: GroupId = NO_GROUP
    ) -> bool:
        """Wait until a condition holds; False if that took more than `timeout` of reading time.

        `group` is the group that the condition is on.
        """
        if holds():
            return True
        future: asyncio.Future[bool] = self._reading.loop.create_future()
        self.waiting.setdefault(group, {})[future] = holds

        def expire() -> None:
            if not future.done():
                future.set_result(False)

        timer = None if timeout is None else self._reading.call_later(timeout, expire)
        try:
            return await future
        finally:
            waiting = self.waiting[group]
            del waiting[future]
            if not waiting:
                del self.waiting[group]
            if timer is not None:
                timer.cancel()
