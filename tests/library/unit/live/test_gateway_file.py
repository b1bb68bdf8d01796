"""The gateway file, and the words in which a wrong one is refused."""

from pathlib import Path

import pytest

from camcast.cli.process_options import GatewayOptions
from camcast.live.gateway_file import GatewayError, parse_gateways, read_gateways
from camcast.vocabulary.topics import ROOT, Topic


def test_a_file_names_gateways_by_topic(tmp_path: Path) -> None:
    file = tmp_path / "gateways.toml"
    file.write_text(
        "[gateways]\n"
        '"." = ["tcp://192.0.2.1:7000", "tcp://Gateway.Example:7000"]\n'
        '".soccer" = ["tcp://[2001:DB8::1]:7000"]\n'
    )
    assert read_gateways(file) == {
        ROOT: ("tcp://192.0.2.1:7000", "tcp://gateway.example:7000"),
        Topic.parse(".soccer"): ("tcp://[2001:db8::1]:7000",),
    }
    given = GatewayOptions(gateway_file=file, gateway=["tcp://192.0.2.9:1"])
    assert given.value({}) == {  # --gateway serves all topics
        ".": ["tcp://192.0.2.1:7000", "tcp://gateway.example:7000", "tcp://192.0.2.9:1"],
        ".soccer": ["tcp://[2001:db8::1]:7000", "tcp://192.0.2.9:1"],
    }


def test_a_list_is_short_for_the_root() -> None:
    assert parse_gateways(["tcp://127.0.0.1:1"]) == {ROOT: ("tcp://127.0.0.1:1",)}
    assert GatewayOptions().value({}) == {".": []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gateways = ", "not TOML"),
        pytest.param("gateways = " + "[" * 10_000, "deeper than 32 levels", id="deep"),
        pytest.param("gateways = 1" + "0" * 5_000, "4300 digits", id="digits"),
        ("", r"expected one table \[gateways\], found no such table"),
        ("gateways = 3", "found no such table"),
        ("[gateway]\n", "unknown key 'gateway'"),
        ("[gateways]\n[others]\n", "unknown key 'others'"),
        ('[gateways]\nsoccer = ["tcp://127.0.0.1:1"]', "gateways of 'soccer': .* start with '.'"),
        ('[gateways]\n"." = "tcp://127.0.0.1:1"', "the gateways of '.' are a list"),
        ('[gateways]\n"." = 7', "the gateways of '.' are a list"),
        ('[gateways]\n"." = [7000]', "gateways of '.': address '7000' is not of the form"),
        ('[gateways]\n".a" = ["tcp://127.0.0.1:0"]', "gateways of '.a': .* port 0"),
        ('[gateways]\n".a" = ["ipc:///tmp/x"]', "gateways of '.a': "),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_key(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "gateways.toml"
    file.write_text(content)
    with pytest.raises(GatewayError, match=message) as caught:
        read_gateways(file)
    assert str(caught.value).startswith(f"{file}: ")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(GatewayError, match=reason) as caught:
            read_gateways(path)
        assert str(path) in str(caught.value)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GatewayError, match="not TOML"):
        read_gateways(binary)
