"""The doors: plugs found by name, also a third party's, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen, validators

from camcast.doors.membership import Backend
from camcast.doors.options import OptionError, build_options
from camcast.doors.plugs import (
    MEMBERSHIP_GROUP,
    UnknownPlugError,
    find_backend,
    find_discovery,
    installed,
)
from membership.scamp import scamp
from overlays.gateways import GatewayDiscovery
from tests.shipped_plugs import shipped


def test_our_own_plugs_come_through_the_door() -> None:
    assert find_backend("scamp") is scamp.BACKEND
    assert find_discovery("gateways") is GatewayDiscovery


def test_an_unknown_plug_lists_the_known_ones() -> None:
    with pytest.raises(UnknownPlugError) as no_backend:
        find_backend("scmp")
    assert str(no_backend.value).startswith("unknown membership 'scmp'; installed: ")
    assert "scamp" in str(no_backend.value)
    with pytest.raises(UnknownPlugError, match=r"unknown discovery 'dht'; installed: .*gateways"):
        find_discovery("dht")


THIRD_PARTY = """
from attrs import frozen
from camcast.doors.membership import Backend
@frozen
class Options:
    size: int = 3
BACKEND = Backend(name="{name}", keeper=lambda context, options: None, options=Options,
                  discovery="lighthouse", expected_view=lambda options, size: size - 1)
def lighthouse(context):
    return None
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install a package as pip would, with a dist-info folder; return its backend's name."""
    name = "everybody"
    (tmp_path / "camcast_third_party.py").write_text(THIRD_PARTY.format(name=name))
    info = tmp_path / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[camcast.membership]\n{name} = camcast_third_party:BACKEND\n"
        "wrong = camcast_third_party:lighthouse\n"
        "[camcast.overlays]\nlighthouse = camcast_third_party:lighthouse\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_third_party_uses_the_same_door(third_party: str) -> None:
    backend = find_backend(third_party)
    assert isinstance(backend, Backend)
    assert backend.name == third_party
    assert backend.parse_options({"size": "7"}).size == 7
    assert getattr(find_discovery(backend.discovery), "__name__", "") == "lighthouse"
    assert find_backend("scamp") is scamp.BACKEND
    names = installed(MEMBERSHIP_GROUP)
    assert {*shipped(MEMBERSHIP_GROUP), third_party, "wrong"} <= set(names)
    with pytest.raises(UnknownPlugError, match=f"installed: {', '.join(names)}$"):
        find_backend("nobody")


@pytest.mark.usefixtures("third_party")
def test_an_entry_point_that_is_no_backend_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"'wrong' in camcast\.membership is not a Backend"):
        find_backend("wrong")


@frozen(kw_only=True)
class Options:
    count: int = field(default=1, validator=validators.ge(0))
    pause_seconds: float = field(default=0.5, validator=validators.gt(0))
    name: str = ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Options()),
        ({"count": 3}, Options(count=3)),
        ({"count": "3", "pause_seconds": "0.25"}, Options(count=3, pause_seconds=0.25)),
        ({"pause_seconds": 2}, Options(pause_seconds=2)),
        ({"name": "7"}, Options(name="7")),
    ],
)
def test_options_are_read_from_text_and_values(given: dict[str, Any], expected: Options) -> None:
    options = build_options(Options, given, "here")
    assert options == expected
    assert [type(value) for value in given.values() if not isinstance(value, str)] == [
        type(getattr(options, key)) for key, value in given.items() if not isinstance(value, str)
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pause_seconds": "inf"}, "option 'pause_seconds' of here takes a finite number, not inf"),
        ({"colour": 1}, "here has no option 'colour'; it has: count, pause_seconds, name"),
        ({"count": "x"}, "option 'count' of here takes a whole number, not 'x'"),
        ({"count": "2.5"}, "option 'count' of here takes a whole number, not '2.5'"),
        ({"pause_seconds": "soon"}, "option 'pause_seconds' of here takes a number, not 'soon'"),
        ({"count": -1}, "here: 'count' must be >= 0: -1"),
        ({"pause_seconds": "nan"}, "option 'pause_seconds' of here takes a finite number, not nan"),
        ({"count": None}, "option 'count' of here takes a whole number, not None"),
        ({"count": 1.5}, "option 'count' of here takes a whole number, not 1.5"),
        ({"count": True}, "option 'count' of here takes a whole number, not True"),
    ],
)
def test_a_wrong_option_says_what_is_wrong(given: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError) as refused:
        build_options(Options, given, "here")
    assert str(refused.value).startswith(told)


def test_a_backends_options_name_the_backend() -> None:
    with pytest.raises(OptionError, match="membership 'scamp' has no option 'd'; it has: c, "):
        find_backend("scamp").parse_options({"d": 1})
    with pytest.raises(OptionError, match="membership 'scamp': 'c' must be >= 0"):
        find_backend("scamp").parse_options({"c": "-1"})
