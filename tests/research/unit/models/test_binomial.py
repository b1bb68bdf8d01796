"""The binomial law against its coefficients, and for more trials than these have floats."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from camcast.research.models.binomial import binomial


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("trials", [0, 1, 40])
def test_it_has_the_binomial_coefficients(trials: int, p: float) -> None:
    law = [comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(trials + 1)]
    assert binomial(trials, p) == pytest.approx(law, rel=1e-12, abs=1e-15)
    most = trials // 2
    assert binomial(trials, p, most) == pytest.approx([*law[:most], sum(law[most:])])


def test_of_a_huge_number_of_trials_it_is_poisson_s() -> None:
    law = binomial(10**15, 3e-15, 60)
    assert law @ np.arange(61) == pytest.approx(3)
    assert law[1] / law[0] == pytest.approx(3)
