"""Plugs: how a membership, a discovery or a protocol is found by its name.

A plug is an entry point of an installed package: in the group ``camcast.membership`` it names a
`Backend`, in ``camcast.overlays`` a `Discovery` class (or a function that makes one from its
context), in ``camcast.protocols`` a `Protocol` class, and in ``camcast.commands`` more commands of
``camcast`` (`camcast.cli.command_group`). The code of a plug is imported when its name
is asked for.

CAMCAST's own plugs stand in tables (`SHIPPED_BY`), not in entry points: they are found where
nothing is installed, as in a frozen program or in a clone on the path, and without a walk over all
installed packages, which took half of the CPU of a start. A name is offered once. If two packages
offer it, whoever asks for the name gets an error. A package that offers a name of CAMCAST's never
takes its place, and `check_name`, which ``camcast plugs`` calls, says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from typing_extensions import override

from camcast.doors.contained import PlugError
from camcast.doors.discovery import Discovery, DiscoveryFactory
from camcast.doors.membership import Backend
from camcast.doors.options import OptionError, build_options
from camcast.doors.protocol import Protocol
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.printable import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MEMBERSHIP_GROUP: Final = "camcast.membership"
OVERLAY_GROUP: Final = "camcast.overlays"
PROTOCOL_GROUP: Final = "camcast.protocols"
COMMAND_GROUP: Final = "camcast.commands"
GATEWAYS: Final = "gateways"
"""The discovery of backends that work with any discovery; the configuration may name another."""


SHIPPED_BY: Final = ("camcast.shipped", "camcast.research.shipped")
"""The modules with the tables of CAMCAST's own plugs. A frozen program may lack research."""
CAMCAST: Final = "camcast"
"""The name of this distribution."""


class UnknownPlugError(CamcastError, LookupError):
    """No plug has this name; the message lists those that are installed."""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


class AmbiguousPlugError(UnknownPlugError):
    """Several installed packages offer a plug of this name; the message lists them."""


@frozen
class Offer:
    """A plug that a package offers."""

    name: str
    package: str
    """The name and version of the package; that of CAMCAST's own plugs is `CAMCAST`."""
    load: Callable[[], Any]
    """Imports the plug and returns it."""


def offers(group: str) -> tuple[Offer, ...]:
    """Return the plugs of a group that are installed, CAMCAST's own first."""
    return _offers(group, *sys.path)


def installed(group: str) -> list[str]:
    """Return the names of the plugs of a group, in alphabetical order."""
    return sorted(dict.fromkeys(offer.name for offer in offers(group)))


def shipped(group: str) -> list[str]:
    """Return the names of CAMCAST's own plugs of a group, in alphabetical order."""
    return sorted(_shipped(group))


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
    """Return the discovery of this name.

    Raises `UnknownPlugError`, and `TypeError` if the entry point names something else.
    """
    found = _load(OVERLAY_GROUP, "discovery", name)
    if not callable(found) or (isinstance(found, type) and not issubclass(found, Discovery)):
        raise TypeError(f"the entry point {name!r} in {OVERLAY_GROUP} is not a Discovery class")
    factory: DiscoveryFactory = found
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


# measured: 3.4 ms of CPU a time, 7 s for the thousand nodes of an experiment
@cache
def _offers(group: str, *path: str) -> tuple[Offer, ...]:  # a changed `sys.path` is looked up again
    # Imported when used: its zipfile and email take a tenth of the time of `import camcast`.
    from importlib.metadata import entry_points

    ours = [Offer(name, CAMCAST, load) for name, load in _shipped(group).items()]
    found = [
        Offer(entry.name, package, entry.load)
        for entry in entry_points(group=group)
        if (package := _package_of(entry)) != CAMCAST  # another version declared these
    ]
    return (*ours, *found)


def _package_of(entry: EntryPoint) -> str:
    """Return the name and version of the package that has an entry point."""
    package = entry.dist
    if package is None:
        return entry.value
    return CAMCAST if package.name == CAMCAST else f"{package.name} {package.version}"


def _shipped(group: str) -> Mapping[str, Callable[[], Any]]:
    return {name: load for table in _tables(group) for name, load in table.items()}


def _tables(group: str) -> Iterator[Mapping[str, Callable[[], Any]]]:
    """Yield the tables of CAMCAST's own plugs of a group; each is imported when it is reached."""
    for module in SHIPPED_BY:
        try:
            yield import_module(module).SHIPPED.get(group, {})
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise


def _load(group: str, kind: str, name: str) -> Any:
    if not isinstance(name, str):
        raise UnknownPlugError(f"a {kind} is given by its name, a text, and not as {name!r}")
    if (ours := _find_ours(group, name)) is not None:
        return load(ours, kind)
    check_name(group, kind, name)
    (found,) = (offer for offer in offers(group) if offer.name == name)
    return load(found, kind)


@lru_cache(maxsize=64)  # chosen: some twenty are shipped
def _find_ours(group: str, name: str) -> Offer | None:
    """Return CAMCAST's own plug of this name, found without looking through other packages."""
    for table in _tables(group):
        if name in table:
            return Offer(name, CAMCAST, table[name])
    return None


def check_name(group: str, kind: str, name: str) -> None:
    """Look through all installed packages for a plug of this name, which one is to offer.

    Raises `UnknownPlugError` if none does, and `AmbiguousPlugError` if several do.
    """
    packages = [offer.package for offer in offers(group) if offer.name == name]
    if not packages:
        names = ", ".join(installed(group)) or "none"
        raise UnknownPlugError(f"unknown {kind} {name!r}; installed: {names}")
    if len(packages) > 1:
        raise AmbiguousPlugError(
            f"{kind} {name!r} is offered by {' and by '.join(packages)}:"
            " a name means one plug, so uninstall all but one of these packages"
        )


def load(offer: Offer, kind: str) -> Any:
    """Import a plug that is offered.

    Raises `UnknownPlugError` if a package that it needs is missing, and `PlugError` for whatever
    else its import raises.
    """
    try:
        return offer.load()
    except ModuleNotFoundError as error:
        raise UnknownPlugError(f"{kind} {offer.name!r} {_missing(error.name or '')}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = f"{type(error).__name__}: {shown(error, str)}"
        raise PlugError(f"{kind} {offer.name!r} of {offer.package}", "import", "", why) from error


def _missing(module: str) -> str:
    """Return the words for a module that a plug needs and that cannot be imported."""
    top = module.partition(".")[0]
    ours, found = Path(__file__).parents[2], getattr(sys.modules.get(top), "__file__", None)
    if found and (ours / top).is_dir() and not Path(found).is_relative_to(ours / top):
        return f"needs CAMCAST's package {top!r}, which {found} hides: rename that"
    return f"needs the package {module!r}, which is not installed"
