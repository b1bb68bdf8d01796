"""Plugs: how a membership backend or a discovery is found by its name.

A membership backend is an entry point in the group ``camcast.membership`` that names a
`Backend`; a discovery is one in ``camcast.overlays`` that names a `Discovery` class. Our own
use the same doors as a third party's.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from camcast.doors.discovery import DiscoveryFactory
from camcast.doors.membership import Backend


class UnknownPlugError(LookupError):
    """No plug has this name; the message lists those that are installed."""

    def __str__(self) -> str:
        return str(self.args[0])


MEMBERSHIP_GROUP = "camcast.membership"
OVERLAY_GROUP = "camcast.overlays"


def _plug(group: str, kind: str, name: str) -> Any:
    known = entry_points(group=group)
    for entry in known:
        if entry.name == name:
            return entry.load()
    names = ", ".join(sorted(entry.name for entry in known)) or "none"
    raise UnknownPlugError(f"unknown {kind} {name!r}; installed: {names}")


def find_backend(name: str) -> Backend:
    """Return the membership backend of this name; `UnknownPlugError` lists the known ones."""
    backend = _plug(MEMBERSHIP_GROUP, "membership", name)
    assert isinstance(backend, Backend), f"entry point {name!r} is not a Backend"
    return backend


def find_discovery(name: str) -> DiscoveryFactory:
    """Return the discovery of this name; `UnknownPlugError` lists the known ones."""
    factory: DiscoveryFactory = _plug(OVERLAY_GROUP, "discovery", name)
    return factory
