"""How often a remote host may act, however it spreads that over time and over its addresses."""

from __future__ import annotations

from random import Random

import pytest

from camcast.vocabulary import host_rates
from camcast.vocabulary.host_rates import AT_ONCE_SECONDS, HostRates, network_of

RATE = 20
BURST = int(RATE * AT_ONCE_SECONDS)
FAR, NEAR = "192.0.2.1", "192.0.2.2"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_the_loopback_is_allowed_everything(host: str) -> None:
    rates = HostRates(RATE)
    assert all(rates.allow(host, 0.0) for _ in range(10 * BURST))


def test_a_host_acts_at_once_and_then_at_its_rate_and_takes_nothing_of_another() -> None:
    rates = HostRates(RATE)
    assert sum(rates.allow(FAR, 0.0) for _ in range(3 * BURST)) == BURST
    assert sum(rates.allow(FAR, 1.0) for _ in range(3 * BURST)) == RATE
    assert sum(rates.allow(NEAR, 1.0) for _ in range(3 * BURST)) == BURST
    assert sum(rates.allow(FAR, 1e6) for _ in range(3 * BURST)) == BURST


def test_no_rhythm_brings_a_host_more_than_burst_and_rate() -> None:
    """Exact for any times (seed 1): in every interval at most the burst and the rate's worth."""
    rates, rng, now = HostRates(RATE), Random(1), 0.0
    allowed = []
    for _ in range(5_000):
        now += rng.expovariate(rng.choice([1, RATE, 50 * RATE]))
        if rates.allow(FAR, now):
            allowed.append(now)
    assert len(allowed) > 2 * BURST
    for first in range(0, len(allowed), 50):
        for last in range(first, len(allowed), 50):
            most = BURST + RATE * (allowed[last] - allowed[first])
            assert last - first + 1 <= most + 1e-6


def test_an_ipv6_host_has_one_bucket_whatever_addresses_it_takes() -> None:
    rates = HostRates(RATE)
    ours = [f"2001:db8::{number:x}" for number in range(1, 3 * BURST)]
    assert sum(rates.allow(host, 0.0) for host in ours) == BURST
    assert rates.allow("2001:db8:0:1::1", 0.0)
    assert network_of("::ffff:192.0.2.1") == network_of(FAR) == FAR
    assert network_of("fe80::1%lo") == network_of("fe80::2%lo")


def test_hosts_without_end_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_rates, "HOSTS_MAX", 4)
    rates = HostRates(RATE)
    for number in range(100):
        while rates.allow(FAR, 0.0):  # it goes on, so that it is never silent for longest
            pass
        assert not rates.allow(FAR, 0.0)
        assert rates.allow(f"198.51.100.{number}", 0.0)
        assert len(rates._buckets) <= 4
    assert not rates.allow(FAR, 0.0)
