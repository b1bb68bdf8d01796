"""The grammar of endpoints: what passes, what is refused and with which advice."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from camcast.vocabulary.addresses import (
    ADDRESS_BYTES_MAX,
    AddressError,
    check_address,
    is_loopback,
    is_wildcard,
)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("tcp://127.0.0.1:7000", "tcp://127.0.0.1:7000"),
        ("tcp://[::1]:7000", "tcp://[::1]:7000"),
        ("tcp://[2001:DB8:0:0::1]:1", "tcp://[2001:db8::1]:1"),
        ("tcp://[::ffff:127.0.0.1]:7000", "tcp://127.0.0.1:7000"),
        ("tcp://Node-7.Example.ORG:65535", "tcp://node-7.example.org:65535"),
        ("tcp://localhost:7000", "tcp://localhost:7000"),
        ("tcp://3com.example:7000", "tcp://3com.example:7000"),
        ("tcp://0.0.0.0:7000", "tcp://0.0.0.0:7000"),
        ("tcp://my_gateway:7000", "tcp://my_gateway:7000"),
        (
            "tcp://gateway.default.svc.cluster.local.:7",
            "tcp://gateway.default.svc.cluster.local.:7",
        ),
        ("tcp://bücher.example:7000", "tcp://xn--bcher-kva.example:7000"),
        ("tcp://\N{KELVIN SIGN}elvin:7000", "tcp://kelvin:7000"),
    ],
)
def test_an_address_has_one_canonical_text(written: str, canonical: str) -> None:
    assert check_address(written) == canonical
    assert check_address(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:7000",
        "TCP://127.0.0.1:7000",
        "udp://127.0.0.1:7000",
        "ipc:///tmp/socket",
        "inproc://name",
        "tcp://*:7000",
        "tcp://127.0.0.1:*",
        "tcp://eth0;127.0.0.1:7000",
        "tcp://10.0.0.1:0;10.0.0.2:7000",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:",
        "tcp://:7000",
        "tcp://127.0.0.1:65536",
        "tcp://127.0.0.1:-1",
        "tcp://127.0.0.1:07000",
        "tcp://127.0.0.1:\N{FULLWIDTH DIGIT SEVEN}000",
        "tcp://127.0.0.1:7000/",
        "tcp://127.0.0.1:7000\n",
        "tcp://127.0.0.1\x00:7000",
        "tcp://::1:7000",
        "tcp://[::1%lo]:7000",
        "tcp://[127.0.0.1]:7000",
        "tcp://[]:7000",
        "tcp://127.1:7000",
        "tcp://2130706433:7000",
        "tcp://0x7f.0.0.1:7000",
        "tcp://0x7f000001:7000",
        "tcp://127.0.0.01:7000",
        "tcp://256.0.0.1:7000",
        "tcp://user@host:7000",
        "tcp://a host:7000",
        "tcp://a\u0301..b:7000",
        "tcp://127.1.:7000",
        f"tcp://{'a.' * 122}b:70000",
        f"tcp://{'a.' * 125}b:7000",
    ],
)
def test_everything_else_is_refused_with_advice(text: str) -> None:
    with pytest.raises(AddressError, match=r"tcp://127\.0\.0\.1:7000"):
        check_address(text)


def test_port_zero_is_for_binding_only() -> None:
    assert check_address("tcp://127.0.0.1:0", bind=True) == "tcp://127.0.0.1:0"
    with pytest.raises(AddressError, match="only a bind"):
        check_address("tcp://127.0.0.1:0")


@pytest.mark.parametrize(
    ("address", "loopback", "wildcard"),
    [
        ("tcp://127.0.0.1:1", True, False),
        ("tcp://127.255.3.4:0", True, False),
        ("tcp://[::1]:1", True, False),
        ("tcp://[0:0::1]:1", True, False),
        ("tcp://[::ffff:127.0.0.1]:1", True, False),
        ("tcp://LOCALHOST:1", True, False),
        ("tcp://localhost.example:1", False, False),
        ("tcp://128.0.0.1:1", False, False),
        ("tcp://10.0.0.1:1", False, False),
        ("tcp://0.0.0.0:0", False, True),
        ("tcp://[::]:1", False, True),
        ("tcp://[::ffff:0.0.0.0]:1", False, True),
    ],
)
def test_loopback_and_wildcard(address: str, loopback: bool, wildcard: bool) -> None:
    assert is_loopback(address) is loopback
    assert is_wildcard(address) is wildcard


_near_misses = st.text(alphabet="tcp:/[]0123456789abfx.-*;%", max_size=40)
_plausible = st.builds(
    "tcp://{}:{}".format,
    st.one_of(
        st.ip_addresses(v=4).map(str),
        st.ip_addresses(v=6).map("[{}]".format),
        st.from_regex(r"[A-Za-z0-9.-]{1,70}", fullmatch=True),
        st.text(max_size=20),
    ),
    st.one_of(st.integers(-1, 70_000).map(str), st.text(max_size=6)),
)


@given(st.one_of(st.text(), _near_misses, _near_misses.map("tcp://{}".format), _plausible))
@example("tcp://[::ffff:0.0.0.0]:0")
@example("tcp://\ud800:1")
def test_any_text_round_trips_or_raises_address_error(text: str) -> None:
    try:
        address = check_address(text, bind=True)
    except AddressError:
        return
    assert check_address(address, bind=True) == address
    assert len(address.encode("ascii")) <= ADDRESS_BYTES_MAX
    assert is_loopback(address) is is_loopback(text)
    assert is_wildcard(address) is is_wildcard(text)
    assert not (is_loopback(address) and is_wildcard(address))
