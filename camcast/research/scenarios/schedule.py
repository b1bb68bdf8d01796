"""The plan of an experiment, made from its seed: the worker, topics and events of each node."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from camcast.research.scenarios.base import ScenarioError
from camcast.research.scenarios.live import Scenario
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

WAVE_GROWTH: Final = 2  # chosen: half of the members have joined in earlier waves, as contacts


@frozen
class Plan:
    """The nodes of a scenario by number, and which worker hosts which."""

    scenario: Scenario
    topics: tuple[tuple[Topic, ...], ...]
    """The communities of each node."""
    victims: frozenset[int]
    """The workers that will be killed."""

    @classmethod
    def of(cls, scenario: Scenario) -> Plan:
        """Make the plan: nodes are numbered by kind, and assigned to the workers in turn."""
        topics = tuple(kind for kind, count in scenario.kinds.items() for _ in range(count))
        churn = stream(scenario.seed, "churn")
        victims = frozenset(churn.sample(range(scenario.workers), scenario.victims))
        return cls(scenario, topics, victims)

    def worker(self, node: int) -> int:
        """Return the worker that hosts a node."""
        return node % self.scenario.workers

    def nodes_of(self, worker: int) -> list[int]:
        """Return the nodes of a worker."""
        return [node for node in range(len(self.topics)) if self.worker(node) == worker]

    def members(self) -> dict[Topic, list[int]]:
        """Return the nodes of each community."""
        members: dict[Topic, list[int]] = {}
        for node, topics in enumerate(self.topics):
            for topic in topics:
                members.setdefault(topic, []).append(node)
        return members

    def waves(self) -> Iterator[list[tuple[int, Topic]]]:
        """Yield groups of nodes that join a community at the same time, from the root down.

        A wave at most doubles a community, and a community starts to join when its
        super-communities are complete.
        """
        members, depth = self.members(), self.scenario.super_topics.depth
        for level in sorted({depth(topic) for topic in members}):
            joining = [
                [(node, topic) for node in nodes]
                for topic, nodes in members.items()
                if depth(topic) == level
            ]
            start, end = 0, 1  # the founders come first
            while wave := [one for community in joining for one in community[start:end]]:
                yield wave
                start, end = end, WAVE_GROWTH * end


@frozen
class Due:
    """One event that a node is to publish."""

    at: float
    """Seconds after the start."""
    node: int
    topic: Topic
    payload: bytes
    upward_probability: float | None = None
    """The p_sel of this event; None: that of the parameters."""


def due(plan: Plan) -> Sequence[Due]:
    """Choose a node for every publication; one on several topics is an event in each of them.

    A publisher that the workload names is always the same node of a community, as long as no worker
    is killed; without a name a node is drawn from the workload stream. From the middle of the
    publishing on only nodes of surviving workers publish. Raises `ScenarioError` if a community has
    none.
    """
    scenario = plan.scenario
    publications = scenario.publications()
    draw = stream(scenario.seed, "workload")
    members = plan.members()
    kill_at = middle([publication.at_seconds for publication in publications])
    events: list[Due] = []
    for publication in publications:
        for topic in publication.topics:
            nodes = members[topic]
            if plan.victims and publication.at_seconds >= kill_at:
                nodes = [node for node in nodes if plan.worker(node) not in plan.victims]
            if not nodes:
                raise ScenarioError(
                    f"nobody of {topic} survives to publish there; give it more processes or"
                    " kill fewer"
                )
            number = (
                draw.randrange(len(nodes))
                if publication.publisher is None
                else int.from_bytes(hashlib.sha256(publication.publisher.encode()).digest()[:8])
                % len(nodes)
            )
            turn = scenario.upward_probabilities
            p_sel = turn[len(events) % len(turn)] if turn else None
            events.append(
                Due(publication.at_seconds, nodes[number], topic, publication.payload, p_sel)
            )
    return events


def middle(times: Sequence[float]) -> float:
    """Return the middle of the publishing in seconds, at which workers are killed."""
    return times[-1] / 2 if times else 0.0
