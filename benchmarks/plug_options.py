"""Options that tests and benchmarks share: which backends, which protocols.

`--membership=scamp,hybrid` restricts the contract suites to these backends (and to the
discoveries that they use), and says which ones are measured; `--protocol` does so for the
dissemination protocols. The folders differ in what they do without: see their conftest.py.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence

import pytest

from camcast.doors.plugs import MEMBERSHIP_GROUP, PROTOCOL_GROUP, find_backend, installed


def names_among(kind: str, known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a reader of names separated by commas, for argparse: each must be known."""

    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        for name in names:
            if name not in known:
                raise ArgumentTypeError(f"unknown {kind} {name!r}; there is: {', '.join(known)}")
        return list(dict.fromkeys(names))

    return read


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("camcast")
    memberships, protocols = installed(MEMBERSHIP_GROUP), installed(PROTOCOL_GROUP)
    group.addoption(
        "--membership",
        metavar="NAMES",
        type=names_among("membership", memberships),
        help="backends, separated by commas: which the contract suites run (all), and which are"
        f" measured (scamp); there is: {', '.join(memberships)}",
    )
    group.addoption(
        "--protocol",
        metavar="NAMES",
        type=names_among("protocol", protocols),
        help="dissemination protocols to measure, separated by commas (camcast); there is:"
        f" {', '.join(protocols)}",
    )


def chosen(config: pytest.Config, option: str) -> list[str] | None:
    """Return the names that an option was given, None without it."""
    names: list[str] | None = config.getoption(option)
    return names


def discoveries_of(memberships: Sequence[str]) -> list[str]:
    """Return the discoveries that these backends use."""
    return sorted({find_backend(name).discovery for name in memberships})
