"""``camcast plugs``: the memberships, discoveries and protocols that are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import typer

from camcast.cli import options
from camcast.cli.failure import EXIT_FAILED
from camcast.cli.output import print_json, say
from camcast.cli.printed import PlugRow
from camcast.doors.plugs import (
    MEMBERSHIP_GROUP,
    OVERLAY_GROUP,
    PROTOCOL_GROUP,
    check_name,
    discovery_options,
    find_backend,
    find_discovery,
    find_protocol,
    installed,
)
from camcast.vocabulary.printable import shown


def plugs(json: options.Json = False) -> None:
    """List the plugs that are installed, load each, and say what is wrong with it.

    A plug is loaded and its options are made with their defaults; a membership's law of views is
    tried, and its discovery looked up. The contracts of camcast.testing try what a plug does. Exit
    code 1: something is wrong.
    """
    rows = list(_rows())
    if json:
        print_json(rows, "plugs/1")
    else:
        for row in rows:
            wrong = f"WRONG: {row['wrong']}" if row["wrong"] else f"of {row['module']}"
            say(f"{row['kind']:11}{row['name']:20}{wrong}")
    if any(row["wrong"] for row in rows):
        raise typer.Exit(EXIT_FAILED)


def _rows() -> Iterator[PlugRow]:
    for kind, group, check in _KINDS:
        for name in installed(group):
            module, wrong = "", None
            try:
                check_name(group, kind, name)
                module = check(name)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a plug may raise anything
                wrong = shown(error, str) or type(error).__name__
            yield PlugRow(kind=kind, name=name, module=module, wrong=wrong)


def _membership(name: str) -> str:
    backend = find_backend(name)
    made = backend.parse_options({})
    find_discovery(backend.discovery)
    sizes = (1.0, 10.0, 1e6)
    views = [backend.expected_view(made, size) for size in sizes]
    if backend.name != name:
        raise ValueError(f"it calls itself {backend.name!r}")
    possible = all(0 <= view <= size - 1 for view, size in zip(views, sizes, strict=True))
    if not possible or views != sorted(views):
        raise ValueError(f"it expects views of {views} in communities of 1, 10 and a million")
    return backend.keeper.__module__


def _discovery(name: str) -> str:
    found: Any = find_discovery(name)
    discovery_options(found, name, {})
    return str(found.__module__)


def _protocol(name: str) -> str:
    protocol = find_protocol(name)
    if protocol.name != name:
        raise ValueError(f"it calls itself {protocol.name!r}")
    if protocol.membership is not None:
        find_backend(protocol.membership)
    return type(protocol).__module__


_KINDS: Final[tuple[tuple[str, str, Callable[[str], str]], ...]] = (
    ("membership", MEMBERSHIP_GROUP, _membership),
    ("discovery", OVERLAY_GROUP, _discovery),
    ("protocol", PROTOCOL_GROUP, _protocol),
)
