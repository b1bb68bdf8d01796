"""The binomial law, for any number of trials."""

from __future__ import annotations

from functools import lru_cache
from math import log, log1p

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=256)  # chosen: chains ask for a few laws thousands of times
def binomial(trials: int, p: float, most: int | None = None) -> NDArray[np.float64]:
    """Return P(j of `trials` succeed), j = 0..trials; or 0..`most`, the last being most or more.

    By the ratios of neighbours, which is accurate for huge numbers of trials too, where the
    logarithms of factorials are not. Do not write into what is returned.
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
