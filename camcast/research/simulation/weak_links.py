"""Weakly linked communities in the virtual network (000, 4.3.1).

A scenario may say for a topic what share of copies arrives among the members of its community
(``success``), and between them and the members of the communities above (``success_up``, in both
directions, for upkeep of links and repair are subject to it, too). This takes the place of
``links.loss`` for frames between such processes. Each process is in one community.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field
from typing_extensions import override

from camcast.research.scenarios.base import BaseScenario
from camcast.virtual.weather import Obstacle
from camcast.vocabulary.topics import Topic

Topics = tuple[Topic, ...]


@define
class Losses:
    """The share of frames that get lost between two processes, by their communities."""

    scenario: BaseScenario
    otherwise: float
    """The loss where the scenario says nothing of the topics."""
    topics: Mapping[int, Topics]
    """The communities of each process, by its number; one each."""
    _known: dict[tuple[Topics, Topics], float] = field(factory=dict, init=False)

    def between(self, source: int, target: int) -> float:
        """Return the loss of frames from one process to another."""
        pair = self.topics.get(source, ()), self.topics.get(target, ())
        loss = self._known.get(pair)
        if loss is None:
            loss = self._known[pair] = self._of(*pair)
        return loss

    def obstacles(self) -> list[Obstacle]:
        """Return an obstacle for each loss that there may be."""
        sizes = list(self.scenario.sizes)
        losses = [self._of((one,), (other,)) for one in sizes for other in sizes]
        return [_Link(self, loss) for loss in dict.fromkeys([self.otherwise, *losses]) if loss]

    def _of(self, source: Topics, target: Topics) -> float:
        if not (source and target):  # the gateway is in no community
            return self.otherwise
        (one,), (other,) = source, target
        said = self.scenario.topic_parameters
        if one == other:
            share = said.share(one, "success")
            return self.otherwise if share is None else 1 - share
        for below, above in ((one, other), (other, one)):
            if above in self.scenario.super_topics.levels(below):
                shares = (said.share(below, key) for key in ("success_up", "success"))
                return next((1 - one for one in shares if one is not None), self.otherwise)
        return self.otherwise


@define(eq=False)
class _Link(Obstacle):
    """The frames between processes for which this is the loss."""

    losses: Losses
    loss: float

    @override
    def severs(self, source: int, target: int) -> bool:
        return self.losses.between(source, target) == self.loss
