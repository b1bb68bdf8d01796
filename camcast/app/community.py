"""One topic for an application: `Community`, which a manager makes (paper 000, 5.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Unpack

import attrs
import msgspec
from typing_extensions import override

from camcast.app.community_errors import GatewayTimeout, NotReady
from camcast.app.known_communities import KnownCommunities
from camcast.app.lifetime import Lifetime
from camcast.app.topic_arguments import TopicLike, check_super_topics, topic_of
from camcast.engine.local_group import LocalGroup
from camcast.inbox.changes import QUEUE_LENGTH as CHANGES_LENGTH
from camcast.inbox.changes import ChangeCallback, ChangeFeed, Changes
from camcast.inbox.deliveries import Deliveries
from camcast.inbox.latest import Latest
from camcast.inbox.position import Position
from camcast.inbox.received import Overflow
from camcast.inbox.step import here
from camcast.inbox.subscription import (
    QUEUE_BYTES,
    QUEUE_LENGTH,
    BatchCallback,
    EventCallback,
    EventFeed,
    LaggedCallback,
    MissedCallback,
    ReachCallback,
    Subscription,
)
from camcast.interests.interest import Interest
from camcast.live.runner import Runner
from camcast.live.snapshot import take_community_stats
from camcast.live.wire.probe_port import Reached, probe_ports
from camcast.observe.stats import CommunityStats
from camcast.vocabulary import typed
from camcast.vocabulary.arguments import (
    BYTES,
    check_flag,
    check_number,
    check_optional,
    check_timeout,
    check_type,
    check_whole,
    is_finite,
    refuse_copy,
)
from camcast.vocabulary.batches import KEY_BYTES_MAX, Batch, Keyed, rank_of
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.events import Receipt
from camcast.vocabulary.happenings import Change
from camcast.vocabulary.hierarchy import HierarchyError, Steps
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.parameters import CommunitySettings, ParameterChanges
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.typed import E, Sent
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

if TYPE_CHECKING:
    from camcast.app.durable import DurableSubscription

FRAME_SECONDS: Final = 1.0  # chosen: as a connection has to say how far it gets (`probe_ports`)
# chosen: repair has brought an event by then to all that are alive and connected
CONFIRM_SECONDS: Final = 10.0
JOIN_SECONDS: Final = 10.0  # chosen: several rounds of asking gateways and contacts
_BURST: Final = 256  # chosen: publishes in one loop turn, a whole batch, before others get theirs

State = Literal["new", "joining", "alone", "member", "deaf", "left"]


class Community(Generic[E]):
    """The processes interested in one topic, as seen by this one; made by a manager.

    In the community of a class, `Community[Reading]` to a type checker, instances of the class are
    published and received; an event that does not fit the class comes as a `Sent`, or as bytes. The
    process takes part from the first `join`, `subscribe` or `publish` on, until `leave`, or until
    its last subscription has ended and it has stopped publishing. A community that was left is
    forgotten when the application holds it no more; `CommunityManager.community` makes it anew.

    Example:
        ::

            community = manager.community(".soccer.italy")
            subscription = community.subscribe()
            await community.ready()
            await community.publish(b"Goal!")
            event = await anext(subscription)
    """

    def __init__(
        self,
        lifetime: Lifetime,
        known: KnownCommunities[Any],
        deliveries: Deliveries[E],
        parameters: CommunitySettings,
        super_topics: tuple[Topic, ...],
        above: Steps,
    ) -> None:
        self.topic = deliveries.topic
        self.super_topics = super_topics
        """The super-topics that this community is linked to; none for the root."""
        self.parameters = parameters
        """The settings of the community in this process; `tune` changes them."""
        self._above = above  # the super-topics of topics farther up, as they were declared
        self._lifetime = lifetime
        self._known = known
        self._deliveries = deliveries
        self._changes: dict[ChangeFeed, None] = {}
        self._group: GroupId | None = None
        """The group in which the process takes, or took, part for the topic."""
        self._publishing = False
        self._burst = 0
        self._published = 0  # events
        self._told_to_leave = False  # by `leave`, and has not taken part again since
        self._joiners = 0  # calls of `join` that wait
        self._settings_wait = False  # for a `join` that has not been, or has failed

    __reduce_ex__ = refuse_copy

    @override
    def __repr__(self) -> str:
        return f"<Community {self.topic} {self.state}>"

    # -- joining and leaving -----------------------------------------------------------------

    async def join(self, *, timeout: float | None = JOIN_SECONDS, retry: bool = False) -> None:
        """Become a member; the first one founds the community.

        Raises `GatewayTimeout` when the configured gateways cannot tell who is in it: the process
        is the first member only if those that keep its register answer that nobody is there, and
        the others go by these. With `retry` it keeps asking instead, until `timeout`. Raises
        `NotReady` when that runs out (None: never). After an error, or when the call is cancelled,
        the process no longer tries to join, unless another call or a subscription wants it to.

        Args:
            timeout: Seconds to wait. More: a busy start is waited for. Less: failures are known
                sooner. None: for ever.
            retry: Whether to keep asking gateways that do not answer, and looking up names that
                have no address yet, until `timeout`.
        """
        check_timeout(timeout)
        check_flag("retry", retry)
        local_group = self._take_part()

        def settled() -> bool:
            unanswered = local_group.unanswered is not None and not retry
            left = local_group is not self._local_group
            return local_group.joined or left or unanswered

        self._joiners += 1
        try:
            in_time = await self._lifetime.running().conditions.wait_for(
                settled, timeout, local_group.topic.group
            )
        except asyncio.CancelledError:
            waits = local_group is self._local_group and not local_group.joined
            if waits and self._joiners == 1 and not self._deliveries.subscriptions:
                self._leave()  # nobody else here wants to be a member
            raise
        finally:
            self._joiners -= 1
        self._check_not_left(local_group)
        if local_group.joined:
            return
        runner = self._lifetime.running()
        unanswered, node = local_group.unanswered, runner.node
        self._leave()
        if unanswered is not None:
            by_udp = node.discovery.asks_by_udp
            reached = await probe_ports(unanswered.unreachable)
            if by_udp and Reached.SILENT in reached.values():
                # It may be a process of another membership, which was asked by a frame as well.
                await runner.conditions.wait_for(lambda: bool(runner.misfits()), FRAME_SECONDS)
            raise GatewayTimeout(
                self.topic,
                unanswered.unreachable,
                unanswered.ignorant,
                reached,
                node.me.address,
                unanswered.nobody,
                by_udp=by_udp,
                misfits=runner.misfits(),
            )
        assert not in_time
        why = "; ".join([*runner.misfits(), *runner.refusals()]) or "no contact answered"
        raise NotReady(f"{self.topic} was not joined within {timeout} s: {why}")

    async def ready(
        self, min_peers: int = 1, *, min_links: int = 0, timeout: float | None = JOIN_SECONDS
    ) -> None:
        """Wait until the topic table holds `min_peers` and the super-topic tables `min_links`.

        Joins first if need be, within the same `timeout`. Raises `NotReady`, saying what there was,
        or as `join` does.

        Args:
            min_peers: Peers in the topic table. More: an event goes to more processes at once.
            min_links: Super-processes in the super-topic tables. More: an event climbs more surely.
            timeout: Seconds to wait, joining included; None: for ever.
        """
        check_whole("min_peers", min_peers)
        check_whole("min_links", min_links)
        reading = self._lifetime.open().reading
        began = reading.seconds()
        await self.join(timeout=timeout)
        left = None if timeout is None else timeout - (reading.seconds() - began)
        local_group = self._take_part()

        def enough() -> bool:
            peers = len(local_group.membership.peers())
            found = peers >= min_peers and local_group.live_links() >= min_links
            return found or local_group is not self._local_group

        conditions, group = self._lifetime.running().conditions, local_group.topic.group
        if not await conditions.wait_for(enough, left, group):
            found = f"{len(self.peers)} peers and {local_group.live_links()} links"
            asked = f"{min_peers} and {min_links} were asked for"
            why = [f"{self.topic} has {found} after {timeout} s", asked]
            raise NotReady("; ".join([*why, *self._lifetime.running().refusals()]))
        self._check_not_left(local_group)

    async def leave(self) -> None:
        """End all subscriptions, and leave so that the others can repair their tables.

        `publish` raises `CommunityError` from then on, until `join`, `ready` or `subscribe`.
        """
        if self._local_group is not None:
            self._lifetime.check_loop()
        self._leave()
        self._told_to_leave = True

    # -- changes while the process takes part ------------------------------------------------

    def tune(self, /, **changes: Unpack[ParameterChanges]) -> None:
        """Change some of the paper's parameters, for this process's part in the community (4.5.1).

        A member goes by the new values from the next event on; it neither leaves nor joins. Other
        processes keep theirs. τ follows z unless it was set apart. In a community that the process
        is not in, or has left, the change counts from the next `join`. `manager.community` sets
        what this call does not change, such as the retention, before the process joins.

        Raises `TypeError` for a name that is no parameter, `TypeError` or `ValueError` for a value,
        naming it, and `CommunityError` in another event loop. Nothing is changed then.

        Args:
            changes: The new values of c, g, a, z, tau, p_sel and as_printed, by name
                (`camcast.Parameters`).

        Example:
            ::

                community.tune(g=20, z=5)
        """
        settings = self.parameters.with_changes(changes)
        if self._local_group is not None:
            self._lifetime.open().tune(self.topic, settings)
        self.parameters = settings
        self._keep_settings()

    def link(self, super_topic: TopicLike) -> None:
        """Link the community to one more super-topic, whose subscribers get later events (3.6).

        A member starts to look for super-processes at once, and neither leaves nor joins (3.2.2:
        "dynamic changes of the topic hierarchy"). It is enough if some members of the community
        link it, as long as repair is on. In a community that the process is not in, the link counts
        from the next `join`. Nothing happens if the community is linked to the topic already.

        Raises `CommunityError` for the topic itself, for a topic below it, and in another event
        loop; `TopicError` for what is no topic.

        Args:
            super_topic: The topic, its name, or an event class.

        Example:
            ::

                community.link(".alarms")
        """
        topic = topic_of(super_topic)
        if topic in self.super_topics:
            return
        check_super_topics(self.topic, (topic,))
        if self._local_group is not None:
            with _hierarchy_errors():
                self._lifetime.open().link(self.topic, topic)
        self.super_topics = (*self.super_topics, topic)
        self._keep_settings()

    def unlink(self, super_topic: TopicLike) -> None:
        """End a link of the community to a super-topic: this process sends no more events there.

        Other members that are linked to the topic still do. Raises `CommunityError` if the
        community is not linked to the topic, and in another event loop.

        Args:
            super_topic: The topic, its name, or an event class.
        """
        topic = topic_of(super_topic)
        if topic not in self.super_topics:
            linked = ", ".join(map(str, self.super_topics)) or "no topic"
            raise CommunityError(f"{self.topic} is not linked to {topic}, but to {linked}")
        if self._local_group is not None:
            self._lifetime.open().unlink(self.topic, topic)
        self.super_topics = tuple(one for one in self.super_topics if one != topic)
        self._keep_settings()

    # -- subscribing -------------------------------------------------------------------------

    def subscribe(
        self,
        callback: EventCallback[E] | None = None,
        *,
        on_batch: BatchCallback[E] | None = None,
        on_lagged: LaggedCallback | None = None,
        on_missed: MissedCallback | None = None,
        on_reach: ReachCallback | None = None,
        since: float | datetime | bytes | None = None,
        durable: str | None = None,
        ack: bool = False,
        queue_length: int = QUEUE_LENGTH,
        queue_bytes: int = QUEUE_BYTES,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: str | Interest | None = None,
        own: bool = True,
        latest: bool = False,
    ) -> Subscription[E]:
        """Receive the events of this topic and its subtopics, without `own` those of others only.

        `callback` takes each event, a `Received`. Instead of it, `on_batch` takes the events that
        travelled together, a `ReceivedBatch`, which costs less where there are many. Either runs as
        a task if it is a coroutine function, else in a thread of its own, so that it may block.
        Without a callback, iterate the subscription. The process starts to join if it is no member
        yet; await `join` or `ready` to know when it is.

        The subscription holds at most `queue_length` events and `queue_bytes` bytes of their
        payloads; beyond that, `overflow` says whether the oldest or the newest is dropped.

        `where`, such as "mag >= 5", is a filter on the fields of a typed event as they were sent,
        whatever this community was joined by, or on a payload that is a JSON object. hpmcast and
        pmcast also tell it to other processes, which then send less; with all other protocols the
        filter is local. Raises `InterestError` for a text that is no interest.

        A `durable` subscription, of a process with an archive, gets each event once, whenever the
        process starts: what came while nobody read waits in the archive
        (`camcast.app.durable.DurableSubscription`). It is iterated, in one task, drops nothing, and
        raises `CommunityError` without an archive and while the name is in use.

        With `since`, this subscription first gets a `Reach`, which says how far back members keep
        events, and then those of the last so many seconds in the order of their publication. It
        waits for them for 10 s at most, or until there is no more room in its queue: what comes
        after that comes in any order. If the neighbours keep less, a warning is logged.

        With `latest`, this subscription first gets the last value of each key (`publish`), as far
        as this process has it, then those that it learns of from other members, and all events from
        then on; of one key no event after a later one.

        Raises `ValueError` for a negative time and for `latest` with `since`, and `TypeError` and
        `ValueError` for other arguments that are wrong; then nothing was joined.

        Args:
            callback: Takes each event, in a task or in a thread of its own.
            on_batch: Takes the events that travelled together, in place of `callback`.
            on_lagged: Takes how many events were dropped because the queue was full.
            on_missed: Takes events that can no longer be had.
            on_reach: Takes how far back members keep events, with `since`.
            since: Seconds of the past whose events come first, or the time since when, with a time
                zone, or the `Subscription.position` of another subscription to this topic, of any
                process. More: more of the past, as far as it is kept. A durable subscription begins
                there when its name is new.
            durable: The name of a subscriber that goes on where it was, also after a restart.
            ack: Whether a durable subscription moves on by `DurableSubscription.ack` alone.
            queue_length: Events that may wait. More: a slow reader loses fewer. Less: less memory.
            queue_bytes: Bytes of their payloads that may wait; as `queue_length`.
            overflow: Whether the oldest or the newest event is dropped from a full queue.
            where: A filter by attributes; None: every event.
            own: Whether events of this very process come, too.
            latest: Whether the last value of each key comes first.

        Example:
            ::

                async for event in community.subscribe(where="mag >= 5"):
                    print(event.topic, event.value)
        """
        check_flag("own", own)
        check_flag("ack", ack)
        check_flag("latest", latest)
        if latest and (since is not None or durable is not None):
            raise ValueError("a subscription begins with the last values or the past, not both")
        position: Position | None = None
        if isinstance(since, bytes):
            position = Position.decode(since, self.topic.group)
            since = self._lifetime.open().seconds_since(position.since)
        elif isinstance(since, datetime):
            if since.tzinfo is None:
                raise ValueError(f"since is a time with a time zone, not {since!r}")
            since = self._lifetime.open().seconds_since(since.timestamp())
        elif since is not None:
            check_number("since", since)
            if not (is_finite(since) or since == inf) or since < 0:
                raise ValueError(f"since is a number of seconds, 0 or more, not {since}")
            since = float(since)  # messages carry no other type of numbers, such as numpy's
        interest = Interest.parse(where) if isinstance(where, str) else where
        check_optional("where", interest, Interest, 'a text such as "mag >= 5"')
        runner = self._lifetime.open()
        if durable is not None:
            if any(one is not None for one in (callback, on_batch, on_lagged, on_missed, on_reach)):
                raise ValueError("a durable subscription is iterated: it takes no callbacks")
            return self._subscribe_durably(
                durable,
                since,
                position,
                ack=ack,
                bounds=(queue_length, queue_bytes),
                where=interest,
                own=own,
            )
        if ack:
            raise ValueError("ack goes with durable")
        feed = EventFeed(
            self._ended,
            self.topic,
            callback,
            on_batch=on_batch,
            on_lagged=on_lagged,
            on_missed=on_missed,
            on_reach=on_reach,
            queue_length=queue_length,
            queue_bytes=queue_bytes,
            overflow=overflow,
            where=interest,
            own=own,
            latest=latest,
            on_dropped=self._deliveries.note_lagged,
        )
        if position is not None:
            feed.begin_at(position)
        try:
            local_group = self._take_part(interest)
        except BaseException:
            feed.close()
            raise
        self._lifetime.note_callback(feed)
        if since:
            feed.history_from = feed.loop.time() - since
            kept = runner.history(local_group, since)
            past = feed.hold_until(
                lambda: runner.has_past(local_group), lambda: runner.reach(local_group)
            )
            for batch in kept:
                self._deliveries.hand_to([feed], batch)
            past.look()
        if latest:
            for value in _last_values(local_group):
                self._deliveries.hand_to([feed], value)
        self._deliveries.begin(feed)
        self._tell_interest()
        return Subscription(feed)

    def _subscribe_durably(
        self,
        name: str,
        since: float | None,
        position: Position | None,
        *,
        ack: bool,
        bounds: tuple[int, int],
        where: Interest | None,
        own: bool,
    ) -> DurableSubscription[E]:
        """Make a durable subscription; see `subscribe`."""
        from camcast.app.durable import DurableFeed, DurableSubscription, check_name

        check_name(name)
        runner = self._lifetime.open()
        if runner.archive is None:
            raise CommunityError(
                "a durable subscription reads an archive: give the manager one (archive=)"
            )
        if any(
            isinstance(one, DurableFeed) and one.name == name
            for one in self._deliveries.subscriptions
        ):
            raise CommunityError(f"{name!r} subscribes to {self.topic} already")
        feed = DurableFeed(
            name,
            runner.archive,
            self._deliveries,
            lambda: self._local_group,
            self._ended,
            since=None if since is None else runner.clock.wall(runner.now()) - since,
            reach=runner.reach,
            explicit=ack,
            queue_length=bounds[0],
            queue_bytes=bounds[1],
            where=where,
            own=own,
        )
        if position is not None:
            feed.begin_at(position)
        try:
            self._take_part(where)
        except BaseException:
            feed.close()
            raise
        self._lifetime.note_callback(feed)
        self._deliveries.begin(feed)
        self._tell_interest()
        return DurableSubscription(feed)

    def changes(
        self, on_change: ChangeCallback | None = None, *, queue_length: int = CHANGES_LENGTH
    ) -> Changes:
        """Learn how this process stands in the community, and who comes into its topic table.

        Iterate the result with ``async for``, or give a callback: a plain function runs in a thread
        of its own and may block, a coroutine function runs in a task. A member first gets its
        present standing, and each peer in its table. The call joins nothing; the changes go on when
        the community is left and joined again, until they or the manager are closed.
        """
        runner = self._lifetime.open()
        feed = ChangeFeed(self._changes_ended, on_change, queue_length, self.topic)
        self._lifetime.note_callback(feed)
        self._changes[feed] = None
        self._known.use(self)
        standing = None if self._group is None else runner.standing(self._group)
        if standing is not None:
            feed.put(Change(standing, self.topic))
            for peer in self.peers:
                feed.put(Change("peer_seen", self.topic, peer))
        return Changes(feed)

    def unsubscribe(self, subscription: Subscription[E]) -> None:
        """End one subscription; after the last one, a process that does not publish leaves."""
        check_type("subscription", subscription, Subscription, "what `subscribe` has returned")
        if not subscription.closed and subscription._feed not in self._deliveries.subscriptions:
            raise CommunityError(f"that is a subscription of another community than {self.topic}")
        subscription.close()

    # -- publishing --------------------------------------------------------------------------

    async def publish(
        self,
        event: E | Sent | bytes | bytearray | memoryview | None,
        *,
        key: bytes | None = None,
        upward_probability: float | None = None,
        wait: bool = True,
        confirmed_by: int = 0,
    ) -> Receipt:
        """Publish bytes, an instance of this community's event class, or a `Sent`.

        With a `key`, all members keep the event until a later one of this topic and key comes, for
        `subscribe(latest=True)` and `latest`; None deletes the key (docs/reliability.md).

        The first call joins, which takes its time. While output pipes to the peers of this process
        are more than half full and move, the call waits, for a second at most; with `wait=False` it
        never waits. Then the event is accepted or dropped, which the receipt says. An accepted
        event is not lost on the way to those peers that take events; its further way is best
        effort (docs/reliability.md). With `confirmed_by`, the call also waits until so many other
        members of the community have said that they hold the event, for `CONFIRM_SECONDS` at most:
        the receipt's `confirmed` says how many have.

        Raises `PayloadTooLargeError`, `TypedEventError`, `NotAllowedError` for an identity without
        a certificate to publish here, `RateExceededError` for more events or bytes a second than
        the certificate allows, `ValueError` for a probability outside [0, 1] and for a
        negative `confirmed_by`, `TypeError` or `ValueError` for a key that is not 1 to 255 bytes,
        `CommunityError` after `leave`, while the manager closes and for `confirmed_by` or a `key`
        without repair, and what `join` raises.

        Args:
            event: The event, of `event_bytes_max` at most, which is 1 MiB unless it was raised, and
                of 1 MiB with a key; None, with a key, deletes that.
            key: The name of what the event is the present value of.
            upward_probability: Overrides p_sel for this event, at every process that forwards it
                (setUpwardProb, 5.3.2.1). More: it climbs more surely. Less: fewer messages; 0: it
                never climbs.
            wait: Whether to wait for slow peers, for a second at most.
            confirmed_by: Other members that are to hold the event before the call returns. More:
                the event outlives more crashes. 0: the call waits for none.

        Example:
            ::

                receipt = await community.publish(b"Goal!")
        """
        if upward_probability is not None:
            check_number("upward_probability", upward_probability)
            if not 0 <= upward_probability <= 1:
                raise ValueError(f"upward_probability is in [0, 1], not {upward_probability}")
        check_whole("confirmed_by", confirmed_by)
        if confirmed_by < 0:
            raise ValueError(f"confirmed_by is a number of members, 0 or more, not {confirmed_by}")
        keyed = None if key is None else _keyed(key, deleted=event is None)
        is_typed = False
        if type(event) is bytes:  # nearly always
            payload = event
        elif event is None:
            if keyed is None:
                raise TypeError("None deletes a key, and is no event: give the key")
            payload = b""
        elif isinstance(event, BYTES):
            payload = bytes(event)
        else:
            is_typed, payload = True, typed.encode_for(self.topic, event)
        local_group = self._local_group
        if local_group is None or not local_group.joined:
            if self._told_to_leave:
                raise CommunityError(f"{self.topic} was left; join it again to publish")
            await self.join()
            local_group = self._take_part()
        if confirmed_by and local_group.repair is None:
            raise CommunityError(f"nobody confirms events of {self.topic}, which has no repair")
        if keyed is not None and local_group.last_values is None:
            raise CommunityError(f"nobody keeps last values of {self.topic}, which has no repair")
        self._publishing = True
        runner = self._lifetime.open()
        if wait:
            self._burst += 1
            if self._burst >= _BURST or runner.crowded:
                runner = await self._wait_for_room(local_group)
        receipt = runner.publish(
            local_group, self.topic, payload, upward_probability, typed=is_typed, keyed=keyed
        )
        self._published += receipt.accepted
        if confirmed_by and receipt.accepted:
            held_by = await runner.confirmed(local_group, receipt.id, confirmed_by, CONFIRM_SECONDS)
            refusing = receipt.refusing
            if len(payload) > PAYLOAD_BYTES_MAX and (repair := local_group.repair) is not None:
                refusing = repair.refusing(len(payload), runner.now())
            return msgspec.structs.replace(receipt, confirmed=held_by, refusing=refusing)
        return receipt

    def stop_publishing(self) -> None:
        """Stop publishing; a process without a subscription then leaves the community (5.1)."""
        if self._local_group is not None:
            self._lifetime.check_loop()
        if here.steps.in_step:
            asyncio.get_running_loop().call_soon_threadsafe(self.stop_publishing)
            return
        self._publishing = False
        if not self._deliveries.subscriptions:
            self._leave()

    # -- facts -------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Whether the process is a member.

        ``alone`` is a member that knows no other one, ``deaf`` one that no frame reaches although
        it watches others.
        """
        if self._local_group is None:
            return "new" if self._group is None else "left"
        if not self._local_group.joined:
            return "joining"
        if not self.peers:
            return "alone"
        return "deaf" if self._lifetime.running().node.liveness.deaf else "member"

    @property
    def peers(self) -> tuple[Contact, ...]:
        """The topic table, as it is now."""
        if self._local_group is None:
            return ()
        return tuple(self._local_group.membership.peers())

    @property
    def latest(self) -> Latest[E]:
        """The last value of each key (`publish`), kept whether or not anybody subscribes.

        A member that has just joined gets them within seconds.
        """
        repair = None if self._local_group is None else self._local_group.repair
        received = self._deliveries.received
        if repair is None or repair.comparing is None:
            return Latest({}, received, complete=False)
        comparing = repair.comparing
        return Latest(comparing.values.topics, received, complete=comparing.agreed)

    @property
    def links(self) -> tuple[tuple[Topic, tuple[Contact, ...]], ...]:
        """For each super-topic, the nearest ancestor with known members, and these members."""
        if self._local_group is None:
            return ()
        nearest = (link.nearest() for link in self._local_group.links)
        return tuple((topic, tuple(contacts)) for topic, contacts in nearest)

    @property
    def unsent(self) -> int:
        """How many events above 1 MiB of this process nobody has been sent whole.

        Such an event ends with its publisher.
        """
        repair = None if self._local_group is None else self._local_group.repair
        return 0 if repair is None else repair.unsent

    @property
    def size(self) -> float:
        """The membership's estimate of how many processes the community has."""
        return 0.0 if self._local_group is None else self._local_group.membership.size()

    # -- inside ------------------------------------------------------------------------------

    @property
    def _local_group(self) -> LocalGroup | None:
        """The process's local group of the community; None if the process takes no part in it."""
        runner = self._lifetime.runner
        return None if runner is None else runner.node.local_group(self.topic)

    def _settle(self, name: Literal["parameters", "super_topics", "_above"], value: object) -> None:
        """Set what counts from the next join on; refused while the process takes part."""
        if value == getattr(self, name):
            return
        if self._local_group is not None:
            is_tuned = name == "parameters"
            words, verb = ("parameters", "tune") if is_tuned else ("super-topics", "link")
            raise CommunityError(
                f"{self.topic} exists already, with other {words}: change them with"
                f" `Community.{verb}`, or leave first"
            )
        setattr(self, name, value)

    def _take_part(self, where: Interest | None = None) -> LocalGroup:
        runner, local_group = self._lifetime.open(), self._local_group
        if local_group is None:
            with _hierarchy_errors():
                local_group = runner.join(
                    self.topic, self.parameters, self.super_topics, where, self._above
                )
            self._group = local_group.topic.group
            self._told_to_leave = False
            self._known.use(self)
        return local_group

    def _tell_interest(self) -> None:
        """Tell the node what the subscriptions want."""
        node = self._lifetime.running().node
        if node.selective:  # a union takes time, and nobody else would look at it
            node.want(self.topic, self._deliveries.interest())

    def _leave(self) -> None:
        self._flush()
        self._deliveries.close()
        self._publishing = False
        local_group = self._local_group
        if local_group is not None:
            self._settings_wait &= not local_group.joined
            self._lifetime.running().leave(self.topic)
        self._release()

    def _keep_settings(self) -> None:
        """Keep what was set until the process was a member, and has left."""
        self._settings_wait = True
        self._known.use(self)

    def _release(self) -> None:
        """Let this be forgotten, unless it is in use: here, or by the application that holds it."""
        if self._local_group is None and not self._changes and not self._settings_wait:
            self._known.release(self)

    def _changes_ended(self, feed: ChangeFeed) -> None:
        del self._changes[feed]
        self._release()

    def _close(self) -> None:
        """Leave, if this process takes part, and end what is read here."""
        self._leave()
        for feed in list(self._changes):
            feed.close()

    def _changed(self, group: GroupId, change: Change) -> None:
        """Take a change in the group in which the process takes part for the topic."""
        self._group = group  # also while the node is joining
        for feed in self._changes:
            feed.put(attrs.evolve(change, topic=self.topic))

    def _condition_changed(self, change: Change) -> None:
        """Take a condition of the process, or of this community."""
        for feed in self._changes:
            feed.put(change)

    def _stats(self) -> CommunityStats | None:
        """Return a snapshot of this community; None if the process takes no part in it."""
        local_group = self._local_group
        if local_group is None:
            return None
        return take_community_stats(
            self.state,
            local_group,
            self._deliveries,
            published=self._published,
            now=asyncio.get_running_loop().time(),
        )

    def _ended(self, subscription: EventFeed[E]) -> None:
        if subscription in self._deliveries.subscriptions:
            self._flush()
        if self._deliveries.end(subscription):
            if self._deliveries.subscriptions or self._publishing:
                self._tell_interest()
            else:
                self._leave()

    def _flush(self) -> None:
        """Let what was published leave, so that a subscription gets it before it is closed."""
        if self._local_group is not None:
            self._lifetime.running().flush()

    async def _wait_for_room(self, local_group: LocalGroup) -> Runner:
        """Let the rest of the loop run after a burst and slow peers take events; return the runner.

        Raises `CommunityError` if the community was left in the meantime.
        """
        if self._burst >= _BURST:
            self._burst = 0
            await asyncio.sleep(0)
        runner = self._lifetime.open()
        await runner.wait_for_room(local_group)
        self._check_not_left(local_group)
        return runner

    def _check_not_left(self, local_group: LocalGroup) -> None:
        if local_group is not self._local_group:
            raise CommunityError(f"{self.topic} was left in the meantime")


def _keyed(key: bytes, *, deleted: bool) -> Keyed:
    """Check a key of an event."""
    check_type("key", key, bytes, 'bytes such as b"roof"')
    if not 1 <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(f"a key has 1 to {KEY_BYTES_MAX} bytes, not {len(key)}")
    return Keyed(key, deleted)


def _last_values(local_group: LocalGroup) -> Sequence[Batch]:
    """Return the events that are last values, the oldest first."""
    kept = local_group.last_values
    topics = () if kept is None else kept.topics.values()
    return sorted((one.batch for values in topics for one in values.values()), key=rank_of)


@contextmanager
def _hierarchy_errors() -> Iterator[None]:
    """Let super-topics that cannot be raise `CommunityError`."""
    try:
        yield
    except HierarchyError as error:
        raise CommunityError(str(error)) from error
