"""What section 6.1 of the CAMCAST paper (000) says of its results, and whether ours say so too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from camcast.models.camcast.messages import gossip_messages
from camcast.report.claim import Claim, verdict
from camcast.reproduction.camcast.plan import COMMUNITIES, CRASHED_COMPARED, PARAMETERS, SIZES
from camcast.reproduction.camcast.results import Results, group_of

_DEGRADED: Final = 0.05  # [CAMCAST 1.4: "degraded by only 5%"]
_NEAR: Final = 0.1  # chosen: "of an order of" N ln N
_BETTER: Final = 0.1  # chosen: "much better", in absolute terms


def claims(results: Results) -> tuple[Claim, ...]:
    """Return the paper's statements of the protocols that are chosen, beside what was found."""
    if not results.plan.about("camcast"):
        return ()
    upward = _mean(results, "upward_messages", 0.5)
    climbing = results.spread(crash=0.5)["upward_share"]
    bounds = [float(bound) for bound in gossip_messages(np.array(SIZES), PARAMETERS.c)]
    sent = _mean(results, "messages", 0.0)
    ratio = [messages / bound for messages, bound in zip(sent, bounds, strict=True)]
    third, half = _mean(results, "reception", CRASHED_COMPARED), _mean(results, "reception", 0.5)
    weak, strong = (_mean(results, "reliability", CRASHED_COMPARED, weak) for weak in (True, False))
    weak_third = _mean(results, "reception", CRASHED_COMPARED, True)
    better = [
        name
        for name, ours, theirs in zip(COMMUNITIES, weak, strong, strict=True)
        if ours > theirs + _BETTER
    ]
    rising = [_mean(results, "reliability", crash) for crash in (0.5, 0.3, 0.0)]
    return (
        Claim(
            where="6.1.2, Figure 13",
            quote="The message complexity is of an order of Nt · ln Nt as expected.",
            holds=verdict(all(abs(share - 1) < _NEAR for share in ratio)),
            found=f"Without crashes a community sends this share of N (ln N + c):"
            f" {_percent(ratio)}.",
        ),
        Claim(
            where="6.1.2, Figure 14",
            quote="even if almost half of the processes fail, at least one event is sent to"
            " the community of processes participating in the super-community",
            holds=verdict(min(upward[:-1]) >= 1, "in the mean"),
            found=f"With half of them dead, {upward[0]:.2f} copies are sent from g and"
            f" {upward[1]:.2f} from d; at least one from g in {climbing[0]:.0%} of the runs,"
            f" from d in {climbing[1]:.0%}.",
        ),
        Claim(
            where="6.1.2, Figure 15",
            quote="the reception probability is smaller for processes interested in a",
            holds=verdict(all(g > d > a for g, d, a in (third, half))),
            found=f"With 30 % dead: {_percent(third)}; with 50 %: {_percent(half)}.",
        ),
        *_degraded(results),
        Claim(
            where="6.1.2, Figure 16",
            quote="the reliability depends on the community [...] As soon as the percentage of"
            " alive processes increases in Πd and Πa, the reliability increases rapidly.",
            holds=verdict(rising[0][1] < rising[1][1] and rising[0][2] < rising[1][2]),
            found=f"With 50 % dead: {_percent(rising[0])}; with 30 %: {_percent(rising[1])};"
            f" with none: {_percent(rising[2])}. The larger a community, the harder it is to"
            " complete, so that with many dead g is the least reliable, not a.",
        ),
        Claim(
            where="6.1.2, Figures 17, 18",
            quote="We achieve a much better reliability for a weakly connected system than in"
            " the preceding scenarios.",
            holds=verdict(bool(better), f"reliability: of {', '.join(better)}"),
            found=f"Reliability with 30 % crashed, weakly: {_percent(weak)}; stillborn:"
            f" {_percent(strong)}. Reception, weakly: {_percent(weak_third)}; stillborn:"
            f" {_percent(third)}. Upward"
            " messages have more senders and no link is dead for good; but the same share of"
            " copies is lost, and more processes must be reached for all to be.",
        ),
    )


def _degraded(results: Results) -> tuple[Claim, ...]:
    """Return what 1.4 says of CAMCAST beside gossip broadcast, if both are chosen."""
    if not results.plan.about("camcast", "broadcast"):
        return ()
    all_of_us = results.spread(crash=CRASHED_COMPARED)["reception_of_all"]["mean"]
    broadcast = results.spread(group_of(SIZES), CRASHED_COMPARED)["reception_of_all"]["mean"]
    less = [1 - share / broadcast for share in _mean(results, "reception", CRASHED_COMPARED)]
    return (
        Claim(
            where="1.4",
            quote="the reception probability of an event is degraded by only 5% despite the"
            " crash of 30% of the processes with respect to a gossip-based approach",
            holds=verdict(1 - all_of_us / broadcast <= _DEGRADED, "over all processes"),
            found=f"Of all alive processes {all_of_us:.1%} receive it, with gossip broadcast"
            f" {broadcast:.1%}: {1 - all_of_us / broadcast:.1%} less. By community:"
            f" {_percent(less, 2)} less.",
        ),
    )


def _mean(results: Results, measure: str, crash: float, weak: bool = False) -> list[float]:
    found = results.spread(crash=crash, weak=weak)["communities"]
    return [community[measure]["mean"] for community in found]


def _percent(shares: Sequence[float], decimals: int = 1) -> str:
    named = zip(COMMUNITIES, shares, strict=True)
    return ", ".join(f"{name} {share:.{decimals}%}" for name, share in named)
