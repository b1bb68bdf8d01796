"""hpmcast once more, as dumb as can be: Figure 6 line by line, addresses as tuples, lists of all.

Nothing is shared with `camcast.population.hpmcast` or `camcast.protocols`, but the setting's
numbers. `gossip_network` is a second one: the processes are `LevelGossip`, which a live process
uses, and the views come from `camcast.protocols.hpmcast.view`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import log
from random import Random

from camcast.protocols.hpmcast.address import Address
from camcast.protocols.hpmcast.rounds import Audience, LevelGossip, audience
from camcast.protocols.hpmcast.view import Line, processes_of, tables
from camcast.settings.tree import HpmcastSetting

Counts = dict[str, int]
Twin = Callable[[HpmcastSetting, int], Counts]


def counts(
    interested: dict[Address, bool],
    alive: dict[Address, bool],
    has: dict[Address, bool],
    publisher: Address,
) -> Counts:
    others = [x for x in interested if x != publisher and alive[x]]
    return {
        "alive": sum(interested[x] for x in others),
        "delivered": sum(interested[x] and has[x] for x in others),
        "parasites": sum(has[x] and not interested[x] for x in others),
    }


def figure6(setting: HpmcastSetting, seed: int) -> Counts:
    """One event by Figure 6, all processes in step."""
    rng = Random(seed)
    a, l, R, F, D = (  # noqa: E741  # as in the paper
        *(setting.arity, setting.depth, setting.redundancy),
        *(setting.fan_out, setting.threshold),
    )
    processes = list(product(range(a), repeat=l))
    interested = {x: rng.random() < setting.interested for x in processes}
    alive = {x: rng.random() >= setting.crash for x in processes}
    publisher = rng.choice(processes)
    alive[publisher] = True

    def subsystem(prefix: Address) -> list[Address]:
        return [x for x in processes if x[: len(prefix)] == prefix]

    seen: dict[tuple[int, Address], tuple[list[Address], list[bool], float]] = {}

    def view(level: int, x: Address) -> tuple[list[Address], list[bool], float]:
        """The processes of a view, to whom of them the event is sent, and prob."""
        prefix = x[: l - level]
        if (level, prefix) in seen:
            return seen[level, prefix]
        members, matches = [], []
        for digit in range(a):
            below = subsystem((*prefix, digit))
            wants = any(interested[y] for y in below)
            for y in sorted(below)[: R if level > 1 else 1]:
                members.append(y)
                matches.append(wants)
        hits, m = sum(matches), len(members)
        p_i = 1 - (1 - setting.interested) ** (a ** (level - 1))
        small = (hits if setting.estimate == "measured" else m * p_i) < D and hits > 0
        if small:
            matches = [v < D or match for v, match in enumerate(matches)]
        if setting.estimate == "measured":
            prob = sum(matches) / m
        else:
            prob = (min(D, m) + (m - min(D, m)) * p_i) / m if small else p_i
        seen[level, prefix] = (members, matches, prob)
        return seen[level, prefix]

    def rounds(prob: float) -> float:
        if a * R * prob <= 1:
            return 0.0
        return log(a * R * prob) * (1 / log(F * prob + 1) + 1 / (F * prob))

    gossips: dict[Address, dict[int, tuple[float, int]]] = {x: {} for x in processes}
    has = dict.fromkeys(processes, False)
    gossips[publisher][l] = (view(l, publisher)[2], 0)
    has[publisher] = True
    periods = messages = parasite_copies = 0
    active = True
    while active:
        active, sent = False, []
        for x in processes:
            for level in range(l, 0, -1):
                if level not in gossips[x]:
                    continue
                prob, count = gossips[x][level]
                if count < rounds(prob):
                    active = True
                    gossips[x][level] = (prob, count + 1)
                    members, matches, _ = view(level, x)
                    dests: list[int] = []
                    for _ in range(F):
                        left = [
                            v for v in range(len(members)) if v not in dests and members[v] != x
                        ]
                        if not left:
                            break
                        dest = rng.choice(left)
                        dests.append(dest)
                        if matches[dest]:
                            sent.append((members[dest], prob, count + 1, level))
                elif level > 1:
                    del gossips[x][level]
                    gossips[x][level - 1] = (view(level - 1, x)[2], 0)
        periods += active
        messages += len(sent)
        for y, prob, count, level in sent:
            if not alive[y] or rng.random() < setting.loss:
                continue
            parasite_copies += not interested[y]
            if not gossips[y]:
                gossips[y][level] = (prob, count)
                has[y] = True
    return counts(interested, alive, has, publisher) | {
        "rounds": periods, "messages": messages, "parasite_copies": parasite_copies
    }  # fmt: skip


def gossip_network(setting: HpmcastSetting, seed: int) -> Counts:
    """One event by processes that are `LevelGossip`, in step."""
    rng = Random(seed)
    a, depth = setting.arity, setting.depth
    processes = list(product(range(a), repeat=depth))
    interested = {x: rng.random() < setting.interested for x in processes}
    alive = {x: rng.random() >= setting.crash for x in processes}
    publisher = rng.choice(processes)
    alive[publisher] = True
    known: dict[Address, dict[int, tuple[Line[bool], ...]]] = {}

    def audience_of(me: Address) -> Callable[[int, str], Audience[Address]]:
        def at(level: int, event: str) -> Audience[Address]:
            if me not in known:
                known[me] = tables(me, interested, setting.redundancy, any)
            table = known[me][level]
            return audience(
                len(table),
                processes_of(table),
                [line.interest for line in table for _ in line.delegates],
                setting.threshold,
                setting.share(level) if setting.estimate == "expected" else None,
            )

        return at

    gossips = {
        x: LevelGossip[str, Address](
            x, depth, setting.redundancy, setting.fan_out, audience_of(x), rng
        )
        for x in processes
    }
    has = dict.fromkeys(processes, False)
    gossips[publisher].publish("event")
    has[publisher] = True
    messages = parasite_copies = period = periods = 0
    while not all(gossip.idle for gossip in gossips.values()):
        period += 1
        before = [gossips[x].gossip() for x in processes if not gossips[x].idle]
        if not all(gossips[x].idle for x in processes):
            periods = period  # who is not done now has gossiped in this period
        for copy in [copy for copies in before for copy in copies]:
            messages += 1
            if not alive[copy.to] or rng.random() < setting.loss:
                continue
            parasite_copies += not interested[copy.to]
            if gossips[copy.to].receive(copy.event, copy.share, copy.rounds, copy.level):
                has[copy.to] = True
    return counts(interested, alive, has, publisher) | {
        "rounds": periods, "messages": messages, "parasite_copies": parasite_copies
    }  # fmt: skip
