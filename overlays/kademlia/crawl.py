"""Crawls towards points of the DHT, and estimates of a community from the nodes that they find.

Theory of operation
-------------------
A *crawl* asks nodes near a point for nodes nearer to the point, `PARALLEL` at a time. A call that
must be sent again is *slow*: it goes on, but no longer counts among these, so that a dead node or
a lost datagram causes no delay (upstream's crawlers wait for the slowest call of each round). A
node *counts* when it has answered, or when two nodes that answered have named it; a node that a
single liar names is asked, but not believed. A crawl is over when the nearest `QUORUM` have
answered and each of the k nearest counts or is slow.

*Size.* A community is a subtree of 2^96 identifiers. XOR distances from a point to uniform
identifiers are uniform, so the k nearest lie within d_k of the point, k - 1 of them before the
last: N_t is about (k-1) 2^96 / d_k, averaged over the points. Each point is in a part
of its own of the subtree. If no part is wider than its point's d_k, all members are known: the
count is exact, and any of them can be drawn. With 8 points that is so up to N_t of about 100.

*Uniform choice.* The node nearest to a random point is not a uniform choice: a member with empty
space around it is nearest to more points. The point chooses a *cell*, an aligned piece of the
subtree with 6 to 12 members on average, all of which the crawl knows, and cells are equally likely.
Two rules give each member of a cell the same chance, however many members the cell has:

- The width of a cell follows from what the *other* points say of N_t. If a point's own d_k had a
  say, dense cells would be halved more often than sparse ones.
- The draws from a cell are, on average, in proportion to its members. If all members of the cells
  are shuffled together, they are not: the members of a full cell compete with more. With x for the
  density of a cell, in units of the subtree's mean, and s for its share of the subtree, the draws
  from a cell are in proportion to 1 + (1 - s) (x - mean x of the other cells). The sum over the
  cells is constant. Averaged over what the other cells may be, which have the rest of the members
  among them, it is x.

Measured with the exact k nearest, with 4 or 8 points, chances then differ by 2 to 5 % (standard
deviation), and by 7 % where 4 points know nearly all members (N_t = 100). With all members of the
cells shuffled together, 4 points give 8 to 11 %.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Container, Iterable, Sequence
from math import ceil, fsum, log2
from random import Random
from statistics import fmean
from typing import Any, Final

from attrs import define, frozen

from camcast.doors.datagrams import Endpoint
from camcast.vocabulary.topics import GROUP_ID_BYTES, GroupId
from overlays.kademlia.naming import Named
from overlays.kademlia.protocol import Call, Protocol
from overlays.kademlia.table import NEIGHBOURS, NODE_ID_BYTES, Neighbour, usable

PARALLEL: Final = 3  # [kademlia 2.2.3] alpha: calls under way that are not slow
# chosen: how many of the nearest must have answered. With 8, a find takes 30 % more calls and 0.2
# to 0.3 s more for the same sizes (100 nodes).
QUORUM: Final = 4
VOUCHERS: Final = 2  # chosen: one liar is not enough; honest neighbourhoods overlap in dozens
ASKED_MAX: Final = 64  # chosen: three times the k nearest; bounds the calls that a liar can cause
POINTS_MAX: Final = 8  # chosen: a power of two, so that points spread evenly; 8 cells of 10 members
POINTS_SHARE: Final = 2  # chosen: members wanted of each point, a fifth of a cell
# chosen: on average; 1 % of the cells then have more than the k = 20 that a crawl finds (Poisson)
CELL_MEMBERS_MAX: Final = 12
WEIGHT_MIN: Final = 0.1  # chosen: above 0, also for a cell of nearly no members
SUBTREE: Final = 1 << 8 * (NODE_ID_BYTES - GROUP_ID_BYTES)  # identifiers of a community


@define(eq=False)
class _Candidate:
    node: Neighbour
    distance: int
    vouchers: list[Endpoint]
    call: Call | None = None
    slow: bool = False
    answered: bool = False

    @property
    def counts(self) -> bool:
        return self.answered or len(self.vouchers) >= VOUCHERS


class Crawl:
    """A look-up towards a point; calls `done(now)` when it is over or cancelled."""

    def __init__(
        self,
        protocol: Protocol,
        target: bytes,
        starts: Iterable[Neighbour],
        own: Container[bytes],
        done: Callable[[float], None],
        on_answer: Callable[[Crawl, float], None] | None = None,
    ) -> None:
        """`own` holds the identifiers of this process; `on_answer` is called after each answer."""
        self.over = False
        self.asked = 0
        self.answers = 0
        self.failures = 0
        self._protocol = protocol
        self._target = target
        self._target_number = int.from_bytes(target)
        self._own = own
        self._done = done
        self._on_answer = on_answer
        self._pool: dict[bytes, _Candidate] = {}
        self._distances: list[int] = []
        """The distances of the candidates in the pool, sorted."""
        self._at: dict[int, _Candidate] = {}
        """The candidates in the pool, by distance."""
        self._failed: dict[bytes, None] = {}
        for node in starts:
            self._add((node.id, node.ip, node.port, node.key), None)

    def start(self, now: float) -> None:
        """Ask the first nodes; a crawl that has none is over at once."""
        self._advance(now)

    def nearest(self) -> list[Neighbour]:
        """Return the k nearest nodes that count."""
        return [c.node for c in self._sorted() if c.counts][:NEIGHBOURS]

    def seen(self) -> Iterable[Neighbour]:
        """Return every node that counts, in no special order."""
        return [c.node for c in self._pool.values() if c.counts]

    def cancel(self, now: float) -> None:
        """End the crawl."""
        if self.over:
            return
        self.over = True
        for candidate in self._pool.values():
            if candidate.call is not None:
                candidate.call.cancel()
                candidate.call = None
        self._done(now)

    def _sorted(self) -> list[_Candidate]:
        # A liar may name many nodes that do not count, which must not crowd out those that do.
        return [self._at[distance] for distance in self._distances[: 3 * NEIGHBOURS]]

    def _add(self, named: Named, voucher: Endpoint | None) -> None:
        node_id, ip, port = named[:3]
        address = ip, port
        if node_id in self._own or node_id in self._failed:
            return
        candidate = self._pool.get(node_id)
        if candidate is None:
            node = Neighbour(*named)
            distance = node.long_id ^ self._target_number
            candidate = self._pool[node_id] = self._at[distance] = _Candidate(node, distance, [])
            insort(self._distances, distance)
        if voucher is not None and voucher not in candidate.vouchers:
            if candidate.node.address == address:
                candidate.vouchers.append(voucher)
            elif not candidate.vouchers and candidate.call is None:
                candidate.node = Neighbour(*named)
                candidate.vouchers.append(voucher)

    def _advance(self, now: float) -> None:
        """Ask the nearest unasked nodes, or end the crawl if none need be asked."""
        if self.over:
            return
        for candidate in [c for c in self._sorted() if c.call is None and not c.answered]:
            if self._protocol.is_dead(candidate.node, now):
                self._drop(candidate)
        if self.asked >= ASKED_MAX:
            waits = any(c.call is not None and not c.slow for c in self._pool.values())
            if not waits:
                self.cancel(now)
            return
        under_way = sum(c.call is not None and not c.slow for c in self._pool.values())
        settled = waiting = answered = 0
        over = True
        for candidate in self._sorted():
            if settled >= NEIGHBOURS:
                break
            settled += candidate.counts
            if candidate.answered:
                answered += 1
            elif candidate.slow:
                waiting += 1
            elif candidate.call is not None:
                over = over and candidate.counts and answered >= QUORUM
            elif answered < QUORUM or not candidate.counts:
                over = False
                if under_way < PARALLEL and self.asked < ASKED_MAX:
                    under_way += 1
                    self._ask(candidate, now)
        # The crawl waits for slow calls only if fewer nodes have answered than are slow, or none.
        if over and (not waiting or answered >= min(QUORUM, max(1, waiting))):
            self.cancel(now)

    def _ask(self, candidate: _Candidate, now: float) -> None:
        def slow(now: float) -> None:
            candidate.slow = True
            self._advance(now)

        self.asked += 1
        candidate.call = self._protocol.request(
            candidate.node,
            "find_node",
            self._target,
            done=lambda answer, now: self._on_done(candidate, answer, now),
            slow=slow,
            now=now,
        )

    def _on_done(self, candidate: _Candidate, answer: Any, now: float) -> None:
        candidate.call = None
        candidate.slow = False
        self.failures += answer is None
        if answer is None or answer[0] != candidate.node.id:
            self._drop(candidate)
        if answer is not None:
            source = candidate.node.address
            self._add((answer[0], *source, candidate.node.key), None)
            if (present := self._pool.get(answer[0])) is not None:
                if not present.answered:
                    self.answers += 1
                present.answered = True
            for named in answer[1]:
                if usable(named[1:3], source[0]):
                    if self._protocol.reaches(named[1:3]):
                        self._add(named, source)
                else:
                    self._protocol.counters.refused += 1
            if self._on_answer is not None:
                self._on_answer(self, now)
        self._advance(now)

    def _drop(self, candidate: _Candidate) -> None:
        del self._pool[candidate.node.id], self._at[candidate.distance]
        self._distances.remove(candidate.distance)
        self._failed[candidate.node.id] = None


def points_for(wanted: int) -> int:
    """Return how many points to crawl to for so many members: a power of two.

    A table of ln N + c members needs all points; a few contacts need half of them or fewer.
    """
    return min(POINTS_MAX, 1 << max(0, ceil(wanted / POINTS_SHARE) - 1).bit_length())


def points(group: GroupId, number: int, rng: Random) -> list[bytes]:
    """Return random points of a subtree, one in each of `number` equal parts, a power of two."""
    stratum = SUBTREE // number
    strata = rng.sample(range(number), number)
    return [
        group + (part * stratum + rng.randrange(stratum)).to_bytes(NODE_ID_BYTES - GROUP_ID_BYTES)
        for part in strata
    ]


def is_member(node_id: bytes, group: GroupId) -> bool:
    """Return whether an identifier is in a community's subtree."""
    return node_id[:GROUP_ID_BYTES] == group


