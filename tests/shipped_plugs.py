"""The plugs that CAMCAST ships: what else is installed in an environment changes no test."""

from __future__ import annotations

from importlib.metadata import distribution


def shipped(group: str) -> list[str]:
    """Return the names of CAMCAST's own plugs in an entry-point group, in alphabetical order."""
    return sorted(distribution("camcast").entry_points.select(group=group).names)
