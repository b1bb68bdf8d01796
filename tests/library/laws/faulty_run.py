"""A run of a case: a scenario of the virtual network whose processes join and leave communities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs
from typing_extensions import override

from camcast.engine.node import Node
from camcast.interests.interest import Interest
from camcast.observe.trace_reading import Published
from camcast.research.simulation.run_record import key_of
from camcast.research.simulation.scenario_run import _Run
from camcast.research.workloads import Publication
from camcast.virtual.network import Process
from camcast.virtual.weather import Weather
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.library.laws.faults import DEVIATION_SECONDS, Case, Change, DeviationKind


class _DeviantWeather(Weather):
    """The weather, but for messages that something happens to.

    `strike` is called where it happens to the host that a message is meant for.
    """

    def __init__(self, weather: Weather, strike: Callable[[DeviationKind, int], None]) -> None:
        super().__init__(weather.climate, weather._rng)
        self._strike = strike
        self._due: dict[int, DeviationKind] = {}
        """What happens to the messages to come, the next being 0."""

    @property
    @override
    def steady(self) -> None:
        return None

    def deviate(self, deviations: Mapping[int, DeviationKind]) -> None:
        """Let something happen to messages from now on, by number."""
        self._due = dict(deviations)

    @override
    def delays(self, source: int, target: int, copies: int = 1) -> Sequence[float]:
        found = super().delays(source, target, copies)
        kind = self._due.pop(0, None)
        self._due = {number - 1: what for number, what in self._due.items()}
        match kind:
            case "loss":
                return ()
            case "duplicate":
                return (*found, *found)
            case "delay":
                return [delay + DEVIATION_SECONDS for delay in found]
            case "crash" | "pause":
                self._strike(kind, target)
        return found


class FaultyRun(_Run):
    """The run of a case, with its changes of communities and its upward probabilities."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.scenario, None)
        self._settings = attrs.evolve(self._settings, order="fifo")
        self._case = case
        self.upward: dict[str, float | None] = {}
        """The upward probability of each event that has one of its own."""
        self.compare: Callable[[], None] = lambda: None
        """Called when members should have the same last values."""
        self.asked_to_join: dict[tuple[str, str], float] = {}
        """When each life began to join each of its communities."""
        self.died: dict[PeerId, float] = {}
        """When each identity crashed last."""
        if case.deviations:
            network = self._network
            network.weather = _DeviantWeather(
                network.weather, partial(network.queue.after, 0.0, self._strike)
            )
            network.datagrams.weather = network.weather

    def _strike(self, kind: DeviationKind, number: int) -> None:
        """Let a host crash or pause, unless it is the gateway, or does so already."""
        process = self._lives.get(number)
        if process is None or not process.alive or process.held is not None:
            return
        if kind == "crash":
            self._crash(process)
        else:
            self._network.pause(process)
            self._network.queue.after(DEVIATION_SECONDS, self._network.resume, process)

    @override
    def _take_part(self, topic: Topic, where: Interest | None, node: Node, now: float) -> None:
        super()._take_part(topic, where, node, now)
        process = self._network.processes[node.me.address]
        self.asked_to_join[key_of(process), topic.name] = now

    @override
    def _bury(self, process: Process) -> None:
        self.died[process.me.peer] = self._network.now
        super()._bury(process)

    @override
    def _schedule(self, start: float, publications: list[Publication]) -> None:
        compared = self._case.values_agree_by
        if compared is not None:
            self._network.queue.at(start + compared, self.compare)
        deviations = {one.message: one.kind for one in self._case.deviations}
        if isinstance(weather := self._network.weather, _DeviantWeather):
            begin = start + self._case.deviations[0].from_seconds
            self._network.queue.at(begin, weather.deviate, deviations)
        for change in self._case.changes:
            self._network.queue.at(start + change.at_seconds, self._change, change)
        super()._schedule(start, publications)

    def _change(self, change: Change) -> None:
        """Let one process that can join, or leave, a community; none if there is no such one."""
        joins = [process for process in self._network if self._could(process, change)]
        if not joins:
            return
        process, topic = self._churn.choice(joins), change.topic
        topics = self._topics[process.number]
        if change.joins:
            self._topics[process.number] = (*topics, topic)
            self._joining.setdefault(process.life, {})[topic] = None
            self._network.do(process, partial(self._take_part, topic, None))
            return
        self._topics[process.number] = tuple(one for one in topics if one != topic)
        place, members = (key_of(process), topic.name), self._record.reading.members
        members[place] = attrs.evolve(members[place], left=self._network.now)
        self._members.strike(topic, process.me)
        self._directory.strike(topic, process.me)
        self._publishers = {
            key: one for key, one in self._publishers.items() if (key[1], one) != (topic, process)
        }
        self._network.do(process, lambda node, now: node.leave(topic, now))

    def _could(self, process: Process, change: Change) -> bool:
        """Whether a process may make a change: nobody returns, and all stay in one community."""
        if process.number not in self._topics or process.held is not None:
            return False
        topics = self._topics[process.number]
        member = self._record.reading.members.get((key_of(process), change.topic.name))
        if change.joins:
            return change.topic not in topics and member is None
        return change.topic in topics and member is not None and len(topics) > 1

    @override
    def _publish_as(self, process: Process, topic: Topic, payload: bytes) -> None:
        p_sel, keyed = self._case.upward_probability(payload), self._case.keyed(payload)
        if p_sel is None and keyed is None:
            super()._publish_as(process, topic, payload)
            return
        published = Published(key_of(process), self._network.now, topic.name)
        if keyed is not None and keyed.deleted:
            payload = b""

        def publish(node: Node, now: float) -> EventId:
            receipt = node.publish(topic, payload, now, upward_probability=p_sel, keyed=keyed)
            return receipt.id

        event = self._network.do(process, publish)
        self._record.published(event, published)
        self.upward[str(event)] = p_sel
