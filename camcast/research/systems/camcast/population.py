"""The population simulator of CAMCAST: every process by itself, 10^8 of them on one core.

Theory of operation
-------------------
*Infect and die.* A process that has the event sends it once, in the round after it came: to
`fan_out` distinct others of its community and, if it is a link, to some processes of its
super-topic table (000, 3.5; as `camcast.protocols.camcast` reads it, p_sel is drawn for each
super-topic table by itself).

*Deferred decisions.* The entries of a process's tables matter only in the one round in which it
sends, and whether a process is dead only when a first copy arrives at it; so both are drawn then
and not stored. Targets are a uniform choice from a uniform table, and copies get lost
independently, so the copies that arrive go to a uniform subset of the others, whose size is
Binomial(fan_out, arrival): only these targets are drawn. Processes that no copy reached are alive
with the same probability as all others, and are counted in one binomial draw at the end.

*Three bits a process.* `touched`: a copy has arrived. `sending`: the process got the event in the
last round, and sends it in this one. `fresh`: it will send the event in the next round. The senders
are found by a sequential scan of the words of `sending`, which costs 2 ms a round at 10^8
processes, where a queue of senders would take 32 bits a process.

*Cache misses* take most of the time of a large population. The targets of many senders are drawn
before the first of them is looked up, so that the processor has many loads under way together: that
halves the time of 10^8 processes.

*Distinct targets* are drawn by `camcast.research.population.floyd`, two from 64 random bits. The
earlier targets of a sender are searched for a new one only if its slot of a small table carries the
sender's mark, which is rare unless the target is among them.

*The load of a process* needs 32 bits more for each: the copies that arrived at it, if it is alive.
They are counted up to `COUNTED_MAX` processes. The publisher, who has the event without a copy,
counts one too many until the end, so that a zero means: not reached, or dead.

*Random numbers*: `camcast.research.population.xoshiro`, seeded for each run from the stream of its
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import comb
from typing import Final, NamedTuple

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.population.floyd import unless_there
from camcast.research.population.load_counts import (
    COUNTED_MAX,
    LoadColumns,
    enter_copies,
    enter_senders,
)
from camcast.research.population.outcome import Counts, Outcome
from camcast.research.population.xoshiro import State, bounded, inlined, next_bits, seeded, uniform
from camcast.research.systems.camcast.setting import Community, Setting
from camcast.research.systems.setting_base import too_many
from camcast.vocabulary.streams import stream

PROCESSES_MAX: Final = 4 * 10**9
"""chosen: a process's number fits in 32 bits, and three bits for each of them in 1.5 GB."""

_WORD: Final = 64  # bits
_SLOTS: Final = (
    1024  # chosen: 4 kB of the first-level cache; at 10^8 one target in 80 meets another
)
_WAITING: Final = 512  # chosen: from 128 to 8,192 the time is the same (10^8 processes: 13.9 s)

_Words = NDArray[np.uint64]

# Numba takes an expression of a signed and an unsigned integer for a float: all are unsigned.
_0, _1, _6 = np.uint64(0), np.uint64(1), np.uint64(6)
_32, _58 = np.uint64(32), np.uint64(58)
_NOBODY: Final = np.uint64(2**64 - 1)
_SLOT_BITS: Final = np.uint64(_SLOTS - 1)
_BIT_BITS: Final = np.uint64(_WORD - 1)
_FULL: Final = np.uint64(_WAITING)

# The number of a word's only bit, by the upper six bits of its product with a De Bruijn number.
_DE_BRUIJN: Final = np.uint64(0x03F79D71B4CB0A89)
_BIT_NUMBER: Final = np.zeros(_WORD, np.uint64)
for _bit in range(_WORD):
    _BIT_NUMBER[(int(_DE_BRUIJN) << _bit) % 2**64 >> 58] = _bit


