"""Which c, g, a and z a hierarchy needs, community by community (paper 000, 3.5, 4.5 and 6.1).

The target is a *reliability*: the probability that all living members of a community receive an
event that is published in the first community of the setting, the bottom-most. It includes the
climbs on the way; an event that is published higher up climbs less. A plan is the cheapest choice
that meets all targets by `camcast.research.systems.camcast.model`: it has the fewest messages an
event, within and between communities, and then the fewest table entries.

Theory of operation
-------------------
Messages are k = ceil(ln N + c) for each member that has the event, and g a for each super-topic.
One step of k costs N messages and divides the failures of gossip by about e^p_succ; one more
upward message costs 1 and divides the failures of a climb by the same. Whole fan-outs are chosen
first, and climbs get the failures that those leave.

1. With every parameter at its largest, all targets must be met; else `PlanError`. More fan-out,
   links or copies never hurt.
2. For each fan-out tried, the climbs are made as cheap as possible. Their failures are first
   split *equally*: each climb may fail with probability θ = 2^-t, for the smallest whole t that
   meets all targets. (A sum of e^-(κ E_i) at a given total of messages E_i is least when its terms
   are equal, and κ, the share of copies that take effect, is the same everywhere, as it is unless
   communities are weakly linked; then the single steps mend the split.) For one θ a
   climb takes the cheapest g·a, then the smallest z: see `_cheapest_climb`. Parameters are whole
   numbers, so that some can still be lowered by one while all targets hold: one at a time, the
   largest saving first.
3. Fan-outs start from the least that meet the targets with the surest climbs, and go up by one,
   community by community, as long as the messages they cost can still pay: a larger fan-out may
   spare upward messages, above all from a large community into one of ten, of which upward messages
   must otherwise reach many members at once.
4. At last k, g, a and z are lowered by one wherever all targets still hold. The plan is
   *locally* minimal: none of them can be lowered by one. The search is not exhaustive.

In the result z = a = 1 wherever there are more members than needed as links, because two copies
by two links are lost more independently than two by one link. A larger z is for small
communities, which have no more links, and, in a live system, for links that fail before the next
check of their table (3.4), a time that a setting does not have. Give `z_min` for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, expm1, floor, fsum, log
from typing import Final

import attrs
from attrs import frozen

from camcast.research.systems.camcast.model import (
    Outcome,
    Prediction,
    predict,
    predict_outcomes,
    summarise,
)
from camcast.research.systems.camcast.setting import Community, Setting
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.parameters import Parameters

Z_MAX: Final = 10  # chosen: as many links as the upkeep of a table can look after
_C_MIN, _C_MAX = -10.0, 100.0  # the range of Parameters.c
_HALVINGS: Final = 60  # chosen: 2^-60 is no failure at all
_C_GRAIN: Final = 1000  # chosen: c is given to three digits


class PlanError(CamcastError, ValueError):
    """A target cannot be met; the message names the community, the reason and the best value."""


@frozen
class Choice:
    """The parameters of a community in whole numbers: k, g, a and z."""

    fan_out: int
    g: int
    a: int
    z: int


@frozen
class Plan:
    """The setting with its planned parameters, and the prediction for each community."""

    setting: Setting
    predictions: tuple[Prediction, ...]

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """The parameters of each community, in the setting's order."""
        return tuple(community.parameters for community in self.setting.communities)

    @property
    def messages(self) -> float:
        """How many messages an event takes on average, within and between communities."""
        return fsum(p.messages + p.upward_messages for p in self.predictions)


def plan(
    setting: Setting,
    target: float | Sequence[float],
    z_max: int = Z_MAX,
    z_min: int = 1,
) -> Plan:
    """Return the cheapest parameters with which every community's reliability meets its target.

    The plan uses the sizes, super-communities, loss and crashes of `setting`, not its parameters. A
    process in several communities counts as one in each: a climb that it saves is not counted on.
    `target` is one probability for all communities or one for each; 0 asks for nothing. A
    community without super-communities gets g = a = 1 and z = `z_min`, which it does not use.

    Raises `PlanError` if a target is out of reach, and `ValueError` for a target outside [0, 1),
    for another number of targets than of communities, or unless 1 <= z_min <= z_max.
    """
    communities = setting.communities
    targets = [target] * len(communities) if isinstance(target, int | float) else list(target)
    if len(targets) != len(communities):
        raise ValueError(f"{len(targets)} targets for {len(communities)} communities")
    if not all(0 <= value < 1 for value in targets):
        raise ValueError(f"a target is a probability in [0, 1), not {target!r}")
    if not 1 <= z_min <= z_max:
        raise ValueError(f"1 <= z_min <= z_max, not {z_min} and {z_max}")
    apart = attrs.evolve(setting, overlaps=())
    return _Search(apart, targets, z_min, z_max).run()


