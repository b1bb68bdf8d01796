"""How processes fall into a tree of addresses, and what views they make (002, 4.1): balls in urns.

For `camcast.research.systems.hpmcast.model`, which says how subsystems are taken for independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import comb
from typing import Final, Literal, TypeAlias

import numpy as np
from attrs import Factory, frozen

from camcast.research.systems.hpmcast.counts import NEGLIGIBLE, likely_hits
from camcast.research.systems.hpmcast.pmcast_law import SUSCEPTIBLE_MAX
from camcast.research.systems.hpmcast.setting import AddressedSetting
from camcast.research.systems.hpmcast.view_equations import interest_share
from camcast.research.systems.rfpbcast.rfpbcast_equations import Law
from camcast.research.systems.setting_base import SettingError

VIEW_MAX: Final = SUSCEPTIBLE_MAX  # delegates in a view; their chain is the exact one
GROUP_MAX: Final = 2_000  # chosen: interested ones of level 1; a chain of 32 MB, and seconds

_LEAST_VIEW: Final = 1e-5  # chosen: less probable views are left out, a thousandth of all


def check(setting: AddressedSetting) -> None:
    """Raise `SettingError` for views and groups of which the model would take too long."""
    tree = setting.hierarchy
    if tree.depth > 1 and tree.arity * tree.redundancy > VIEW_MAX:
        raise SettingError(
            f"arity={tree.arity} and redundancy={tree.redundancy} make views of"
            f" {tree.arity * tree.redundancy}; the model takes {VIEW_MAX} at most"
        )
    mean = setting.interested * setting.share(1)
    if mean + 4 * mean**0.5 > GROUP_MAX and setting.interested > GROUP_MAX:
        raise SettingError(
            f"{mean:,.0f} interested processes in a group of level 1; the model takes some"
            f" {GROUP_MAX:,}: give a larger arity or depth"
        )


# -- lines of a view ----------------------------------------------------------------------------

Publisher: TypeAlias = Literal["elsewhere", "member", "delegate"]
"""The publisher's place, as seen from a subsystem; a member is no delegate."""


@frozen
class Line:
    """The state of a line when its view is done."""

    delegates: int
    have: int
    """Those that are alive and have the event, the publisher among them if he is one."""
    dead: int
    publisher: Publisher


COMPLETE: Final = 4
"""The outcome of an event is five numbers: living interested processes, those of them that have it,
copies sent, copies to the uninterested, and, at this index, whether all the interested have it."""


@frozen(eq=False)
class Lines:
    """The subsystems of one level, as lines of the views above."""

    chances: Mapping[tuple[int, bool], float]
    """By a line's number of delegates, and whether somebody of it is interested: the probability,
    of a line without the publisher."""
    his: Mapping[int, tuple[float, float]]
    """By number of delegates: the probability that the publisher's line has so many, and then that
    the publisher is one of them."""
    uninterested: float
    """The share of the delegates of interested lines who are not interested themselves."""
    outcomes: Mapping[Line, Law]
    """The outcome of an interested line further down, on average."""
    kept: dict[tuple[int, int, int, int, Publisher], Law] = Factory(dict)

    def further(self, r: int, wanted: int, have: int, dead: int, publisher: Publisher) -> Law:
        """Return what comes of a line with r delegates, if it is uniform who has the event.

        `wanted` delegates are in interested lines, but for the publisher if he is a delegate; so
        many of them have the event, or are dead.
        """
        key = (r, wanted, have, dead, publisher)
        if key not in self.kept:
            total, weight, first = np.zeros(5), 0.0, int(publisher == "delegate")
            rest = wanted - have - dead
            for mine in range(min(r - first, have) + 1):
                for gone in range(min(r - first - mine, dead) + 1):
                    others = comb(rest, r - first - mine - gone)
                    ways = comb(have, mine) * comb(dead, gone) * others
                    if ways:
                        share = ways / comb(wanted, r - first)
                        total += share * self.outcomes[Line(r, first + mine, gone, publisher)]
                        weight += share
            self.kept[key] = total / weight
        return self.kept[key]


