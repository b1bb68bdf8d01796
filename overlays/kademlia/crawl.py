"""Look-ups: the crawl towards a point, and what is concluded from several of them.

Theory of operation
-------------------
A *crawl* asks nodes near a point for nodes nearer to it, some at a time. A call that has to be
sent again is *slow*: it goes on, but no longer holds a place, so that the dead and the unlucky
delay nobody (upstream's crawlers wait for the slowest of each round). A node counts when it has
answered by itself, or when two nodes that answered have named it; one liar is therefore asked
about, not believed. When the nearest `QUORUM` have answered and all of the k nearest count or are
slow, the crawl is over.

*Members.* A community is a subtree of 2^96 identifiers. XOR distances from a point to uniform
identifiers are uniform, so the k nearest lie within d_k of it with k - 1 in front of the last:
N_t is about (k-1) 2^96 / d_k, averaged over the points [PROTOCOLS 3]. With fewer than k found
the whole subtree is known, and the count is exact.

*A near-uniform choice.* The nearest to a random point is not uniform: a member with empty space
around it is nearest to more points. So the subtree is cut into 2^D equal cells of 6 to 12 members
on average, of which a crawl knows the one that holds its point completely. The points are spread
over different cells, each cell being as likely as any other, and the members of these cells are
shuffled together. If the points cover all cells, as they do up to N_t = 96, the choice is uniform
and the size exact. Beyond, a member of a full cell competes with more than one of an empty cell:
chances differ by 2 to 5 % (standard deviation; measured), by 9 % where the estimate wavers
between two D (N_t = 200).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Sequence
from heapq import nsmallest
from math import ceil, log2
from random import Random
from typing import Any, Final

from attrs import define, frozen

from camcast.vocabulary.topics import GROUP_ID_BYTES, GroupId
from overlays.kademlia.protocol import NODE_ID_BYTES, Call, Protocol
from overlays.kademlia.table import NEIGHBOURS, Address, Neighbour, usable

PARALLEL: Final = 3  # [kademlia 2.2.3] alpha: calls under way that are not slow
QUORUM: Final = 4
# chosen: of the nearest that must have answered, besides those that only one node has named. With
# 8, a find takes 30 % more calls and 0.2 to 0.3 s more; sizes are as good (measured, 100 nodes).
VOUCHERS: Final = 2  # chosen: one liar is not enough; honest neighbourhoods overlap in dozens
ASKED_MAX: Final = 64  # chosen: three times the k nearest; bounds what a liar can make us do
POINTS_MAX: Final = 8
# chosen: a power of two, so that points spread evenly; 8 cells of 10 members
POINTS_SHARE: Final = 2  # chosen: members wanted a point, a fifth of a cell; see `points_for`
CELL_MEMBERS_MAX: Final = 12
# chosen: on average; then 1 % of the cells have more than the k = 20 that a crawl finds (Poisson)
SUBTREE: Final = 1 << 8 * (NODE_ID_BYTES - GROUP_ID_BYTES)  # identifiers of a community


@define(eq=False)
class _Candidate:
    node: Neighbour
    distance: int
    vouchers: list[Address]
    call: Call | None = None
    slow: bool = False
    answered: bool = False

    @property
    def counts(self) -> bool:
        return self.answered or len(self.vouchers) >= VOUCHERS


class Crawl:
    """A look-up towards a point; `done` when it is over, also if it is cancelled."""

    def __init__(
        self,
        protocol: Protocol,
        target: bytes,
        starts: Iterable[Neighbour],
        own: Container[bytes],
        on_answer: Callable[[Crawl], None] = lambda _: None,
    ) -> None:
        """`own` are the identifiers of this process; `on_answer` is called after every answer."""
        self.done: asyncio.Future[None] = protocol.loop.create_future()
        self.asked = 0
        self.answers = 0
        self.failures = 0
        self._protocol = protocol
        self._target = target
        self._target_number = int.from_bytes(target)
        self._own = own
        self._on_answer = on_answer
        self._pool: dict[bytes, _Candidate] = {}
        self._failed: dict[bytes, None] = {}
        for node in starts:
            self._add(node, None)
        self._advance()

    def nearest(self) -> list[Neighbour]:
        """Return the k nearest that count."""
        return [c.node for c in self._sorted() if c.counts][:NEIGHBOURS]

    def seen(self) -> Iterable[Neighbour]:
        """Return everybody who counts, in no special order."""
        return [c.node for c in self._pool.values() if c.counts]

    def cancel(self) -> None:
        """End it now."""
        for candidate in self._pool.values():
            if candidate.call is not None:
                candidate.call.cancel()
                candidate.call = None
        if not self.done.done():
            self.done.set_result(None)

    def _sorted(self) -> list[_Candidate]:
        # A liar may name many that do not count; they must not crowd out those who do.
        return nsmallest(3 * NEIGHBOURS, self._pool.values(), key=lambda c: c.distance)

    def _add(self, node: Neighbour, voucher: Address | None) -> None:
        if node.id in self._own or node.id in self._failed:
            return
        candidate = self._pool.get(node.id)
        if candidate is None:
            distance = node.long_id ^ self._target_number
            candidate = self._pool[node.id] = _Candidate(node, distance, [])
        if voucher is not None and voucher not in candidate.vouchers:
            if candidate.node.address == node.address:
                candidate.vouchers.append(voucher)
            elif not candidate.vouchers and candidate.call is None:
                candidate.node = node
                candidate.vouchers.append(voucher)

    def _advance(self) -> None:
        """Ask whom it takes, and end if nobody is left to ask."""
        if self.done.done():
            return
        if self.asked >= ASKED_MAX:
            waits = any(c.call is not None and not c.slow for c in self._pool.values())
            if not waits:
                self.cancel()
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
                    self._ask(candidate)
        # A few answers are not waited beyond, but the only ones are.
        if over and (not waiting or answered >= min(QUORUM, max(1, waiting))):
            self.cancel()

    def _ask(self, candidate: _Candidate) -> None:
        def slow() -> None:
            candidate.slow = True
            self._advance()

        self.asked += 1
        candidate.call = self._protocol.request(
            candidate.node,
            "find_node",
            self._target,
            done=lambda answer: self._on_done(candidate, answer),
            slow=slow,
        )

    def _on_done(self, candidate: _Candidate, answer: Any) -> None:
        candidate.call = None
        candidate.slow = False
        self.failures += answer is None
        if answer is None or answer[0] != candidate.node.id:
            del self._pool[candidate.node.id]
            self._failed[candidate.node.id] = None
        if answer is not None:
            node = Neighbour(answer[0], candidate.node.ip, candidate.node.port)
            self._add(node, None)
            if (present := self._pool.get(node.id)) is not None:
                if not present.answered:
                    self.answers += 1
                present.answered = True
            for node_id, ip, port in answer[1]:
                if usable((ip, port), candidate.node.ip):
                    self._add(Neighbour(node_id, ip, port), candidate.node.address)
                else:
                    self._protocol.counters.refused += 1
            self._on_answer(self)
        self._advance()


def points_for(wanted: int) -> int:
    """Return how many points to look for, for so many members: a power of two.

    A table wants ln N + c members, and all points; a few contacts cost half of that or less.
    """
    return min(POINTS_MAX, 1 << max(0, ceil(wanted / POINTS_SHARE) - 1).bit_length())


def points(group: GroupId, number: int, rng: Random) -> list[bytes]:
    """Return random points of a subtree, evenly spread; `number` is a power of two."""
    stratum = SUBTREE // number
    strata = rng.sample(range(number), number)
    return [
        group + (part * stratum + rng.randrange(stratum)).to_bytes(NODE_ID_BYTES - GROUP_ID_BYTES)
        for part in strata
    ]


def is_member(node_id: bytes, group: GroupId) -> bool:
    """Say whether an identifier is in a community's subtree."""
    return node_id[:GROUP_ID_BYTES] == group