def lowered(choices: tuple[Choice, ...], index: int, name: str) -> tuple[Choice, ...]:
    """Return the choices with one parameter of one community lowered by one."""
    lower = attrs.evolve(choices[index], **{name: getattr(choices[index], name) - 1})
    return (*choices[:index], lower, *choices[index + 1 :])


class _Search:
    """The search for the cheapest choice, with the predictions made so far."""

    def __init__(self, setting: Setting, targets: Sequence[float], z_min: int, z_max: int) -> None:
        self.setting = setting
        self.targets = targets
        self.z_min, self.z_max = z_min, z_max
        self.sizes = [community.size for community in setting.communities]
        self.supers = [community.supers for community in setting.communities]
        self.least = [min(n - 1, max(1, ceil(log(n) + _C_MIN))) for n in self.sizes]
        self.most = [min(n - 1, floor(log(n) + _C_MAX)) for n in self.sizes]
        self._seen: dict[tuple[Choice, ...], tuple[list[Outcome], float]] = {}

    def run(self) -> Plan:
        self._check_feasible()
        fan_outs = [self._least_fan_out(index) for index in range(len(self.sizes))]
        best = self._solve(fan_outs)
        while best is None:  # together they may need more than each alone
            fan_outs = [min(k + 1, most) for k, most in zip(fan_outs, self.most, strict=True)]
            best = self._solve(fan_outs)
        best = self._lower(self._try_larger_fan_outs(best), fan_outs_too=True)
        setting = self._setting(best)
        return Plan(setting, tuple(predict(setting)))

    def _check_feasible(self) -> None:
        choices = self._choices(self.most, None)
        outcomes, _ = self._evaluate(choices)
        for index, (outcome, wanted) in enumerate(zip(outcomes, self.targets, strict=True)):
            if outcome.reliability >= wanted:
                continue
            peopled = 1.0 if index == 0 else 1 - self.setting.stillborn ** self.sizes[index]
            if outcome.arrival <= 0:
                reason = "no event of the first community can get there"
            elif outcome.arrival / peopled < wanted:
                reason = (
                    "an event gets to any of its living members with"
                    f" {outcome.arrival / peopled:.4f} at most"
                )
            else:
                reason = "copies are lost, or dead receivers met, too often for gossip to reach all"
            raise PlanError(
                f"community {index} of {self.sizes[index]} processes misses its target of"
                f" {wanted:g} even with the largest fan-out ({choices[index].fan_out}), g = N and"
                f" a = z = {self.z_max}, where its reliability is {outcome.reliability:.4f}:"
                f" {reason}"
            )

    def _least_fan_out(self, index: int) -> int:
        """Return the least fan-out that meets one community's target, all others at their most."""

        def suffices(k: int) -> bool:
            fan_outs = [*self.most[:index], k, *self.most[index + 1 :]]
            return self._meets(self._choices(fan_outs, _HALVINGS), index)

        return self._least_that(suffices, self.least[index], self.most[index])

    def _try_larger_fan_outs(self, best: tuple[Choice, ...]) -> tuple[Choice, ...]:
        improved = True
        while improved:
            improved = False
            for index in range(len(self.sizes)):
                fan_outs = [choice.fan_out for choice in best]
                for k in range(fan_outs[index] + 1, self.most[index] + 1):
                    fan_outs[index] = k
                    # if gossip alone costs too much, so do all larger fan-outs
                    if self._gossip_cost(best, fan_outs) >= self._cost(best)[0]:
                        break
                    found = self._solve(fan_outs)
                    if found is not None and self._cost(found) < self._cost(best):
                        best, improved = found, True
        return best

    def _solve(self, fan_outs: Sequence[int]) -> tuple[Choice, ...] | None:
        """Return the cheapest climbs found for these fan-outs; None if they do not suffice."""
        if not self._meets(self._choices(fan_outs, _HALVINGS)):
            choices = self._choices(fan_outs, None)
            return self._lower(choices) if self._meets(choices) else None
        halvings = self._least_that(lambda t: self._meets(self._choices(fan_outs, t)), 0, _HALVINGS)
        return self._lower(self._choices(fan_outs, halvings))

    def _lower(
        self, choices: tuple[Choice, ...], *, fan_outs_too: bool = False
    ) -> tuple[Choice, ...]:
        """Lower single parameters by one, the largest saving first, while the targets hold.

        A step that misses a target also misses it with less of another parameter, so that it is
        tried again only when no other step is left.
        """
        while True:
            before, refused = choices, list[tuple[int, str]]()
            while True:
                steps = sorted(
                    (-self._saving(choices, index, name), index, name)
                    for index in range(len(choices))
                    for name in ("fan_out", "g", "a", "z")
                    if (index, name) not in refused
                    and self._may_lower(choices[index], name, index, fan_outs_too)
                )
                if not steps:
                    break
                _, index, name = steps[0]
                changed = lowered(choices, index, name)
                if self._meets(changed):
                    choices = changed
                else:
                    refused.append((index, name))
            if choices == before:
                return choices

    def _saving(self, choices: tuple[Choice, ...], index: int, name: str) -> float:
        """Return how many messages a parameter lower by one saves, at the same infected members."""
        outcome = self._evaluate(choices)[0][index]
        choice, members = choices[index], outcome.arrival * outcome.infected.mean
        links = members / self.sizes[index] * len(self.supers[index])
        each = {"fan_out": members, "g": links * choice.a, "a": links * choice.g, "z": 0.0}
        return round(each[name], 6)

    def _may_lower(self, choice: Choice, name: str, index: int, fan_outs_too: bool) -> bool:
        if name == "fan_out":
            return fan_outs_too and choice.fan_out > self.least[index]
        if name == "z":
            return choice.z > max(self.z_min, choice.a)
        return bool(getattr(choice, name) > 1)

    def _choices(self, fan_outs: Sequence[int], halvings: int | None) -> tuple[Choice, ...]:
        """Return choices whose climbs fail with about 2^-halvings; for None, the surest climbs."""
        return tuple(
            Choice(k, *self._cheapest_climb(index, halvings)) for index, k in enumerate(fan_outs)
        )

    def _cheapest_climb(self, index: int, halvings: int | None) -> tuple[int, int, int]:
        """Return g, a and z of least g·a, then z, whose climbs fail with 2^-halvings at most.

        This assumes that all living members have the event and that the super-community is large;
        `_meets` then checks the choice by the full prediction.
        """
        supers = self.supers[index]
        if not supers:
            return 1, 1, self.z_min
        size = self.sizes[index]
        surest = (size, self.z_max, self.z_max)
        if halvings is None:
            return surest
        members = size * (1 - self.setting.stillborn)
        arrival = self.setting.arrival_up(index) * (1 - self.setting.stillborn)
        if members * arrival == 0:
            return surest
        needed = -expm1(-halvings * log(2) / members)  # of each member: 1 - 2^(-t/M)
        found: list[tuple[int, int, int, int]] = []
        for z in range(self.z_min, self.z_max + 1):
            for a in range(1, z + 1):
                succeeds = min(
                    1 - (1 - min(1.0, a / links) * arrival) ** links
                    for links in (min(z, self.sizes[above]) for above in supers)
                )
                g = max(1, ceil(size * needed / succeeds))
                if g <= size:
                    found.append((g * a, z, a, g))
        if not found:
            return surest
        _, z, a, g = min(found)
        return g, a, z

    # -- predictions ---------------------------------------------------------------------------

    def _evaluate(self, choices: tuple[Choice, ...]) -> tuple[list[Outcome], float]:
        if choices not in self._seen:
            setting = self._setting(choices)
            outcomes = predict_outcomes(setting)
            figures = [summarise(setting, i, outcome) for i, outcome in enumerate(outcomes)]
            cost = fsum(figure.messages + figure.upward_messages for figure in figures)
            self._seen[choices] = outcomes, cost
        return self._seen[choices]

    def _meets(self, choices: tuple[Choice, ...], upto: int | None = None) -> bool:
        """Say whether the targets hold, of all communities or of one only."""
        outcomes, _ = self._evaluate(choices)
        pairs = list(zip(outcomes, self.targets, strict=True))
        pairs = pairs if upto is None else pairs[upto : upto + 1]
        return all(outcome.reliability >= wanted for outcome, wanted in pairs)

    def _cost(self, choices: tuple[Choice, ...]) -> tuple[float, int]:
        entries = sum(
            size * (choice.fan_out + choice.z * len(supers))
            for size, choice, supers in zip(self.sizes, choices, self.supers, strict=True)
        )
        # rounded: a lower z alone changes the messages in their last digits only
        return round(self._evaluate(choices)[1], 6), entries

    def _gossip_cost(self, choices: tuple[Choice, ...], fan_outs: Sequence[int]) -> float:
        outcomes, _ = self._evaluate(choices)
        return fsum(
            outcome.arrival * outcome.infected.mean * k
            for outcome, k in zip(outcomes, fan_outs, strict=True)
        )

    def _setting(self, choices: tuple[Choice, ...]) -> Setting:
        communities = tuple(
            attrs.evolve(community, parameters=_parameters(community, choice))
            for community, choice in zip(self.setting.communities, choices, strict=True)
        )
        return attrs.evolve(self.setting, communities=communities)

    @staticmethod
    def _least_that(holds: Callable[[int], bool], low: int, high: int) -> int:
        """Return the least number for which it holds, if it does from there up to `high`."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return low


def _parameters(community: Community, choice: Choice) -> Parameters:
    """Return the parameters of a choice; c is the largest of three decimals with its fan-out."""
    c = floor((choice.fan_out - log(community.size)) * _C_GRAIN) / _C_GRAIN
    if ceil(log(community.size) + c) > choice.fan_out:
        c -= 1 / _C_GRAIN  # the sum was rounded up
    c = max(_C_MIN, min(_C_MAX, c))
    return Parameters(c=c, g=choice.g, a=choice.a, z=choice.z)
