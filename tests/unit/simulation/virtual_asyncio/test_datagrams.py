"""Datagrams between asyncio's sockets on virtual time, and that they are the same again."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from camcast.settings.climate import Climate, Constant, Uniform
from camcast.simulation.network import VirtualNetwork
from camcast.simulation.virtual_asyncio.datagrams import (
    DATAGRAM_BYTES_MAX,
    VirtualSocket,
    ip_of,
    number_of,
)
from camcast.simulation.virtual_asyncio.fence import LeavesSimulationError
from camcast.simulation.virtual_asyncio.loop import VirtualLoop
from camcast.simulation.virtual_asyncio.watch import UnhandledError
from camcast.simulation.weather import Cut
from tests.unit.simulation.virtual_asyncio.virtual_asyncio import (
    PORT,
    Ear,
    Rpc,
    beside,
    new_loop,
    open_on,
)


def test_addresses_and_numbers_are_each_others_inverse() -> None:
    assert [ip_of(number) for number in (0, 1, 255)] == ["10.0.0.1", "10.0.0.2", "10.0.1.0"]
    assert all(number_of(ip_of(number)) == number for number in range(0, 1 << 20, 997))
    assert number_of("10.0.0.0") is number_of("10.255.255.255") is number_of("127.0.0.1") is None


def test_a_datagram_crosses_the_weather(loop: VirtualLoop) -> None:
    async def main() -> None:
        one, two = await open_on(loop, 1, Ear), await open_on(loop, 2, Ear, 99)
        data = bytearray(b"hello")
        one.transport.sendto(data, (ip_of(2), 99))
        data[:] = b"later"
        two.transport.sendto(b"back", (ip_of(1), PORT))
        await asyncio.sleep(1)
        assert two.heard == [(0.01, b"hello", (ip_of(1), PORT))]
        assert one.heard == [(0.01, b"back", (ip_of(2), 99))]
        assert one.transport.get_extra_info("sockname") == ("0.0.0.0", PORT)
        assert one.transport.get_extra_info("peername") is None
        assert one.transport.get_extra_info("socket", "none") == "none"
        assert "host 1" in repr(one.transport)

    loop.run_until_complete(main())
    assert (loop.datagrams.sent, loop.datagrams.received) == (2, 2)


def test_bad_weather_loses_delays_and_duplicates() -> None:
    climate = Climate(latency=Uniform(0.01, 0.5), loss=0.3, duplication=0.2)
    with new_loop(climate) as loop:
        ear = loop.run_until_complete(open_on(loop, 1, Ear))
        mouth = loop.run_until_complete(open_on(loop, 2, Ear))
        for number in range(1000):
            mouth.transport.sendto(number.to_bytes(2), (ip_of(1), PORT))
        loop.run_until_complete(asyncio.sleep(1))
        numbers = [int.from_bytes(data) for _, data, _ in ear.heard]
        times = [heard_at for heard_at, _, _ in ear.heard]
        assert 600 < len(dict.fromkeys(numbers)) < 800
        assert 60 < len(numbers) - len(dict.fromkeys(numbers)) < 220
        assert times == sorted(times)
        assert 0.01 <= times[0] < 0.02 < 0.49 < times[-1] <= 0.5
        assert numbers != sorted(numbers)


def test_ping_pong_through_bad_weather_with_timeouts() -> None:
    async def main(loop: VirtualLoop) -> list[Any]:
        one, two = await open_on(loop, 1, Rpc), await open_on(loop, 2, Rpc)
        answers = [await one.ask((ip_of(2), PORT), b"ping") for _ in range(200)]
        await asyncio.sleep(10)  # for the stragglers
        assert one.asked == {}
        return [answers.count(b"PING"), answers.count(None), two.answered]

    with new_loop(Climate(latency=Uniform(0.01, 0.1), loss=0.2, duplication=0.1)) as loop:
        answered, unanswered, solved = loop.run_until_complete(main(loop))
        assert answered + unanswered == 200
        assert 100 < answered < 155  # 0.64 of 200, within 4 standard deviations
        assert 130 < solved < 215
        assert loop.time() > unanswered * Rpc.wait_seconds


def test_a_cut_parts_hosts_until_it_heals() -> None:
    network = VirtualNetwork()
    with beside(network) as loop:

        async def main() -> None:
            one, two = await open_on(loop, 1, Rpc), await open_on(loop, 2, Rpc)
            there = (ip_of(2), PORT)
            assert await one.ask(there, b"a") == b"A"
            cut = Cut(one_side=[1], other_side=[2], one_way=True)
            network.weather.cuts.append(cut)
            assert await one.ask(there, b"b") is None
            assert (two.answered, network.weather.lost) == (1, 1)
            network.weather.cuts.remove(cut)
            assert await one.ask(there, b"c") == b"C"

        loop.run_until_complete(main())
        assert loop.time() == pytest.approx(5.04)


def test_ports_are_given_and_refused(loop: VirtualLoop) -> None:
    async def refused(address: Any, **options: Any) -> Any:
        with pytest.raises((OSError, OverflowError, TypeError, ValueError)) as caught:
            await loop.create_datagram_endpoint(Ear, local_addr=address, **options)
        return getattr(caught.value, "errno", type(caught.value))

    async def main() -> None:
        with loop.host(1):
            free = [
                (await loop.create_datagram_endpoint(Ear, local_addr=(ip, 0)))[0]
                for ip in ("0.0.0.0", "", ip_of(1))
            ]
            ports = [transport.get_extra_info("sockname")[1] for transport in free]
            assert ports == [49152, 49153, 49154]
            assert loop.datagrams.bound(1) == ports
            assert await refused(("0.0.0.0", 49153)) == errno.EADDRINUSE
            assert await refused((ip_of(1), 49153)) == errno.EADDRINUSE
            assert await refused((ip_of(2), 49153)) == errno.EADDRNOTAVAIL
            assert await refused(("192.168.0.1", 1)) == errno.EADDRNOTAVAIL
            assert await refused(("::", 1)) == errno.EAFNOSUPPORT
            assert await refused(("0.0.0.0", 65536)) is OverflowError
            assert await refused(("0.0.0.0", None)) is TypeError
            assert await refused("0.0.0.0") is TypeError
            assert await refused(None) is ValueError
        with loop.host(2):
            await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", 49153))
        free[1].close()
        free[2].close()
        assert free[1].is_closing()
        with loop.host(1):
            assert await refused(("0.0.0.0", 49153)) == errno.EADDRINUSE  # till it is told
            await asyncio.sleep(0)
            again, _ = await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", 49153))
            later, _ = await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", 0))
        assert again.get_extra_info("sockname") == ("0.0.0.0", 49153)
        assert later.get_extra_info("sockname") == ("0.0.0.0", 49155)

    loop.run_until_complete(main())


@pytest.mark.parametrize(
    ("address", "options", "said"),
    [
        (("0.0.0.0", 1), {}, "on behalf of which host"),
        ((ip_of(1), 1), {"remote_addr": ("localhost", 1)}, "looking up the name 'localhost'"),
        (("localhost", 1), {}, "looking up the name 'localhost'"),
        (("10.0.0.1", 1), {"sock": object()}, "sock="),
        (("10.0.0.1", 1), {"reuse_port": True}, "reuse_port="),
        (("10.0.0.1", 1), {"family": 99}, "family="),
    ],
)
def test_what_no_simulated_socket_can_do_leaves(
    loop: VirtualLoop, address: Any, options: Any, said: str
) -> None:
    with pytest.raises(LeavesSimulationError, match=said):
        loop.run_until_complete(
            loop.create_datagram_endpoint(Ear, local_addr=address, **options),
        )


def test_the_address_says_whose_a_socket_is(loop: VirtualLoop) -> None:
    async def main() -> None:
        transport, _ = await loop.create_datagram_endpoint(Ear, local_addr=(ip_of(9), 1))
        assert isinstance(transport, VirtualSocket)
        assert transport.host.number == 9

    loop.run_until_complete(main())


def test_a_datagram_too_long_is_an_error_received(loop: VirtualLoop) -> None:
    async def main() -> None:
        one, two = await open_on(loop, 1, Ear), await open_on(loop, 2, Ear)
        there = (ip_of(2), PORT)
        one.transport.sendto(bytes(DATAGRAM_BYTES_MAX), there)
        one.transport.sendto(memoryview(bytes(DATAGRAM_BYTES_MAX + 1)), there)
        one.transport.sendto(b"", (ip_of(2), 0))
        one.transport.sendto(b"", ("::1", 1))
        with pytest.raises(TypeError, match="bytes-like"):
            one.transport.sendto("text", there)
        await asyncio.sleep(1)
        assert one.log == ["made", "EMSGSIZE", "EINVAL", "EAFNOSUPPORT"]
        assert [len(data) for _, data, _ in two.heard] == [DATAGRAM_BYTES_MAX]
        with pytest.raises(LeavesSimulationError, match=r"the name 'example\.org'"):
            one.transport.sendto(b"", ("example.org", 1))

    loop.run_until_complete(main())


def test_what_is_sent_to_nobody_vanishes(loop: VirtualLoop) -> None:
    async def main() -> None:
        one = await open_on(loop, 1, Ear)
        for address in ((ip_of(1), 1), (ip_of(77), PORT), ("127.0.0.1", 1), ("8.8.8.8", 53)):
            one.transport.sendto(b"?", address)
        await asyncio.sleep(1)
        assert one.log == ["made"]
        assert (loop.datagrams.sent, loop.datagrams.undeliverable) == (4, 4)

    loop.run_until_complete(main())


@pytest.mark.parametrize("address", [(ip_of(2), 65536), (ip_of(2), None), (5, 5), None, [1, 2]])
def test_an_address_that_is_none_closes_the_socket_as_in_asyncio(address: Any) -> None:
    with new_loop() as loop:
        ear = loop.run_until_complete(open_on(loop, 1, Ear))
        loop.call_soon(ear.transport.sendto, b"?", address)
        with pytest.raises(UnhandledError, match="Fatal write error"):
            loop.run_until_complete(asyncio.sleep(1))
        assert ear.transport.is_closing()
        loop.run_until_complete(asyncio.sleep(1))
        assert ear.log[1].startswith(("lost TypeError", "lost OverflowError"))


def test_close_and_abort_tell_the_protocol_soon_and_end_all(loop: VirtualLoop) -> None:
    async def main() -> None:
        one, two = await open_on(loop, 1, Ear), await open_on(loop, 2, Ear)
        two.transport.sendto(b"too late", (ip_of(1), PORT))
        one.transport.close()
        one.transport.abort()
        one.transport.sendto(b"dropped", (ip_of(2), PORT))
        assert one.log == ["made"]
        await asyncio.sleep(1)
        assert one.log == ["made", "lost None"]
        assert (one.heard, two.heard) == ([], [])
        assert loop.datagrams.bound(1) == []

    loop.run_until_complete(main())


def test_a_closed_socket_hears_nothing_of_the_same_instant(loop: VirtualLoop) -> None:
    ear = loop.run_until_complete(open_on(loop, 1, Ear))
    ear.transport.close()
    loop.datagrams._arrive(1, PORT, b"x", (ip_of(2), PORT))
    loop.run_until_complete(asyncio.sleep(1))
    assert ear.heard == []
    assert loop.datagrams.undeliverable == 1


def test_who_is_cancelled_while_binding_holds_no_port(loop: VirtualLoop) -> None:
    async def main() -> None:
        task = loop.create_task(open_on(loop, 1, Ear))
        await asyncio.sleep(0)
        assert loop.datagrams.bound(1) == [PORT]
        task.cancel()
        await asyncio.sleep(1)
        assert loop.datagrams.bound(1) == []

    loop.run_until_complete(main())


def test_a_connected_socket_hears_and_reaches_its_peer_alone(loop: VirtualLoop) -> None:
    async def main() -> None:
        peer, other = await open_on(loop, 2, Ear), await open_on(loop, 3, Ear)
        there = (ip_of(2), PORT)
        with loop.host(1):
            transport, ear = await loop.create_datagram_endpoint(Ear, remote_addr=there)
        assert transport.get_extra_info("peername") == there
        transport.sendto(b"a")
        transport.sendto(b"b", there)
        with pytest.raises(ValueError, match="must be None or"):
            transport.sendto(b"c", (ip_of(3), PORT))
        mine = (ip_of(1), transport.get_extra_info("sockname")[1])
        peer.transport.sendto(b"heard", mine)
        other.transport.sendto(b"not heard", mine)
        await asyncio.sleep(1)
        assert [data for _, data, _ in peer.heard] == [b"a", b"b"]
        assert [data for _, data, _ in ear.heard] == [b"heard"]

    loop.run_until_complete(main())


def test_nothing_is_received_before_the_connection_is_made() -> None:
    """A datagram that arrives at the very moment of the binding waits in line."""
    network = VirtualNetwork(climate=Climate(latency=Constant(1.0)))
    with beside(network) as loop:
        log: list[str] = []

        class Orderly(asyncio.DatagramProtocol):
            def connection_made(self, transport: Any) -> None:
                log.append("made")

            def datagram_received(self, data: bytes, addr: Any) -> None:
                log.append("received")

        def bind() -> None:
            place = (ip_of(1), PORT)
            loop.create_task(loop.create_datagram_endpoint(Orderly, local_addr=place))
            # In line behind the task, which binds, and before what the task then calls soon.
            network.queue.at(1.0, loop.datagrams._arrive, 1, PORT, b"", (ip_of(2), PORT))

        network.queue.at(1.0, bind)
        network.run(3)
        assert log == ["made", "received"]


def test_an_exception_in_a_protocol_fails_the_run() -> None:
    class Bad(Ear):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            raise ZeroDivisionError

    with new_loop() as loop:
        bad = loop.run_until_complete(open_on(loop, 1, Bad))
        bad.transport.sendto(b"x", (ip_of(1), PORT))
        with pytest.raises(UnhandledError, match="datagram_received"):
            loop.run_until_complete(asyncio.sleep(1))


# -- replay ------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["nothing", "data", "port", "time"])
def test_the_checksum_is_over_what_is_sent_when_and_where(change: str) -> None:
    sums = []
    for changed in ("nothing", change):
        with new_loop() as loop:
            ear = loop.run_until_complete(open_on(loop, 1, Ear))
            loop.run_until_complete(asyncio.sleep(2 if changed == "time" else 1))
            data = b"b" if changed == "data" else b"a"
            ear.transport.sendto(data, (ip_of(2), 2 if changed == "port" else 1))
            loop.run_until_complete(asyncio.sleep(1))
            sums.append(loop.datagrams.checksum)
    assert (sums[0] == sums[1]) == (change == "nothing")


SCENARIO = """
import asyncio
from camcast.simulation.virtual_asyncio.datagrams import ip_of
from camcast.settings.climate import Climate, Uniform
from tests.unit.simulation.virtual_asyncio.virtual_asyncio import PORT, Rpc, new_loop, open_on

