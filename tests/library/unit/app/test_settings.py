"""The settings of a process: one record, which keywords, options and docs agree with."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import attrs
import pytest

from camcast import CommunityManager, CommunitySettings, OptionError, Parameters
from camcast.app.settings import Contacts, Listening, Option, ProcessSettings, Security, Spread
from camcast.cli.option_group import grouped
from camcast.cli.process_options import WRITTEN

LIVE = ("trace", "pipes", "rng")
"""What a manager is given that is no setting."""


def fields_of(record: Any) -> dict[str, tuple[Any, Any]]:
    """Return the type and the default of each field of a record and of the layers in it."""
    found: dict[str, tuple[Any, Any]] = {}
    hints = get_type_hints(type(record))
    for one in attrs.fields(type(record)):
        value = getattr(record, one.name)
        if attrs.has(type(value)):
            inner = fields_of(value)
            assert not inner.keys() & found.keys(), "each setting has a name of its own"
            found |= inner
        else:
            found[one.name] = hints[one.name], value
    return found


SETTINGS = fields_of(ProcessSettings())


def test_the_manager_takes_each_setting_as_a_keyword_of_the_same_type_and_default() -> None:
    taken = inspect.signature(CommunityManager.__init__).parameters
    hints = get_type_hints(CommunityManager.__init__)
    keywords = {
        name: (hints[name], one.default)
        for name, one in taken.items()
        if name not in ("self", *LIVE)
    }
    assert keywords == SETTINGS


def test_the_manager_describes_each_keyword() -> None:
    text = inspect.getdoc(CommunityManager) or ""
    listed = re.findall(r"^    (\w+): ", text[text.index("Args:") : text.index("Example:")], re.M)
    assert sorted(listed) == sorted((*SETTINGS, *LIVE))


def test_settings_by_their_names_are_those_of_the_layers() -> None:
    assert ProcessSettings.of() == ProcessSettings()
    assert ProcessSettings.of(
        bind="tcp://127.0.0.1:1", passphrase="x", membership="dht", repair=False, control=Path("c")
    ) == ProcessSettings(
        listening=Listening(bind="tcp://127.0.0.1:1"),
        security=Security(passphrase="x"),
        contacts=Contacts(membership="dht"),
        spread=Spread(repair=False),
        control=Path("c"),
    )
    with pytest.raises(TypeError, match="bnd"):
        ProcessSettings.of(bnd="tcp://127.0.0.1:1")


def test_each_setting_is_an_option_or_is_written_by_hand() -> None:
    def command(settings: ProcessSettings = ProcessSettings()) -> None: ...  # noqa: B008 # grouped() reads it

    options = inspect.signature(grouped(command)).parameters
    by_hand = {one.name for group in WRITTEN.values() for one in attrs.fields(type(group))}
    assert options.keys() == SETTINGS.keys() - WRITTEN.keys() | by_hand


def test_some_settings_of_communities_are_settings_beside_the_parameters() -> None:
    spread = Spread(parameters=Parameters(c=2), retention_seconds=7, spread="tree")
    assert spread.community() == CommunitySettings(c=2, retention_seconds=7, spread="tree")
    own = CommunitySettings(retention_seconds=9, check_seconds=1)
    assert Spread(parameters=own).community() == own
    assert Spread(parameters=own, retention_seconds=3).community().retention_seconds == 3
    assert Spread(event_bytes_max=2 << 20).community() == CommunitySettings(event_bytes_max=2 << 20)
    with pytest.raises(ValueError, match="event_bytes_max"):
        Spread(event_bytes_max=1000).community()
    with pytest.raises(ValueError, match="retention_seconds"):
        Spread(retention_seconds=601).community()


def test_a_tree_needs_repair() -> None:
    for wrong in (
        Spread(spread="tree", repair=False),
        Spread(parameters=CommunitySettings(spread="tree"), repair=False),
    ):
        with pytest.raises(OptionError, match="'tree' goes with repair"):
            wrong.community()


def test_every_option_says_what_it_is_for() -> None:
    for layer in (Listening, Security, Contacts, Spread, ProcessSettings):
        for one in attrs.fields(layer):
            if one.metadata:
                assert Option.of(one).help.endswith((".", "120.")), one.name
