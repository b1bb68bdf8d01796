"""The parameters of SCAMP, and the law of its views."""

from __future__ import annotations

from math import log
from typing import Final

from attrs import field, frozen, validators

# chosen: a process that a larger share of the other processes hold has none of its arcs replaced.
# Any two such processes have many holders in common, so replacing arcs mixes little, and a copy
# walks long until it finds a process that lacks the arc. With c = 2 that is up to N = 18. Such
# copies were 52 of the 68 records a second of each of 10 processes that share 100 topics.
DENSE: Final = 1 / 2


@frozen(kw_only=True)
class ScampOptions:
    """The parameters of SCAMP. Raises `ValueError` for a value outside its range."""

    c: int = field(default=2, validator=[validators.ge(0), validators.le(50)])
    """Copies beyond the view: the mean view is (c+1) ln N. chosen: with 2, half of the
    processes may crash and all others are still reached with probability 0.98."""

    heartbeat_seconds: float = field(default=1.0, validator=validators.gt(0))
    """Period of heartbeats. chosen: about 1 kB/s and 0.1 % of a core a process."""

    suspect_after: int = field(default=3, validator=validators.ge(1))
    """Silent periods until a peer is suspect, and others are asked about it.
    chosen: at 30 % loss three heartbeats in a row are lost once in 37 times."""

    lease_seconds: float = field(default=60.0, validator=validators.gt(0))
    """How often arcs are renewed. chosen: a minute bounds how long a lost repair lasts."""

    probe_seconds: float = field(default=5.0, validator=validators.gt(0))
    """How often a cold peer is probed. chosen: after a partition heals, islands meet within this
    time and have what they missed two seconds later: within 10 s of the heal."""

    sponsors: bool = True
    """Whether one holder of each process always sends to it. chosen: with N = 50, a fan-out of
    6 and views of 8 and 12, misses fell from 5 in 10,000 deliveries to none in 800,000."""

    drawn_share: float = field(default=0.5, validator=[validators.ge(0), validators.le(1)])
    """The share of a view that a process draws itself (`membership.scamp.drawn_arcs`). chosen: as
    gossipsub, where it is half of the mesh at most; 6 liars of 42 then have 17 to 19 % of the
    views, and without it 62 to 65 % (docs/security.md)."""

    indirection: bool = True
    """Whether a subscription first walks to a random member, so that gateways do not become hubs.
    Not needed where the discovery returns uniformly random members. Heartbeats refresh the weights
    of the walk, so it prefers old processes when many join between two heartbeats (measured: views
    of twice the law with 600 joins in one period)."""

    join_seconds: float = field(default=0.4, validator=validators.gt(0))
    """How long a contact has to answer a subscription before others are asked. chosen: above
    the 95 % quantile of the PlanetLab round trips, and two retries fit into a second."""


def expected_view(options: ScampOptions, size: float) -> float:
    """Return (c+1) ln N, the law of the mean view, at most N-1."""
    return min(size - 1, (options.c + 1) * log(max(size, 1.0)))


def is_dense(options: ScampOptions, size: float) -> bool:
    """Say whether a process is held by so many of the others that its arcs are not replaced."""
    return round(expected_view(options, size)) > DENSE * (size - 1)