climate = Climate(latency=Uniform(0.0, 0.1), loss=0.1, duplication=0.1, reordering=0.1)
log = []

async def chat(loop, protocol, number):
    try:
        for step in range(20):
            other = (ip_of((number * 7 + step) % 10), PORT)
            log.append((loop.time(), number, await protocol.ask(other, b"%d" % step)))
    finally:
        log.append(asyncio.current_task().get_name())

async def main(loop):
    protocols = [await open_on(loop, number, Rpc) for number in range(10)]
    chats = [loop.create_task(chat(loop, p, number)) for number, p in enumerate(protocols)]
    done, pending = await asyncio.wait(chats, timeout=6)
    log.extend(task.get_name() for task in [*done, *pending])  # These are sets,
    for task in pending:
        task.cancel()
    await asyncio.sleep(1)
    for task in asyncio.all_tasks():  # and so is this,
        log.append(task.get_name())
    try:
        async with asyncio.TaskGroup() as group:  # and so is what a group cancels.
            for number in range(50):
                group.create_task(chat(loop, protocols[number % 10], number))
            await asyncio.sleep(1)
            raise KeyError
    except* KeyError:
        pass
    await asyncio.sleep(10)

with new_loop(climate) as loop:
    loop.run_until_complete(main(loop))
print(loop.datagrams.sent, loop.datagrams.checksum, loop.queue.happened, loop.time())
for entry in log:
    print(entry)
"""


def test_every_process_and_hash_seed_plays_the_same() -> None:
    root = Path(__file__).parents[4]
    played = [
        subprocess.run(
            [sys.executable, "-c", f"_ = [object() for _ in range({seed})]\n{SCENARIO}"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd=root,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    ]
    assert len(played[0].splitlines()) > 150
    assert played[0] == played[1] == played[2]
