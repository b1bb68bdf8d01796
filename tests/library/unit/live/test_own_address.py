"""The address that a process announces, found on this machine, whose loopback is enough."""

import socket
from typing import Any

import pytest

from camcast.live.own_address import find_address, with_port_of
from camcast.vocabulary.addresses import AddressError


@pytest.mark.parametrize(
    ("advertise", "bind", "found"),
    [
        ("lo", "tcp://0.0.0.0:7000", "tcp://127.0.0.1:7000"),
        ("localhost", "tcp://0.0.0.0:0", "tcp://127.0.0.1:0"),
        ("127.0.0.9", "tcp://0.0.0.0:1", "tcp://127.0.0.9:1"),
    ],
)
def test_an_interface_or_a_name_has_an_address(advertise: str, bind: str, found: str) -> None:
    assert find_address(advertise, bind, ()) == found


def test_auto_is_the_address_by_which_the_first_known_gateway_is_reached() -> None:
    named = ["tcp://no-such-host.invalid:7000", "tcp://127.0.0.2:7000"]
    assert find_address("auto", "tcp://0.0.0.0:7", named) == "tcp://127.0.0.1:7"


def test_an_address_of_ipv6_is_for_a_process_that_listens_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def getaddrinfo(_host: Any, _port: Any, family: int, _kind: Any) -> list[Any]:
        if family == socket.AF_INET:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::7", 0, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert find_address("me.test", "tcp://[::]:7000", ()) == "tcp://[2001:db8::7]:7000"
    with pytest.raises(AddressError, match=r"no such address for tcp://0\.0\.0\.0:7000"):
        find_address("me.test", "tcp://0.0.0.0:7000", ())


def test_what_was_announced_stays_while_it_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server turns the addresses of a name round, and gateways may be reached two ways."""
    addresses = ["192.0.2.1", "192.0.2.2"]

    def getaddrinfo(_host: Any, _port: Any, _family: int, _kind: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    def found(advertise: str, announced: str) -> str:
        return find_address(advertise, "tcp://0.0.0.0:7", ["tcp://127.0.0.2:7"], announced)

    assert found("me.test", "tcp://192.0.2.2:7") == "tcp://192.0.2.2:7"
    assert found("me.test", "tcp://192.0.2.3:7") == "tcp://192.0.2.1:7"
    assert found("auto", "tcp://127.0.0.9:7") == "tcp://127.0.0.9:7"
    monkeypatch.undo()
    assert found("auto", "tcp://192.0.2.3:7") == "tcp://127.0.0.1:7"
    assert found("lo", "tcp://127.0.0.9:7") == "tcp://127.0.0.1:7"


def test_what_names_nothing_here_is_refused() -> None:
    for text in ("no-such-host.invalid", "a" * 64, ""):
        with pytest.raises(AddressError, match=r"advertise .*: this machine has no such address"):
            find_address(text, "tcp://0.0.0.0:7000", ())


def test_the_port_is_the_one_that_is_listened_at() -> None:
    assert with_port_of("tcp://10.0.0.1:0", "tcp://0.0.0.0:7001") == "tcp://10.0.0.1:7001"
    assert with_port_of("tcp://10.0.0.1:9", "tcp://0.0.0.0:7001") == "tcp://10.0.0.1:9"
