"""Overlays as graphs: random ones with given degrees, and measured ones (paper 003, 2.1 and 5.2).

Theory of operation
-------------------
*Degrees.* Poisson: every node draws its own. The power law of Aiello, Chung and Lu (2000) has a
fixed size: floor(e^a / x^b) nodes of degree x, for x from 1 to floor(e^(a/b)).

*Links.* "A random mapping is made so that links are created until each node has reached its own
target degree" (5.2): every node has as many stubs as its degree, and the stubs are joined in
pairs at random (the configuration model). If their number is odd, a random one is left.

*Links to oneself and repeated links.* The paper does not say what becomes of them. Neighbours
are a set in its algorithms, so a graph here has neither. Without these links the hubs of a power
law would have far fewer than their target degrees (a=6, b=1: a tenth of all links are repeated), so
that such links are *switched*: a link u-v of them and a random other link x-y become u-x and v-y,
if these are new. That keeps every degree. A link for which no switch is found is left out, which
happens when no simple graph has the degrees. docs/measured/models.md has the effect of the choice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import exp, floor, isfinite, log
from typing import Final

import numpy as np
from attrs import field, frozen
from numpy.random import PCG64, Generator
from numpy.typing import NDArray
from typing_extensions import override

from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.streams import stream

NODES_MAX: Final = 20_000_000  # chosen: 1 GB with ten links each
LINKS_MAX: Final = 100_000_000  # chosen: 1 GB
_SWITCHES_MAX: Final = 1_000  # chosen: tries a link; in the paper's overlays it needs about two

Links = NDArray[np.int64]
"""A row for each link: its two ends."""


class OverlayError(CamcastError, ValueError):
    """An overlay with the given parameters cannot be made; the message says what is wrong."""


@frozen(eq=False)
class Graph:
    """An undirected simple graph: the neighbours of all nodes, one node's after another's."""

    first: NDArray[np.int64]
    """Where a node's neighbours begin; one entry more than nodes."""
    neighbours: NDArray[np.int32]
    """In ascending order for each node."""

    @property
    def nodes(self) -> int:
        """How many nodes there are, those without a link included."""
        return len(self.first) - 1

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(self.neighbours) // 2

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours each node has."""
        return np.diff(self.first)


def graph_of(nodes: int, links: Links) -> Graph:
    """Return the graph with these links, each once whatever its direction, without loops."""
    lower, upper = links.min(axis=1), links.max(axis=1)
    keys = np.unique(lower[lower < upper] * nodes + upper[lower < upper])
    lower, upper = np.divmod(keys, nodes)
    both = np.sort(np.concatenate((keys, upper * nodes + lower)))
    owners, neighbours = np.divmod(both, nodes)
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=nodes), out=first[1:])
    return Graph(first, neighbours.astype(np.int32))


# -- the configuration model ----------------------------------------------------------------------


def joined_stubs(degrees: NDArray[np.int64], rng: Generator) -> Links:
    """Join stubs in pairs at random; the links may be repeated, or join a node to itself."""
    stubs = rng.permutation(np.repeat(np.arange(len(degrees)), degrees))
    return stubs[: len(stubs) // 2 * 2].reshape(-1, 2)


def switched(nodes: int, links: Links, rng: Generator) -> Links:
    """Switch loops and repeated links with random other links, and leave out what cannot be."""
    lower, upper = links.min(axis=1), links.max(axis=1)
    _, firsts = np.unique(lower * nodes + upper, return_index=True)
    good = np.zeros(len(links), bool)
    good[firsts] = True
    good &= lower < upper
    wrong = links[~good].tolist()
    kept = links[good].tolist()
    taken = dict.fromkeys(_key(nodes, u, v) for u, v in kept)
    draws = _draws(rng)
    for u, v in wrong:
        for _ in range(_SWITCHES_MAX if kept else 0):
            at, turned = divmod(int(next(draws) * 2 * len(kept)), 2)
            x, y = kept[at][::-1] if turned else kept[at]
            one, other = _key(nodes, u, x), _key(nodes, v, y)
            if u != x and v != y and one != other and one not in taken and other not in taken:
                del taken[_key(nodes, x, y)]
                taken[one] = taken[other] = None
                kept[at] = [u, x]
                kept.append([v, y])
                break
    return np.array(kept, np.int64).reshape(-1, 2)


def _draws(rng: Generator) -> Iterator[float]:
    """Yield numbers from [0, 1); one by one from numpy they would cost most of the time."""
    while True:
        yield from rng.random(4096).tolist()


def _key(nodes: int, one: int, other: int) -> int:
    return one * nodes + other if one < other else other * nodes + one


def random_graph(degrees: NDArray[np.int64], rng: Generator) -> Graph:
    """Return a random simple graph in which node i has `degrees[i]` neighbours.

    One node has one neighbour less if the degrees add up to an odd number; more nodes have fewer
    where no simple graph has such degrees.
    """
    nodes = len(degrees)
    return graph_of(nodes, switched(nodes, joined_stubs(degrees, rng), rng))


# -- overlays -------------------------------------------------------------------------------------


class Overlay(ABC):
    """A kind of overlay: a distribution of random networks, or one measured network."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """How many nodes each of its networks has."""

    @abstractmethod
    def graph(self, seed: int, number: int) -> Graph:
        """Return the network of this number; the same seed and number give the same network."""


def _generator(seed: int, number: int) -> Generator:
    return Generator(PCG64(stream(seed, "network", "overlay", number).getrandbits(128)))


@frozen
class Poisson(Overlay):
    """Degrees are drawn from a Poisson distribution of this mean, one for each node (5.2.1).

    Raises `OverlayError`.
    """

    mean: float
    nodes: int = field()

    def __attrs_post_init__(self) -> None:
        if not 2 <= self.nodes <= NODES_MAX:
            raise OverlayError(f"an overlay of {self.nodes} nodes; give 2 to {NODES_MAX:,}")
        if not 0 < self.mean < self.nodes:
            raise OverlayError(
                f"a mean degree of {self.mean:g}; give more than 0 and less than the"
                f" {self.nodes:,} nodes"
            )
        if self.mean * self.nodes > 2 * LINKS_MAX:
            raise OverlayError(
                f"{self.nodes:,} nodes with {self.mean:g} links each; the links must not be more"
                f" than {LINKS_MAX:,}"
            )

    @override
    def graph(self, seed: int, number: int) -> Graph:
        """Return its network of this number."""
        rng = _generator(seed, number)
        degrees = rng.poisson(self.mean, self.nodes)
        return random_graph(np.minimum(degrees, self.nodes - 1), rng)


@frozen
class PowerLaw(Overlay):
    """floor(e^a / x^b) nodes have degree x, so that its size is fixed (5.2.2).

    With a=6 and b=1 there are 2,482. Raises `OverlayError`.
    """

    a: float
    b: float
    _counts: NDArray[np.int64] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not (isfinite(self.a) and isfinite(self.b) and self.a > 0 and self.b > 0):
            raise OverlayError(f"a={self.a:g}, b={self.b:g}; give numbers above 0")
        if max(self.a, self.a / self.b) > log(NODES_MAX):
            raise OverlayError(
                f"a={self.a:g}, b={self.b:g} makes more than {NODES_MAX:,} nodes, or degrees; give"
                " a smaller a, or a larger b"
            )
        # The largest degree is floor(e^(a/b)), "since it must be that 0 <= log y" (5.2.2).
        x = np.arange(1, floor(exp(self.a / self.b)) + 1, dtype=np.float64)
        counts = np.floor(exp(self.a) / x**self.b).astype(np.int64)
        object.__setattr__(self, "_counts", counts)
        links = int(counts @ np.arange(1, len(counts) + 1)) // 2
        if self.nodes < 2 or self.nodes > NODES_MAX or links > LINKS_MAX:
            raise OverlayError(
                f"a={self.a:g}, b={self.b:g} makes {self.nodes:,} nodes and {links:,} links; give"
                f" an a and b for 2 to {NODES_MAX:,} nodes and up to {LINKS_MAX:,} links"
            )

    @property
    @override
    def nodes(self) -> int:
        """The sum of floor(e^a / x^b) over the degrees x."""
        return int(self._counts.sum())

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of each node, in ascending order."""
        return np.repeat(np.arange(1, len(self._counts) + 1), self._counts)

    @override
    def graph(self, seed: int, number: int) -> Graph:
        """Return its network of this number."""
        return random_graph(self.degrees, _generator(seed, number))


class GivenLinks(Overlay):
    """One measured network; its links are between nodes numbered from 0 without gaps.

    A directed link counts in both directions, a repeated one once, and a node's link to itself
    not. Raises `OverlayError` if no link is left.
    """

    def __init__(self, links: Sequence[tuple[int, int]]) -> None:
        listed = np.array(links, np.int64).reshape(-1, 2)
        self._graph = graph_of(int(listed.max(initial=-1)) + 1, listed)
        if not self._graph.links:
            raise OverlayError("the overlay has no link between two different nodes")

    @property
    @override
    def nodes(self) -> int:
        """How many nodes the links name."""
        return self._graph.nodes

    @override
    def graph(self, seed: int, number: int) -> Graph:
        """Return the network, whatever its number."""
        return self._graph
