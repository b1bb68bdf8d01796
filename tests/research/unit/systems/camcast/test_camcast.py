"""All closed forms: what they broadcast over, and what is out of their range."""

from __future__ import annotations

from math import e, log

import numpy as np
import pytest
from numpy.testing import assert_allclose

from camcast.research.systems.camcast import latency, memory, reliability
from camcast.research.systems.camcast import message_equations as messages


def test_functions_broadcast_over_numpy_arrays() -> None:
    sizes, cs = np.array([[10.0], [1000.0]]), np.array([0.0, 2.0, 5.0])
    for function in (messages.gossip_messages, memory.gossip_table):
        table = function(sizes, cs)
        assert table.shape == (2, 3)
        assert table[1, 2] == function(1000, 5)
    assert reliability.climb_probability(sizes, 0.005, 1 / 3, 3, np.array([0.5, 1])).shape == (2, 2)
    assert latency.rounds(sizes).shape == (2, 1)
    # communities along the last axis: here three settings of two communities
    three = np.array([[100.0, 10.0], [100.0, 100.0], [10.0, 1.0]])
    assert messages.multicast_messages(three, 5).shape == (3,)
    assert memory.multicast_memory(three, 5).shape == (3, 2)
    assert latency.latency_max(three).shape == (3,)
    assert reliability.joint_reliability(5, np.full((3, 2), 0.9)).shape == (3, 2)
    assert messages.camcast_messages(three, 5, [0.1, 1], 1 / 3, 3).shape == (3,)


def test_functions_refuse_what_is_out_of_range() -> None:
    with pytest.raises(ValueError, match="size"):
        messages.gossip_messages([10, 0.5], 5)
    with pytest.raises(ValueError, match="p_sel"):
        messages.upward_messages(10, 1.5, 1, 3)
    with pytest.raises(ValueError, match="p_succ"):
        reliability.climb_probability(10, 1, 1, 3, -0.1)
    with pytest.raises(ValueError, match="pit"):
        reliability.c_range(1, 3, 1.2)
    with pytest.raises(ValueError, match="clusters"):
        reliability.hierarchical_reliability(0, 1, 1)
    with pytest.raises(ValueError, match="z must be"):
        memory.camcast_memory(10, 5, -1)
    with pytest.raises(ValueError, match="size"):
        latency.rounds(float("nan"))


def test_rounds_below_e_to_the_e_are_held_at_the_least_value() -> None:
    assert_allclose(latency.rounds([1, 2, 3, 10, 15, e**e]), [0, e, e, e, e, e])
    sizes = np.geomspace(2, 1e12, 200)
    assert (np.diff(latency.rounds(sizes)) >= -1e-12).all()
    assert_allclose(latency.rounds(1000, 2), log(1000) / log(log(1000)) + 2)
