"""Fields that cannot travel are named, with their types, wherever they are in a class."""

from __future__ import annotations

import collections
import fractions
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from camcast.vocabulary.travelling_types import untravelling
from camcast.vocabulary.typed import TypedEventError, check_travels


@dataclass
class Inner:
    where: fractions.Fraction
    again: Inner | None = None


class Shown(Protocol):
    """No check at run time tells what this is."""

    text: str


@dataclass
class Mixed:
    name: str
    anything: Any
    whatever: object
    counts: collections.Counter[str]
    parts: dict[str, list[Inner]]
    shown: Shown
    maybe: complex | None = None


def test_each_field_is_named_by_its_path_with_its_type() -> None:
    assert untravelling(Mixed) == [
        "counts: collections.Counter",
        "parts.where: fractions.Fraction",
        f"shown: {__name__}.Shown",
        "maybe: complex",
    ]
    with pytest.raises(TypedEventError, match=r"Mixed cannot travel.*counts: collections.Counter"):
        check_travels(Mixed)
