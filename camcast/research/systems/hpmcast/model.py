"""hpmcast as it is shipped: what an event comes to where addresses are identities (002, 4 to 5).

The regular tree of Equations 15 to 28, and of `camcast.research.systems.hpmcast.levels`, has a
processes in every group of level 1 and R delegates in every line. The tree of the live addresses
has neither: the first l - 1 digits of a random identity are uniform
(`camcast.research.systems.hpmcast.hierarchy`), so that n processes fall into a^(l-1) groups as
balls into urns. A group then has a binomial number of processes, n/a^(l-1) on average whatever the
arity, and may have fewer than R, or none; a view has as many lines as subsystems that are not
empty. Rounds follow from these numbers, since Figure 6 measures them. Occupancy is summed over,
not replaced by its mean:

* a subsystem has a binomial number of processes and of interested ones, independently of the
  others; that of the publisher has him and a binomial number besides;
* in a view of L lines with D delegates, of whom W stand for somebody interested, gossips the exact
  chain of distinct choices (`camcast.research.systems.hpmcast.pmcast_law`), or in groups beyond it
  that of Equation 2, for the rounds of Figure 6. Whom of the W it reaches, is uniform. As many of a
  line as have the event begin with it in the view below;
* the publisher is a delegate of as many levels as his address is small for, and in the views of
  all others a sender more.

Approximations. Sizes add up to n on average only (for `rounds`, exactly). Improbable sizes of a
group are taken together. Between the topmost view and level 1 (so for l >= 3) the delegates who
bring the event may be of any line, where they are of the first ones. Given how many delegates have
it, lines are independent in whether all of their interested have it. Periods are in step, as in the
paper (2.1.2), and the shipped ones are not. How far all this is from the shipped nodes:
tests/research/laws/test_shipped_nodes.py, docs/measured/models.md.

A threshold D is not in it: `camcast simulate hpmcast` has it, in a regular tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil, exp, fsum, lgamma, log
from typing import Final

import numpy as np
from attrs import frozen

from camcast.research.models.event_prediction import EventPrediction
from camcast.research.systems.hpmcast import counts, urns
from camcast.research.systems.hpmcast.counts import NEGLIGIBLE
from camcast.research.systems.hpmcast.known_law import known_on_average
from camcast.research.systems.hpmcast.pmcast_law import SUSCEPTIBLE_MAX
from camcast.research.systems.hpmcast.rounds import rounds
from camcast.research.systems.hpmcast.setting import AddressedSetting
from camcast.research.systems.hpmcast.urns import Case, Line, Lines, Means, Publisher, View
from camcast.research.systems.rfpbcast.rfpbcast_equations import Law

_LEAST: Final = 0.03  # chosen: less probable sizes of groups, and numbers of the dead, are
# taken together with their neighbours
_LEAST_OF_LARGE: Final = 0.2  # chosen: of groups beyond the exact chain, whose rounds hardly vary


@frozen(kw_only=True)
class AddressedPrediction(EventPrediction):
    """The measures of `systems.baselines.model.BaselinePrediction`, and what a process knows."""

    rounds: float
    """Periods until gossip ends: of every level the most that a view needs."""
    entries: float
    """How many processes one knows besides itself, each counted once (Equation 12)."""


def predict_addressed(setting: AddressedSetting) -> AddressedPrediction:
    """Predict what one publication comes to. Deterministic; see the module's text.

    Takes up to a second for some hundred processes in two levels, and 10 s for groups of a
    thousand; with three levels or more, crashes, and a part of them interested, up to a minute.
    Raises `SettingError` for larger groups, and for views of more than `VIEW_MAX`.
    """
    urns.check(setting)
    tree = setting.hierarchy
    if tree.depth == 1:
        n, n_1 = setting.processes, setting.interested
        periods = float(_periods(n, n_1 / n, setting))
        whole = _group(setting, n, n_1, int(periods), Line(0, 0, 0, "member"))
    else:
        periods = _longest_of_groups(setting)
        lines = _groups(setting)
        for level in range(2, tree.depth):
            lines, latest = _subsystems(setting, level, lines)
            periods += counts.mean_most(latest, tree.arity ** (tree.depth - level))
        whole, topmost = _top(setting, lines)
        periods += topmost
    asked, delivered, messages, parasites, complete = map(float, whole)
    return AddressedPrediction(
        reception=delivered / asked,
        reliability=complete,
        rounds=periods,
        messages=messages,
        parasite_copies=parasites,
        entries=known_on_average(tree, setting.processes),
    )


# -- level 1 ------------------------------------------------------------------------------------


def _groups(setting: AddressedSetting) -> Lines:
    """Return the groups of level 1."""
    R, means = setting.hierarchy.redundancy, Means()
    large = setting.interested * setting.share(1) > SUSCEPTIBLE_MAX
    least = _LEAST_OF_LARGE if large else _LEAST
    law = counts.likely_hits(setting.others, setting.share(1))
    for others, p_size in counts.grouped(law, R, least):
        for wanting, p_wanting in counts.grouped(
            counts.likely_hits(others, setting.interested_share), 1, least
        ):
            p = p_size * p_wanting
            if wanting:
                _add_group(setting, means, p, others, wanting, "elsewhere")
            delegate = min(1.0, R / (others + 1))
            _add_group(setting, means, p * delegate, others + 1, wanting + 1, "delegate")
            if delegate < 1:
                _add_group(setting, means, p * (1 - delegate), others + 1, wanting + 1, "member")
    return urns.lines_of(setting, 1, means.all())


def _add_group(
    setting: AddressedSetting,
    means: Means,
    p: float,
    size: int,
    interested: int,
    publisher: Publisher,
) -> None:
    lasts = _periods(size, interested / size, setting)
    for line in urns.cases(setting, min(setting.hierarchy.redundancy, size), publisher):
        means.add(line, p, _group(setting, size, interested, lasts, line))


def _group(setting: AddressedSetting, size: int, interested: int, periods: int, line: Line) -> Law:
    """Return what comes of an event in a group of level 1, some of whose delegates have it."""
    here, member = int(line.publisher != "elsewhere"), int(line.publisher == "member")
    share = (interested - here) / max(1, size - here)  # of all but the publisher
    senders = line.have + member
    wanting = here + (senders - here) * share  # of those who have it, who want it
    living = share * (line.delegates - line.have - line.dead)
    found = np.zeros(5)
    for susceptible, p in _living(share * (size - line.delegates - member), living, setting):
        law, sending = counts.gossiped(
            max(1, size - 1), susceptible, setting.fan_out, periods, 1 - setting.loss, senders
        )
        new = float(law @ np.arange(susceptible + 1))
        meets = periods * (senders - wanting) * interested
        meets += (periods * wanting + sending) * (interested - 1)
        messages = min(setting.fan_out, size - 1) * meets / max(1, size - 1)
        found += p * np.array(
            [wanting + susceptible, wanting + new, messages, 0.0, law[susceptible]]
        )
    return found


def _longest_of_groups(setting: AddressedSetting) -> float:
    """Return the mean of the most periods that a group of level 1 needs.

    Exactly for n balls in a^(l-1) urns: independent Poisson numbers, given their sum.
    """
    n, p_1 = setting.processes, setting.interested / setting.processes
    urns = setting.hierarchy.arity ** (setting.hierarchy.depth - 1)
    # chosen: larger groups have probabilities below 10^-20
    sizes = range(min(n, int(n / urns + 9 * (n / urns) ** 0.5 + 20)) + 1)
    found = [
        (size, _periods(size, wanting / size, setting) if wanting else 0, p)
        for size in sizes
        for wanting, p in counts.likely_hits(size, p_1)
    ]
    most = max(periods for _, periods, _ in found)
    lasting = np.zeros((most + 1, len(sizes)))  # P(a group of a size needs so many periods)
    for size, periods, p in found:
        lasting[periods, size] += p
    poisson = np.array([exp(s * log(n / urns) - n / urns - lgamma(s + 1)) for s in sizes])
    points = 1 << max(n, urns * len(sizes)).bit_length()

    def none_longer(within: Law) -> float:
        spectrum = np.fft.rfft(poisson * within, points) ** urns
        return float(np.fft.irfft(spectrum, points)[n])

    chances = [none_longer(within) for within in lasting.cumsum(axis=0)]
    return fsum(1 - chance / chances[-1] for chance in chances[:-1])


# -- the levels above ---------------------------------------------------------------------------


def _top(setting: AddressedSetting, below: Lines) -> tuple[Law, float]:
    """Return what comes of an event, and the mean rounds in the topmost view."""
    total, periods, whole = np.zeros(5), 0.0, 0.0
    for case in urns.views(setting, below, publisher=True):
        lasts = _periods_above(case.view, setting)
        periods += case.chance * lasts
        whole += case.chance
        for inside, p in ((1, case.is_delegate), (0, 1 - case.is_delegate)):
            if p > NEGLIGIBLE:
                mortal = case.view.wanted - inside
                for susceptible, p_living in _living(mortal, 0.0, setting):
                    given = (lasts, inside, 0, susceptible)
                    found = _spread(setting, below, case, *given, inside=bool(inside))
                    total += case.chance * p * p_living * found
    return total / whole, periods / whole


def _subsystems(
    setting: AddressedSetting, level: int, below: Lines
) -> tuple[Lines, dict[int, float]]:
    """Return the subsystems of a level from 2 to l - 1, and the law of the rounds in one."""
    periods: dict[int, float] = defaultdict(float)
    means, of_level, R = Means(), urns.lines_of(setting, level, {}), setting.hierarchy.redundancy
    for case in urns.views(setting, below, publisher=False):
        lasts = _periods_above(case.view, setting)
        periods[lasts] += case.chance
        _add_view(setting, means, below, case, "elsewhere", case.chance, inside=False)
    for case in urns.views(setting, below, publisher=True):
        is_one = case.is_delegate
        if case.view.delegates > R:
            is_one = min(is_one, of_level.his[min(R, max(of_level.his))][1])
        _add_view(setting, means, below, case, "delegate", case.chance * is_one, inside=True)
        below_only = case.is_delegate - is_one  # a delegate of his line, but not of this level's
        for inside, p in ((True, below_only), (False, 1 - case.is_delegate)):
            if p > NEGLIGIBLE:
                _add_view(setting, means, below, case, "member", case.chance * p, inside=inside)
    periods[0] += max(0.0, 1 - fsum(periods.values()))
    return urns.lines_of(setting, level, means.all()), periods


def _add_view(
    setting: AddressedSetting,
    means: Means,
    below: Lines,
    case: Case,
    publisher: Publisher,
    chance: float,
    *,
    inside: bool,
) -> None:
    view, lasts = case.view, _periods_above(case.view, setting)
    r = min(setting.hierarchy.redundancy, view.delegates)
    # of all delegates but the publisher
    share = (view.wanted - inside) / max(1, view.delegates - inside)
    extra = int(inside and publisher == "member")
    for line in urns.cases(setting, r, publisher):
        brought = line.have + extra  # by those in the view
        living = share * (r - line.have - line.dead)
        mortal = share * (view.delegates - r - extra)
        for wanting, p_wanting in counts.between(inside + share * (brought - inside)):
            for susceptible, p_living in _living(mortal, living, setting):
                most = view.wanted - wanting  # the rest is dead, not lost in rounding
                susceptible = min(susceptible, most) if setting.crash else most
                given = (lasts, wanting, brought - wanting, susceptible)
                found = _spread(setting, below, case, *given, inside=inside)
                means.add(line, chance * p_wanting * p_living, found)


def _spread(
    setting: AddressedSetting,
    below: Lines,
    case: Case,
    periods: int,
    wanting: int,
    others: int,
    susceptible: int,
    *,
    inside: bool,
) -> Law:
    """Return what comes of an event in a view and all below it.

    So many of the delegates of interested lines have it in the beginning, so many others, and the
    publisher, who is in the view if `inside`. Of the wanted so many are susceptible, and the rest
    of them is dead.
    """
    view, outside = case.view, int(case.his > 0 and not inside)
    senders = wanting + others + outside
    alone = outside == senders  # he chooses among all of the view
    choices = max(1, view.delegates - 1)
    arrival = 1 - setting.loss
    law, sending = counts.gossiped(
        choices, susceptible, setting.fan_out, periods, arrival, senders, alone=alone
    )
    meets = (periods * wanting + sending) * (view.wanted - 1) + periods * others * view.wanted
    messages = min(setting.fan_out, view.delegates - 1) * meets / max(1, view.delegates - 1)
    if outside:
        messages += min(setting.fan_out, view.delegates) * periods * view.wanted / view.delegates
    arriving = messages * arrival * (1 - setting.crash)
    uninterested = below.uninterested * (view.wanted - inside) / view.wanted
    total = np.array([0.0, 0.0, messages, arriving * uninterested, 0.0])
    rest = (view.wanted - inside, wanting - inside, view.wanted - wanting - susceptible)
    for new, p in enumerate(law):
        if p < NEGLIGIBLE:
            continue
        given = (rest[0], rest[1] + new, rest[2])
        complete = 1.0
        for r, lines in case.each.items():
            if lines:
                one = below.further(r, *given, "elsewhere")
                total[: urns.COMPLETE] += p * lines * one[: urns.COMPLETE]
                complete *= float(one[urns.COMPLETE]) ** lines
        if case.his:
            one = below.further(case.his, *given, "delegate" if inside else "member")
            total[: urns.COMPLETE] += p * one[: urns.COMPLETE]
            complete *= float(one[urns.COMPLETE])
        total[urns.COMPLETE] += p * complete
    return total


# -- what all levels have in common -------------------------------------------------------------


def _periods(lines: int, share: float, setting: AddressedSetting) -> int:
    """Return for how many periods Figure 6 gossips in a view, which takes R for each line."""
    return ceil(rounds(lines * setting.hierarchy.redundancy, share, setting.fan_out))


def _periods_above(view: View, setting: AddressedSetting) -> int:
    return _periods(view.lines, view.wanted / view.delegates, setting)


def _living(mortal: float, living: float, setting: AddressedSetting) -> Iterator[tuple[int, float]]:
    """Yield how many of so many processes live, with some that do for certain."""
    for count, p in counts.between(mortal):
        for alive, p_alive in counts.grouped(
            counts.likely_hits(count, 1 - setting.crash), 0, _LEAST
        ):
            for whole, p_whole in counts.between(alive + living):
                yield whole, p * p_alive * p_whole