@frozen
class Survey:
    """The members and the size of a community, as several crawls found them."""

    members: list[Neighbour]
    """In random order and near-uniform from the front; members outside the cells come last."""
    size: float
    """N_t."""


def survey(
    group: GroupId,
    found: Sequence[tuple[bytes, Sequence[Neighbour]]],
    me: bytes | None,
    rng: Random,
) -> Survey:
    """Estimate a community from points and their nearest; `me` is this process's own member."""
    own: dict[int, Neighbour | None] = {} if me is None else {_place(me): None}
    nodes = dict(own)
    estimates: dict[int, float] = {}  # of N_t, by point
    for target, nearest in found:
        point = _place(target)
        places = {_place(n.id): n for n in nearest if is_member(n.id, group) and n.id != me}
        nodes.update(places)
        distances = sorted(place ^ point for place in own | places)
        if len(distances) >= NEIGHBOURS:
            estimates[point] = (NEIGHBOURS - 1) * SUBTREE / distances[NEIGHBOURS - 1]
    parts = len(found)  # of the subtree, each with one of the points
    if max(estimates.values(), default=0.0) <= (NEIGHBOURS - 1) * parts:
        # No part is wider than the distance to the k-th: all members are known.
        return Survey(_shuffled(nodes.values(), rng), float(len(nodes)))
    size = fmean(estimates.values())
    cells: list[tuple[float, list[int]]] = []  # each with its share of the subtree
    for point, own_estimate in estimates.items():
        others = [estimate for at, estimate in estimates.items() if at != point]
        depth = max(0, ceil(log2(fmean(others or [own_estimate]) / CELL_MEMBERS_MAX)))
        width = min(SUBTREE >> depth, SUBTREE // parts)
        cell = [place for place in nodes if place // width == point // width]
        cells.append((width / SUBTREE, cell))
    densities = [len(cell) / share / size for share, cell in cells]
    turns: dict[int, float] = {}
    for density, (share, cell) in zip(densities, cells, strict=True):
        elsewhere = (fsum(densities) - density) / max(1, len(cells) - 1)
        weight = max(WEIGHT_MIN, 1 + (1 - share) * (density - elsewhere))
        turns.update((place, rng.expovariate(weight / len(cell))) for place in cell)
    rest = [node for place, node in nodes.items() if place not in turns]
    drawn = (nodes[place] for place in sorted(turns, key=turns.__getitem__))
    members = [node for node in drawn if node is not None]
    return Survey([*members, *_shuffled(rest, rng)], size)


def _place(node_id: bytes) -> int:
    """Return the position of an identifier in its subtree."""
    return int.from_bytes(node_id[GROUP_ID_BYTES:])


def _shuffled(nodes: Iterable[Neighbour | None], rng: Random) -> list[Neighbour]:
    chosen = [node for node in nodes if node is not None]
    rng.shuffle(chosen)
    return chosen
