"""UDP between simulated hosts: what arrives where, and who may listen."""

from __future__ import annotations

import errno

import pytest

from camcast.doors.datagrams import Endpoint
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.datagram_network import HOSTS_MAX, DatagramNetwork, HostPort, ip_of, number_of
from camcast.virtual.event_queue import EventQueue
from camcast.virtual.weather import Cut, Weather
from camcast.vocabulary.streams import stream

PORT = 8468


class Host:
    """A host that writes down what it hears, and when."""

    def __init__(self, network: DatagramNetwork, number: int) -> None:
        self.heard: list[tuple[float, int, Endpoint, bytes]] = []
        self.udp = HostPort(
            network, number, lambda *datagram: self.heard.append((network.queue.now, *datagram))
        )


def make(climate: Climate | None = None) -> DatagramNetwork:
    return DatagramNetwork(EventQueue(), Weather(climate or Climate(), stream(1, "network")))


def test_a_datagram_arrives_after_the_link_s_latency_with_its_source() -> None:
    network = make(Climate(latency=Constant(0.25)))
    one, other = Host(network, 1), Host(network, 2)
    source, target = one.udp.open(ip_of(1), 0), other.udp.open("0.0.0.0", PORT)
    assert target == ("0.0.0.0", PORT)
    one.udp.send(source[1], (ip_of(2), PORT), b"ping")
    other.udp.send(PORT, source, b"pong")  # from the host's address, whatever it listens at
    network.queue.run_until(1.0)
    assert other.heard == [(0.25, PORT, source, b"ping")]
    assert one.heard == [(0.25, source[1], (ip_of(2), PORT), b"pong")]
    assert (network.sent, network.sent_bytes, network.undeliverable) == (2, 8, 0)


def test_weather_loses_and_duplicates_datagrams() -> None:
    network = make(Climate(loss=0.3, duplication=0.2))
    one, other = Host(network, 1), Host(network, 2)
    port = one.udp.open(ip_of(1), 0)[1]
    other.udp.open(ip_of(2), PORT)
    for _ in range(1000):
        one.udp.send(port, (ip_of(2), PORT), b"?")
    network.queue.run_until(1.0)
    assert len(other.heard) == pytest.approx(1000 * 0.7 * 1.2, rel=0.1)  # 5 standard deviations
    network.weather.cuts.append(Cut([1], [2]))
    before = len(other.heard)
    one.udp.send(port, (ip_of(2), PORT), b"?")
    network.queue.run_until(2.0)
    assert len(other.heard) == before


def test_what_finds_no_endpoint_is_counted() -> None:
    network = make()
    one, other = Host(network, 1), Host(network, 2)
    port = one.udp.open(ip_of(1), 0)[1]
    other.udp.open(ip_of(2), PORT)
    for target in ((ip_of(2), PORT + 1), (ip_of(3), PORT), ("192.0.2.1", PORT)):
        one.udp.send(port, target, b"?")
    one.udp.send(port, (ip_of(2), PORT), b"under way")
    other.udp.close(PORT)
    network.queue.run_until(1.0)
    assert (network.sent, network.undeliverable) == (4, 4)
    assert other.heard == []


def test_a_later_life_of_a_host_gets_what_was_sent_to_the_former() -> None:
    network = make()
    one, before = Host(network, 1), Host(network, 2)
    port = one.udp.open(ip_of(1), 0)[1]
    before.udp.open(ip_of(2), PORT)
    one.udp.send(port, (ip_of(2), PORT), b"hello")
    before.udp.crash()
    assert not before.udp.ports
    after = Host(network, 2)
    after.udp.open(ip_of(2), PORT)
    network.queue.run_until(1.0)
    assert before.heard == []
    assert [data for *_, data in after.heard] == [b"hello"]


@pytest.mark.parametrize("target", [("10.0.0.2", 0), ("10.0.0.2", 65_536), ("::1", 1), ("x", 1)])
def test_sending_to_what_is_no_endpoint_is_a_mistake(target: Endpoint) -> None:
    network = make()
    one = Host(network, 1)
    here = one.udp.open(ip_of(1), 0)[1]
    with pytest.raises(ValueError, match=r"no port|another version of IP|does not appear"):
        one.udp.send(here, target, b"?")


def test_an_endpoint_that_cannot_be_had_is_refused_as_by_the_system() -> None:
    network = make()
    one = Host(network, 1)
    one.udp.open(ip_of(1), PORT)
    with pytest.raises(OSError, match=f"Errno {errno.EADDRINUSE}"):
        one.udp.open(ip_of(1), PORT)
    with pytest.raises(OSError, match=f"Errno {errno.EADDRNOTAVAIL}"):
        one.udp.open(ip_of(2), PORT)
    free = {one.udp.open(ip_of(1), 0)[1] for _ in range(100)}
    assert len(free) == 100  # none twice
    Host(network, 2).udp.open(ip_of(2), PORT)  # the same port of another host


def test_numbers_and_addresses_of_hosts_are_one_to_one() -> None:
    for number in (0, 1, 255, 65_536, HOSTS_MAX - 1):
        assert number_of(ip_of(number)) == number_of(ip_of(number, 6)) == number
    assert number_of("10.0.0.0") is None
    assert number_of("192.0.2.1") is None
