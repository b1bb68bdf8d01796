"""Named random streams of one seed, so that two protocols meet the same weather."""

from __future__ import annotations

import hashlib
from random import Random
from typing import Literal

StreamName = Literal["network", "churn", "workload", "protocol"]


def stream(seed: int, name: StreamName, *parts: int | str) -> Random:
    """Return the random stream `name` of `seed`; `parts` (a process, a run) split it further.

    The same arguments give the same stream in every process and under every hash seed.
    """
    label = ":".join(map(str, (seed, name, *parts)))
    return Random(int.from_bytes(hashlib.sha256(label.encode()).digest()[:16]))


def jittered(seconds: float, rng: Random) -> float:
    """Return a period made up to a tenth shorter or longer, at random.

    Processes that started together drift apart by it.
    """
    return seconds * (0.9 + 0.2 * rng.random())