def lines_of(setting: AddressedSetting, level: int, outcomes: Mapping[Line, Law]) -> Lines:
    """Return the subsystems of a level, of which is known what comes of an event there."""
    p_1, R = setting.interested_share, setting.hierarchy.redundancy
    chances: dict[tuple[int, bool], float] = defaultdict(float)
    his: dict[int, tuple[float, float]] = {}
    delegates = uninterested = 0.0
    for size, p in likely_hits(setting.others, setting.share(level)):
        r, wanted = min(R, size), interest_share(p_1, size)
        chances[r, True] += p * wanted
        chances[r, False] += p * (1 - wanted)
        delegates += r * p * wanted
        uninterested += r * p * (wanted - p_1) if size else 0.0
        r = min(R, size + 1)
        before, is_one = his.get(r, (0.0, 0.0))
        his[r] = (before + p, is_one + p * min(1.0, R / (size + 1)))
    share = uninterested / delegates if delegates else 0.0
    # left out are those that are so improbable that nothing is known of them
    told = [(line.delegates, line.publisher) for line in outcomes]

    def known_of(r: int, publisher: Publisher) -> bool:
        return not told or (r, publisher) in told

    return Lines(
        {
            (r, wanted): p
            for (r, wanted), p in chances.items()
            if p > NEGLIGIBLE and (not wanted or known_of(r, "elsewhere"))
        },
        {r: (p, is_one / p) for r, (p, is_one) in his.items() if known_of(r, "delegate")},
        share,
        outcomes,
    )


def cases(setting: AddressedSetting, r: int, publisher: Publisher) -> Iterator[Line]:
    """Yield what may have become of a line with r delegates."""
    for have in range(int(publisher == "delegate"), r + 1):
        for dead in range(r - have + 1 if setting.crash else 1):
            yield Line(r, have, dead, publisher)


@frozen(eq=False)
class Means:
    """Means of what comes of an event, by what has become of a line."""

    totals: dict[Line, Law] = Factory(dict)
    weights: dict[Line, float] = Factory(dict)

    def add(self, line: Line, weight: float, found: Law) -> None:
        """Take one case in."""
        self.totals[line] = self.totals.get(line, 0.0) + weight * found
        self.weights[line] = self.weights.get(line, 0.0) + weight

    def all(self) -> dict[Line, Law]:
        """Return the means."""
        return {line: total / self.weights[line] for line, total in self.totals.items()}


# -- views --------------------------------------------------------------------------------------


@frozen
class View:
    """How many there are in a view of level 2 or more."""

    lines: int
    delegates: int
    wanted: int
    """Delegates of interested lines."""

    def longer(self, r: int, wanted: bool) -> View:
        """Return the view with a line more, or with an empty one."""
        return View(self.lines + (r > 0), self.delegates + r, self.wanted + r * wanted)


@frozen
class Case:
    """A view, how probable it is, and how many interested lines have so many delegates."""

    view: View
    chance: float
    each: Mapping[int, float]
    """Without that of the publisher."""
    his: int
    """The delegates of the publisher's line; 0 if he is elsewhere."""
    is_delegate: float
    """The probability that he is one of them."""


def views(setting: AddressedSetting, below: Lines, *, publisher: bool) -> Iterator[Case]:
    """Yield the views of a independent lines, of which one is the publisher's or none.

    Those with nobody interested are left out.
    """
    others = setting.hierarchy.arity - publisher
    fewer = {View(0, 0, 0): 1.0}
    law = fewer
    for _ in range(others):
        fewer, grown = law, defaultdict[View, float](float)
        for view, p in law.items():
            for (r, wanted), chance in below.chances.items():
                grown[view.longer(r, wanted)] += p * chance
        law = {view: p for view, p in grown.items() if p > NEGLIGIBLE / 100}
    for view, p in law.items():
        if p < _LEAST_VIEW:
            continue
        each = {
            r: others * chance * fewer.get(_without(view, r), 0.0) / p
            for (r, wanted), chance in below.chances.items()
            if wanted
        }
        if not publisher and view.wanted:
            yield Case(view, p, each, 0, 0.0)
        if publisher:
            for r, (chance, is_delegate) in below.his.items():
                yield Case(view.longer(r, wanted=True), p * chance, each, r, is_delegate)


def _without(view: View, r: int) -> View:
    return View(view.lines - 1, view.delegates - r, view.wanted - r)
