"""Plugs: how a membership, a discovery or a protocol is found by its name.

A plug is an entry point of an installed package: in the group ``camcast.membership`` it names a
`Backend`, in ``camcast.overlays`` a `Discovery` class (or a function that makes one from its
context), in ``camcast.protocols`` a `Protocol` class, and in ``camcast.commands`` more commands of
``camcast`` (`camcast.cli.command_group`). The code of a plug is imported when its name
is asked for. Our own plugs are found in the same way as a third party's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from typing_extensions import override

from camcast.doors.discovery import DiscoveryFactory
from camcast.doors.membership import Backend
from camcast.doors.options import OptionError, build_options
from camcast.doors.protocol import Protocol
from camcast.vocabulary.errors import CamcastError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

MEMBERSHIP_GROUP: Final = "camcast.membership"
OVERLAY_GROUP: Final = "camcast.overlays"
PROTOCOL_GROUP: Final = "camcast.protocols"
COMMAND_GROUP: Final = "camcast.commands"
GATEWAYS: Final = "gateways"
"""The discovery of backends that work with any discovery; the configuration may name another."""


class UnknownPlugError(CamcastError, LookupError):
    """No plug has this name; the message lists those that are installed."""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


def installed(group: str) -> list[str]:
    """Return the names of the plugs in an entry-point group, in alphabetical order."""
    return sorted(_entry_points(group, *sys.path).names)


def find_backend(name: str) -> Backend:
    """Return the membership backend of this name.

    Raises `UnknownPlugError`, also if a package that it needs is missing, and `TypeError` if the
    entry point names something else.
    """
    backend = _load(MEMBERSHIP_GROUP, "membership", name)
    if not isinstance(backend, Backend):
        raise TypeError(f"the entry point {name!r} in {MEMBERSHIP_GROUP} is not a Backend")
    return backend


def find_discovery(name: str) -> DiscoveryFactory:
    """Return the discovery of this name; raises `UnknownPlugError`."""
    factory: DiscoveryFactory = _load(OVERLAY_GROUP, "discovery", name)
    return factory


def discovery_for(backend: Backend, name: str | None) -> DiscoveryFactory:
    """Return the discovery of this name for a backend; without a name, the backend's own.

    Raises `UnknownPlugError`, and `OptionError` if the backend works with its own discovery only.
    """
    if name not in (None, backend.discovery) and backend.discovery != GATEWAYS:
        raise OptionError(
            f"this membership finds strangers by {backend.discovery!r} alone, and not by {name!r};"
            " take one that is configured with gateways, such as 'scamp'"
        )
    return find_discovery(name or backend.discovery)


def discovery_options(factory: DiscoveryFactory, name: str, given: Mapping[str, object]) -> Any:
    """Build the options of a discovery of this name; None if it has none.

    Raises `OptionError` for an option it lacks, or a wrong value.
    """
    options = getattr(factory, "options", None)
    made = build_options(options or _NoOptions, given, f"discovery {name!r}")
    return None if options is None else made


@frozen
class _NoOptions:
    """The options of a discovery that has none."""


def find_protocol(name: str, options: Mapping[str, object] | None = None) -> Protocol:
    """Return the protocol of this name with its options.

    Raises `UnknownPlugError`, `OptionError` for an option it lacks or a wrong value, and
    `TypeError` if the entry point names something else.
    """
    kind = _load(PROTOCOL_GROUP, "protocol", name)
    if not (isinstance(kind, type) and issubclass(kind, Protocol)):
        raise TypeError(f"the entry point {name!r} in {PROTOCOL_GROUP} is not a Protocol class")
    protocol: Protocol = build_options(kind, options or {}, f"protocol {name!r}")
    return protocol


def membership_for(
    protocol: Protocol, name: str, given: Mapping[str, object] | None = None
) -> tuple[Backend, Any]:
    """Return the backend that a protocol runs on, and its options.

    The backend is the protocol's own if it has one (`Protocol.membership`), else that of the
    name. Raises `UnknownPlugError`, and `OptionError` also for an option that the protocol sets.
    """
    backend = find_backend(protocol.membership or name)
    fixed = protocol.membership_options()
    for option in given or {}:
        if option in fixed:
            raise OptionError(
                f"option {option!r} of membership {backend.name!r} is set by the protocol"
                f" {protocol.name!r}: give it as an option of that"
            )
    return backend, backend.parse_options({**(given or {}), **fixed})


def find_commands(name: str) -> Any:
    """Return the commands that an entry point of this name adds, a `typer.Typer`.

    Raises `UnknownPlugError`, also if a package that they need is missing.
    """
    return _load(COMMAND_GROUP, "commands", name)


# measured: 3.4 ms of CPU a time, 7 s for the thousand nodes of an experiment
@cache
def _entry_points(group: str, *path: str) -> EntryPoints:  # a changed `sys.path` is looked up again
    # Imported when used: its zipfile and email take a tenth of the time of `import camcast`.
    from importlib.metadata import entry_points

    return entry_points(group=group)


def _load(group: str, kind: str, name: str) -> Any:
    for entry in _entry_points(group, *sys.path):
        if entry.name == name:
            try:
                return entry.load()
            except ModuleNotFoundError as error:
                raise UnknownPlugError(
                    f"{kind} {name!r} needs the package {error.name!r}, which is not installed"
                ) from error
    names = ", ".join(installed(group)) or "none"
    raise UnknownPlugError(f"unknown {kind} {name!r}; installed: {names}")