class _Plan(NamedTuple):
    """A setting as arrays: by community, and `above` to `arrival` by super-topic table."""

    sizes: _Words
    first_word: _Words
    """Where a community's bits begin; one entry more than communities."""
    fan_out: _Words
    arrivals: NDArray[np.float64]
    """P(at most d of fan_out copies arrive), by community and d."""
    p_sel: NDArray[np.float64]
    first_table: _Words
    """Where a community's super-topic tables begin; one entry more than communities."""
    above: _Words
    links: _Words
    p_a: NDArray[np.float64]
    arrival: NDArray[np.float64]
    stillborn: float


class _Scratch(NamedTuple):
    """Arrays that the kernel writes, kept from run to run; only `slots` keeps values.

    The last of the slots is the mark of the latest choice.
    """

    touched: _Words
    sending: _Words
    fresh: _Words
    slots: NDArray[np.uint32]
    targets: _Words
    arrived: NDArray[np.int32]
    """The copies that arrived at each living process, one more for the publisher; empty if they are
    not counted."""
    upward: Counts
    """How many senders sent 0, 1, 2, ... copies upward, by community."""


# The columns of a run's counts. The last has what the publisher sends upward.
_TOUCHED, _RECEIVED, _ROUNDS, _MESSAGES, _UPWARD, _PUBLISHER = range(6)


def simulate(setting: Setting, runs: int, seed: int, first_run: int = 0) -> Outcome:
    """Simulate the runs `first_run` and following; each is the same however they are split.

    Raises `SettingError` for more than `PROCESSES_MAX` processes, and for processes in several
    communities.
    """
    setting.refuse_overlaps("the population simulator")
    if setting.processes > PROCESSES_MAX:
        remedy = "; use the count chain, which takes any number"
        raise too_many(f"{setting.processes:,} processes", PROCESSES_MAX, remedy)
    sizes = tuple(community.size for community in setting.communities)
    counts = np.zeros((runs, len(sizes), 6), np.int64)
    alive = np.zeros((runs, len(sizes)), np.int64)
    loads = LoadColumns(runs, len(sizes), roles=("publishers", "links"))
    plan = _plan(setting)
    scratch = _scratch(plan)
    for run in range(runs):
        weather = stream(seed, "protocol", "population", first_run + run)
        _spread(plan, scratch, seeded(weather), counts[run])
        rng = Generator(PCG64(weather.getrandbits(128)))
        untouched = rng.binomial(sizes - counts[run, :, _TOUCHED], 1 - setting.stillborn)
        alive[run] = counts[run, :, _RECEIVED] + untouched
        _enter_loads(loads, run, setting, scratch, alive[run].tolist(), counts[run])
        scratch.touched[:] = 0
    _, received, rounds, messages, upward_messages, _ = counts.transpose(2, 0, 1)
    return Outcome(sizes, alive, received, rounds, messages, upward_messages, loads=loads.by_name())


