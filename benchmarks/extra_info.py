"""What benchmarks of multicast write alike in `extra_info`, flat; docs/benchmarks.md has the names.

A value is a number, a text, or None where it makes no sense or is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from camcast import Parameters

Value = float | str | None


def redundancy(messages: int, deliveries: int, published: int) -> float:
    """Return the copies sent for each that somebody other than a publisher needed; 1 is a tree."""
    return messages / max(1, deliveries - published)


def conditions(parameters: Parameters, options: Mapping[str, object]) -> dict[str, Any]:
    """Return parameters as ``parameter_c``, and the membership's options as ``option_c``."""
    given = {f"parameter_{name}": value for name, value in attrs.asdict(parameters).items()}
    return given | {f"option_{name}": value for name, value in options.items()}