@frozen
class Survey:
    """What the look-ups say of a community."""

    members: list[Neighbour]
    """In random order, near-uniform from the front; those only fit to fill up come last."""
    size: float
    """N_t."""


def survey(
    group: GroupId,
    found: Sequence[tuple[bytes, Sequence[Neighbour]]],
    me: bytes | None,
    rng: Random,
) -> Survey:
    """Conclude from points and the nearest that were found; `me` is one's own member."""
    nodes: dict[int, Neighbour | None] = {} if me is None else {_place(me): None}
    for _, nearest in found:
        nodes.update(
            (_place(node.id), node)
            for node in nearest
            if is_member(node.id, group) and node.id != me
        )
    if len(nodes) < NEIGHBOURS:
        return Survey(_shuffled(nodes.values(), rng), float(len(nodes)))
    estimates: list[float] = []
    balls: list[tuple[int, list[int]]] = []
    for target, nearest in found:
        point = _place(target)
        places = {_place(node.id): None for node in nearest if is_member(node.id, group)}
        if me is not None:
            places[_place(me)] = None
        ball = nsmallest(NEIGHBOURS, places, key=lambda place: place ^ point)
        balls.append((point, ball))
        if len(ball) == NEIGHBOURS:
            estimates.append((NEIGHBOURS - 1) * SUBTREE / (ball[-1] ^ point))
    size = sum(estimates) / len(estimates) if estimates else float(len(nodes))
    depth = max(0, ceil(log2(size / CELL_MEMBERS_MAX)))
    width = SUBTREE >> depth
    cells = dict.fromkeys(point // width for point, _ in balls)
    complete = all(len(b) < NEIGHBOURS or b[-1] ^ point >= width for point, b in balls)
    drawn = {place: node for place, node in nodes.items() if place // width in cells}
    if complete and len(cells) == 1 << depth:
        size = float(len(drawn))
    rest = [node for place, node in nodes.items() if place not in drawn]
    return Survey([*_shuffled(drawn.values(), rng), *_shuffled(rest, rng)], size)


def _place(node_id: bytes) -> int:
    """Return where in its subtree an identifier is."""
    return int.from_bytes(node_id[GROUP_ID_BYTES:])


def _shuffled(nodes: Iterable[Neighbour | None], rng: Random) -> list[Neighbour]:
    chosen = [node for node in nodes if node is not None]
    rng.shuffle(chosen)
    return chosen
