"""The doors: plugs found by name, also a third party's, and their options."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from enum import IntEnum
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen, validators

from camcast.doors.contained import PlugError
from camcast.doors.membership import Backend
from camcast.doors.options import OptionError, build_options
from camcast.doors.plugs import (
    MEMBERSHIP_GROUP,
    OVERLAY_GROUP,
    PROTOCOL_GROUP,
    AmbiguousPlugError,
    UnknownPlugError,
    check_name,
    find_backend,
    find_discovery,
    find_protocol,
    installed,
    shipped,
)
from camcast.shipped import SHIPPED
from membership.scamp import scamp
from overlays.gateways import GatewayDiscovery
from tests.python_process import output_of, python


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


def install(site: Path, package: str, entry_points: str) -> None:
    """Install a package as pip would, with a dist-info folder."""
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of packages, with a module that has a backend."""
    (tmp_path / "camcast_third_party.py").write_text(THIRD_PARTY.format(name="everybody"))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def third_party(site: Path) -> str:
    """Install a package; return its backend's name."""
    install(
        site,
        "third_party",
        "[camcast.membership]\neverybody = camcast_third_party:BACKEND\n"
        "wrong = camcast_third_party:lighthouse\n"
        "[camcast.overlays]\nlighthouse = camcast_third_party:lighthouse\n",
    )
    return "everybody"


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


def test_an_entry_point_that_is_no_discovery_is_refused_by_name(site: Path) -> None:
    install(site, "wrong", "[camcast.overlays]\na-class = builtins:int\na-value = os:sep\n")
    for name in ("a-class", "a-value"):
        with pytest.raises(TypeError, match=rf"'{name}' in camcast\.overlays is not a Discovery"):
            find_discovery(name)


FIND: dict[str, Callable[[str], object]] = {
    MEMBERSHIP_GROUP: find_backend,
    OVERLAY_GROUP: find_discovery,
    PROTOCOL_GROUP: find_protocol,
}


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group in FIND for name in shipped(group)]
)
def test_no_package_takes_a_name_of_ours(group: str, name: str, site: Path) -> None:
    install(site, "taker", f"[{group}]\n{name} = camcast_third_party:BACKEND\n")
    says = rf"'{name}' is offered by camcast and by taker 1\.0"
    with pytest.raises(AmbiguousPlugError, match=says):
        check_name(group, "plug", name)
    assert FIND[group](name) is not None  # not theirs, whose module there is not
    assert installed(group) == shipped(group)


def test_no_package_takes_the_name_of_another(site: Path) -> None:
    for package in ("one", "other"):
        install(site, package, "[camcast.membership]\neverybody = camcast_third_party:BACKEND\n")
    with pytest.raises(AmbiguousPlugError) as refused:
        find_backend("everybody")
    assert "one 1.0" in str(refused.value)
    assert "other 1.0" in str(refused.value)


def test_another_version_of_ours_on_the_path_takes_no_name(site: Path) -> None:
    install(site, "camcast", "[camcast.membership]\nscamp = camcast_third_party:BACKEND\n")
    assert find_backend("scamp") is scamp.BACKEND


@pytest.mark.parametrize(
    "source",
    [
        "1 / 0",
        "import no_such_module",
        "raise SystemError",
        "x =",
        "exit(3)",
        "raise BaseException",
    ],
)
def test_what_the_import_of_a_plug_raises_names_the_plug(site: Path, source: str) -> None:
    (site / "breaks.py").write_text(source)
    install(site, "broken", "[camcast.membership]\nbroken = breaks:BACKEND\n")
    with pytest.raises((PlugError, UnknownPlugError), match="membership 'broken'") as refused:
        find_backend("broken")
    assert refused.value.__cause__ is not None


BARE = """
from importlib import metadata
metadata.entry_points = lambda **_: ()  # as where nothing is installed
from camcast.doors.plugs import *
print(*installed(MEMBERSHIP_GROUP), *installed(OVERLAY_GROUP), *installed(PROTOCOL_GROUP))
print(find_backend("scamp").name, find_protocol("camcast").name, len(offers(COMMAND_GROUP)))
"""


WITHOUT_A_WALK = """
import sys
from importlib import metadata
walks = []
entry_points = metadata.entry_points
metadata.entry_points = lambda **group: walks.append(group) or entry_points(**group)
import camcast
camcast.CommunityManager()
print(len(walks))
try:
    camcast.CommunityManager("nobody")
except camcast.UnknownPlugError:
    print(walks)
"""


def test_ours_are_found_without_a_walk_over_packages_and_others_by_one() -> None:
    assert output_of("-c", WITHOUT_A_WALK).splitlines() == [
        "0",
        "[{'group': 'camcast.membership'}]",
    ]


def test_ours_are_found_where_nothing_is_installed() -> None:
    names = [name for group in FIND for name in shipped(group)]
    assert output_of("-c", BARE).splitlines() == [" ".join(names), "scamp camcast 1"]


def test_imports_lead_from_the_library_to_all_its_plugs_and_not_to_research() -> None:
    """So a tool that freezes programs finds modules: it follows the imports in their code."""
    found = ["camcast"]
    for module in found:  # which grows
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        for name in imported(Path(spec.origin).read_text()):
            ours = name.partition(".")[0] in ("camcast", "membership", "overlays")
            if ours and name not in found and is_module(name):
                found.append(name)
    plugs = [load() for group in SHIPPED.values() for load in group.values()]
    assert len(plugs) >= 9
    assert {getattr(plug, "keeper", plug).__module__ for plug in plugs} <= {*found}
    assert not [name for name in found if name.startswith("camcast.research")]


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of something within a module
        return False


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_module_that_hides_a_package_of_ours_is_named(tmp_path: Path) -> None:
    hiding = tmp_path / "membership.py"
    hiding.write_text("")
    done = python("-c", "import camcast; camcast.CommunityManager()", cwd=tmp_path)
    assert f"needs CAMCAST's package 'membership', which {hiding} hides" in done.stderr


class Count(IntEnum):
    """Whole numbers of a type of their own, as those of numpy are."""

    ONE = 1


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
    own: dict[str, Any] = {"count": Count.ONE, "pause_seconds": Fraction(1, 4)}
    made = build_options(Options, own, "here")
    assert (type(made.count), type(made.pause_seconds)) == (int, float)
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
