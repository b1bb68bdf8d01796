"""Links within a machine: they are Unix sockets where both ends are one user's, and TCP's else."""

import asyncio
import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from camcast.live.transports import TCP, ZMTP
from camcast.live.wire.zmtp import unix_sockets
from camcast.live.wire.zmtp.zmtp_pipes import ZmtpPipes
from tests.library.contracts.test_transport_contract import has_ipv6
from tests.library.live.communities import free_address
from tests.library.live.pipe_ends import ANY_PORT, Inbox, at, make_record, new_pipes
from tests.patience import live

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are no abstract addresses")

IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may run processes of other users")
NOBODY = 65_534  # any user but root
ELSEWHERE = "198.51.100.1"  # [RFC 5737] nobody's


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def families(pipes: ZmtpPipes) -> Counter[socket.AddressFamily]:
    """Return of how many connections, at both of their ends, the sockets are of which family."""
    listening = socket.SO_ACCEPTCONN
    return Counter(
        socket.AddressFamily(one.family)
        for one in pipes.sockets
        if not one.getsockopt(socket.SOL_SOCKET, listening)
    )


@pytest.mark.parametrize(
    ("bound", "dialled"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.2"),
        pytest.param("[::1]", "[::1]", marks=IPV6),
        pytest.param("[::]", "[::1]", marks=IPV6),
        pytest.param("[::]", "127.0.0.1", marks=IPV6),
    ],
)
@live
async def test_whatever_tcp_would_reach_is_reached_by_a_unix_socket(
    bound: str, dialled: str
) -> None:
    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    address = theirs.open_input(f"tcp://{bound}:0", inbox).address
    ours.send([at(f"tcp://{dialled}:{port_of(address)}")], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    assert families(ours) == families(theirs) == {socket.AF_UNIX: 1}
    ours.close()
    theirs.close()


@live
async def test_one_port_of_two_addresses_is_two_processes() -> None:
    ours, theirs, one, other = new_pipes(), new_pipes(), Inbox(), Inbox()
    first = theirs.open_input(ANY_PORT, one).address
    second = theirs.open_input(f"tcp://127.0.0.2:{port_of(first)}", other).address
    ours.send([at(first)], make_record(1))
    ours.send([at(second)], make_record(2))
    assert (await one.has_numbers(1), await other.has_numbers(1)) == ([1], [2])
    assert families(ours) == families(theirs) == {socket.AF_UNIX: 2}
    ours.close()
    theirs.close()


@pytest.mark.parametrize(("ours", "theirs"), [(TCP, ZMTP), (ZMTP, TCP), (TCP, TCP)])
@live
async def test_where_one_end_has_tcp_alone_the_other_takes_it(ours: str, theirs: str) -> None:
    sender, receiver = new_pipes(transport=ours), new_pipes(transport=theirs)
    inbox = Inbox()
    sender.send([at(receiver.open_input(ANY_PORT, inbox).address)], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    assert families(sender) == families(receiver) == {socket.AF_INET: 1}
    sender.close()
    receiver.close()


@live
async def test_who_comes_back_at_an_address_is_reached_again() -> None:
    """Its name ended with it, as its port did."""
    sender, inbox, address = new_pipes(), Inbox(), free_address()
    for number in range(3):
        receiver = new_pipes()
        receiver.open_input(address, inbox)
        sender.send([at(address)], make_record(number))
        assert await inbox.has_numbers(number + 1) == [*range(number + 1)]
        assert families(receiver) == {socket.AF_UNIX: 1}
        receiver.close()
        while families(sender):  # it has not noticed yet
            await asyncio.sleep(0.001)
    sender.close()


@live
async def test_a_sandbox_without_unix_sockets_has_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    made = socket.socket

    def forbid(family: int = socket.AF_INET, *others: int) -> socket.socket:
        if family == socket.AF_UNIX:
            raise OSError("Address family not supported by protocol")
        return made(family, *others)

    ours, theirs, inbox = new_pipes(), new_pipes(), Inbox()
    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", forbid)
        ours.send([at(theirs.open_input(ANY_PORT, inbox).address)], make_record(1))
    assert await inbox.has_numbers(1) == [1]
    assert families(ours) == families(theirs) == {socket.AF_INET: 1}
    ours.close()
    theirs.close()


def own_address() -> str | None:
    """Return this machine's address in a network, None without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ELSEWHERE, 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])


@live
async def test_a_wildcard_is_no_answer_for_the_same_port_of_another_machine() -> None:
    """Mostly all machines listen at one port."""
    pipes, inbox = new_pipes(), Inbox()
    port = port_of(pipes.open_input("tcp://0.0.0.0:0", inbox).address)
    assert unix_sockets.connect(ELSEWHERE, port) is None
    if (own := own_address()) is not None:
        pipes.send([at(f"tcp://{own}:{port}")], make_record(1))
        assert await inbox.has_numbers(1) == [1]
        assert families(pipes) == {socket.AF_UNIX: 2}
    pipes.close()


# -- other users


@contextmanager
def another_user() -> Iterator[None]:
    """The kernel notes whose a socket is when it begins to listen, and when it connects."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def name_of(address: str) -> str:
    return f"\0camcast/127.0.0.1/{port_of(address)}"


@ROOT
@live
async def test_another_user_who_has_the_name_is_told_nothing() -> None:
    address, ours, theirs, inbox = free_address(), new_pipes(), new_pipes(), Inbox()
    with socket.socket(socket.AF_UNIX) as squatter:
        with another_user():
            squatter.bind(name_of(address))
            squatter.listen()
        theirs.open_input(address, inbox)
        ours.send([at(address)], make_record(1))
        assert await inbox.has_numbers(1) == [1]
        assert families(ours) == families(theirs) == {socket.AF_INET: 1}
        made, _ = squatter.accept()
        with made:
            assert made.recv(64) == b""
    ours.close()
    theirs.close()


@ROOT
@live
async def test_another_user_who_connects_to_the_name_is_told_nothing() -> None:
    pipes = new_pipes()
    address = pipes.open_input(ANY_PORT, Inbox()).address
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.setblocking(False)
        with another_user():
            stranger.connect(name_of(address))
        assert await asyncio.get_running_loop().sock_recv(stranger, 64) == b""  # nor a greeting
    assert len(pipes.connections) == 0
    pipes.close()