def _enter_loads(
    loads: LoadColumns,
    run: int,
    setting: Setting,
    scratch: _Scratch,
    alive: Sequence[int],
    counts: Counts,
) -> None:
    """Enter the loads of a run, and clear the arrays that they are counted in."""
    begin = 0
    for at, community in enumerate(setting.communities):
        upward, publisher = scratch.upward[at], -1 if at else counts[0, _PUBLISHER]
        enter_senders(loads.sent[run, at], alive[at], community.fan_out, upward, publisher)
        if len(scratch.arrived):
            arrived = scratch.arrived[begin : begin + community.size]
            arrived[0] -= not at
            enter_copies(loads.received[run, at], arrived, alive[at])
            begin += -(-community.size // _WORD) * _WORD
    scratch.arrived[:] = 0
    scratch.upward[:] = 0


def _plan(setting: Setting) -> _Plan:
    communities = setting.communities
    tables = [(below, above) for below in communities for above in below.supers]
    numbered = list(enumerate(communities))
    words = (-(-community.size // _WORD) for community in communities)
    supers = (len(community.supers) for community in communities)
    table_sizes = [(below, communities[above].size) for below, above in tables]
    most = max(community.fan_out for community in communities)
    return _Plan(
        sizes=_words(community.size for community in communities),
        first_word=_words(accumulate(words, initial=0)),
        fan_out=_words(community.fan_out for community in communities),
        arrivals=_floats(_arrivals(one, setting.arrival_within(at), most) for at, one in numbered),
        p_sel=_floats(community.p_sel for community in communities),
        first_table=_words(accumulate(supers, initial=0)),
        above=_words(above for _, above in tables),
        links=_words(below.links(size) for below, size in table_sizes),
        p_a=_floats(below.p_a(size) for below, size in table_sizes),
        arrival=_floats(setting.arrival_up(at) for at, one in numbered for _ in one.supers),
        stillborn=float(setting.stillborn),
    )


def _words(numbers: Iterable[int]) -> _Words:
    return np.array(list(numbers), np.uint64)


def _floats(numbers: Iterable[float | Sequence[float]]) -> NDArray[np.float64]:
    """Return an array of floats, even of a probability given as 1: the kernel has one type."""
    return np.array(list(numbers), np.float64)


def _arrivals(community: Community, arrival: float, most: int) -> list[float]:
    """Return P(at most d of the community's fan_out copies arrive), for d = 0..most."""
    k = community.fan_out
    chances = (comb(k, d) * arrival**d * (1 - arrival) ** (k - d) for d in range(k))
    # The last is 1 by definition, not by summing: the search for a draw must end there.
    return [*accumulate(chances), *[1.0] * (most + 1 - k)]


def _scratch(plan: _Plan) -> _Scratch:
    words = int(plan.first_word[-1])
    counted = int(plan.sizes.sum()) <= COUNTED_MAX
    tables = zip(plan.first_table[:-1].tolist(), plan.first_table[1:].tolist(), strict=True)
    upward = max(int(plan.links[begin:end].sum()) for begin, end in tables)
    most = int(max(plan.fan_out.max(), plan.links.max(initial=0)))
    return _Scratch(
        touched=np.zeros(words, np.uint64),
        sending=np.zeros(words, np.uint64),
        fresh=np.zeros(words, np.uint64),
        slots=np.zeros(_SLOTS + 1, np.uint32),
        targets=np.zeros(_WAITING + 2 * most, np.uint64),
        arrived=np.zeros(words * _WORD * counted, np.int32),
        upward=np.zeros((len(plan.sizes), upward + 1), np.int64),
    )


@inlined
def _choose(
    state: State,
    slots: NDArray[np.uint32],
    targets: _Words,
    waiting: np.uint64,
    count: np.uint64,
    among: np.uint64,
    sender: np.uint64,
) -> State:
    """Put `count` distinct uniform targets behind the `waiting` ones, by Floyd's algorithm.

    There are `among` numbers to choose from: those from 0 on without the `sender`.
    """
    slots[_SLOTS] += np.uint32(1)
    mark = slots[_SLOTS]  # repeats after 2^32 choices; a stale mark costs a search, nothing else
    bits = _0
    for chosen in range(count):
        bound = among - count + chosen + _1  # one more number to choose from each time
        if chosen & _1:
            bits >>= _32
        else:
            bits, state = next_bits(state)
        target, state = bounded(bits, bound, state)
        if slots[target & _SLOT_BITS] == mark:
            target = unless_there(targets[waiting : waiting + chosen], target, bound - _1)
        slots[target & _SLOT_BITS] = mark
        targets[waiting + chosen] = target
    for number in range(waiting, waiting + count):
        targets[number] += np.uint64(targets[number] >= sender)
    return state


@inlined
def _deliver(
    state: State,
    touched: _Words,
    fresh: _Words,
    arrived: NDArray[np.int32],
    targets: _Words,
    stillborn: float,
    counts: NDArray[np.int64],
) -> State:
    """Let the copies to `targets` arrive in a community; add to its touched and received counts."""
    reached, alive = 0, 0
    counted = len(arrived) > 0
    for target in targets:
        word, bit = target >> _6, _1 << (target & _BIT_BITS)
        if counted:
            # Without a branch, as whether somebody was reached before cannot be predicted.
            copies = arrived[target]
            arrived[target] = copies + np.int32(copies > 0)
        if not touched[word] & bit:
            touched[word] |= bit
            reached += 1
            chance = 1.0
            if stillborn > 0:
                chance, state = uniform(state)
            if chance >= stillborn:
                fresh[word] |= bit
                alive += 1
                if counted:
                    arrived[target] = 1
    counts[_TOUCHED] += reached
    counts[_RECEIVED] += alive
    return state


@inlined
def _copies(
    state: State, links: np.uint64, p_a: float, arrival: float
) -> tuple[int, np.uint64, State]:
    """Let a link send upward; return how many copies it sends, how many arrive, and the state."""
    sent, arriving = 0, _0
    for _ in range(links):
        chance, state = uniform(state)
        if chance < p_a:
            sent += 1
            chance, state = uniform(state)
            if chance < arrival:
                arriving += _1
    return sent, arriving, state


@inlined
def _spread(plan: _Plan, scratch: _Scratch, state: State, counts: NDArray[np.int64]) -> None:
    """Publish one event in the first community, and fill in `counts`, a row for each community."""
    touched, sending, fresh, slots, targets, arrived, upward = scratch
    first_word, stillborn = plan.first_word, plan.stillborn
    received, acted = counts[:, _RECEIVED], np.zeros(len(plan.sizes), np.int64)
    touched[0] = sending[0] = _1  # all processes are alike: the publisher is the first
    counts[0, _TOUCHED] = counts[0, _RECEIVED] = 1
    arrived[:1] = 1
    round_number = 0
    while (received > acted).any():
        round_number += 1
        senders = received - acted
        acted[:] = received
        for at in range(len(plan.sizes)):
            if not senders[at]:
                continue
            fan_out, others = plan.fan_out[at], plan.sizes[at] - _1
            counts[at, _ROUNDS] = round_number
            counts[at, _MESSAGES] += senders[at] * np.int64(fan_out)
            mine, mine_fresh = touched[first_word[at] :], fresh[first_word[at] :]
            mine_arrived = arrived[first_word[at] << _6 :]
            waiting = _0
            for word in range(first_word[at], first_word[at + 1]):
                bits = sending[word]
                sending[word] = _0
                while bits:
                    bit = bits & (~bits + _1)
                    bits ^= bit
                    number = _BIT_NUMBER[(bit * _DE_BRUIJN) >> _58]
                    sender = ((word - first_word[at]) << _6) + number
                    chance, state = uniform(state)
                    arriving = fan_out
                    while arriving > _0 and chance < plan.arrivals[at, arriving - _1]:
                        arriving -= _1
                    state = _choose(state, slots, targets, waiting, arriving, others, sender)
                    waiting += arriving
                    if waiting >= _FULL:
                        state = _deliver(
                            *(state, mine, mine_fresh, mine_arrived),
                            *(targets[:waiting], stillborn, counts[at]),
                        )
                        waiting = _0
                    copies = 0
                    for table in range(plan.first_table[at], plan.first_table[at + 1]):
                        chance, state = uniform(state)
                        if chance >= plan.p_sel[at]:
                            continue
                        sent, arriving, state = _copies(
                            state, plan.links[table], plan.p_a[table], plan.arrival[table]
                        )
                        copies += sent
                        above, end = plan.above[table], waiting + arriving
                        size = plan.sizes[above]
                        state = _choose(state, slots, targets, waiting, arriving, size, _NOBODY)
                        state = _deliver(
                            state,
                            touched[first_word[above] :],
                            fresh[first_word[above] :],
                            arrived[first_word[above] << _6 :],
                            targets[waiting:end],
                            stillborn,
                            counts[above],
                        )
                    counts[at, _UPWARD] += copies
                    upward[at, copies] += 1
            state = _deliver(
                *(state, mine, mine_fresh, mine_arrived),
                *(targets[:waiting], stillborn, counts[at]),
            )
            if round_number == 1:  # the publisher's
                counts[at, _PUBLISHER] = counts[at, _UPWARD]
        sending, fresh = fresh, sending
