"""The binomial law, for any number of trials."""

from __future__ import annotations

from functools import lru_cache
from math import log, log1p

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=256)  # chosen: chains ask for a few laws thousands of times
def binomial(trials: int, p: float, most: int | None = None) -> NDArray[np.float64]:
    """Return P(j of `trials` succeed) for j = 0..trials.

    With `most`, j ends there, and the last entry is P(`most` or more succeed). Each probability is
    computed from the one before by their ratio, which stays accurate for huge numbers of trials,
    where logarithms of factorials do not. The array is shared and read-only.
    """
    most = trials if most is None else most
    law = np.zeros(most + 1)
    if trials <= 0 or p <= 0:
        law[0] = 1.0
    elif p >= 1:
        law[min(trials, most)] = 1.0
    else:
        j = np.arange(min(trials, most))
        logs = np.log(trials - j) - np.log(j + 1) + (log(p) - log1p(-p))
        logs = np.concatenate([[0.0], np.cumsum(logs)]) + trials * log1p(-p)
        law[: len(logs)] = np.exp(logs)
        if most < trials:
            law[-1] += max(0.0, 1 - law.sum())
    law.setflags(write=False)
    return law
