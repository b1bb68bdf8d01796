"""hpmcast once more, as dumb as can be: Figure 6 line by line, addresses as tuples, lists of all.

Nothing is shared with `camcast.research.systems.hpmcast.tree_population` or `camcast.protocols`,
but the setting's numbers. `level_gossip` is a second one: the processes are `LevelGossip`, which a
live process uses, and the views come from `camcast.research.systems.hpmcast.view`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from itertools import product
from math import log
from random import Random

from camcast.research.systems.hpmcast.address import Address
from camcast.research.systems.hpmcast.rounds import Audience, LevelGossip, audience
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.research.systems.hpmcast.view import Line, processes_of, tables

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


def drawn(
    setting: HpmcastSetting, rng: Random
) -> tuple[dict[Address, bool], dict[Address, bool], Address]:
    """Draw who is interested, who is alive, and the publisher, who is."""
    processes = list(product(range(setting.arity), repeat=setting.depth))
    interested = {x: rng.random() < setting.interested for x in processes}
    alive = {x: rng.random() >= setting.crash for x in processes}
    publisher = rng.choice(processes)
    alive[publisher] = True
    return interested, alive, publisher


def figure6(setting: HpmcastSetting, seed: int) -> Counts:
    """One event by Figure 6, all processes in step."""
    rng = Random(seed)
    a, l, R, F, D = (  # noqa: E741  # as in the paper
        *(setting.arity, setting.depth, setting.redundancy),
        *(setting.fan_out, setting.threshold),
    )
    interested, alive, publisher = drawn(setting, rng)
    processes = list(interested)

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
    interested, alive, publisher = drawn(setting, rng)
    have, rounds, messages, parasite_copies = level_gossip(
        interested,
        publisher,
        {x for x in interested if not alive[x]},
        *(setting.redundancy, setting.fan_out, setting.loss, rng, setting.threshold),
        setting.share if setting.estimate == "expected" else None,
    )
    return counts(interested, alive, {x: x in have for x in interested}, publisher) | {
        "rounds": rounds, "messages": messages, "parasite_copies": parasite_copies
    }  # fmt: skip


def level_gossip(
    members: Mapping[Address, bool],
    publisher: Address,
    dead: Container[Address],
    redundancy: int,
    fan_out: int,
    loss: float,
    rng: Random,
    threshold: int = 0,
    share: Callable[[int], float] | None = None,
) -> tuple[Container[Address], int, int, int]:
    """Return who gets one event, the periods, the copies and the parasite copies.

    `members` says who is interested, `share` which share of a level is taken to be.
    """
    groups: dict[Address, dict[int, tuple[Line[bool], ...]]] = {}
    audiences: dict[Address, Audience[Address]] = {}

    def audience_of(me: Address, level: int, event: int) -> Audience[Address]:
        above = me[: len(me) - level]
        if above not in audiences:
            if me[:-1] not in groups:
                groups[me[:-1]] = tables(me, members, redundancy, any)
            table = groups[me[:-1]][level]
            wanted = [line.interest for line in table for _ in line.delegates]
            estimate = None if share is None else share(level)
            audiences[above] = audience(
                len(table), processes_of(table), wanted, threshold, estimate
            )
        return audiences[above]

    def process(me: Address) -> LevelGossip[int, Address]:
        return LevelGossip(me, len(me), redundancy, fan_out, partial(audience_of, me), rng)

    have = {publisher: process(publisher)}
    have[publisher].publish(1)
    rounds = messages = parasites = 0
    while True:
        copies = [copy for one in have.values() for copy in one.gossip()]
        if all(one.idle for one in have.values()):
            return have, rounds, messages, parasites
        # a level that is done begins the next in the same period
        rounds, messages = rounds + 1, messages + len(copies)
        for copy in copies:
            if copy.to not in dead and rng.random() >= loss:
                parasites += not members[copy.to]
                one = have.setdefault(copy.to, process(copy.to))
                one.receive(1, copy.share, copy.rounds, copy.level)
