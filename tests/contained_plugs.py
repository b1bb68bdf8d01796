"""The plugs that nodes hold contained: tests look inside."""

from typing import Any


def plug_of(contained: Any) -> Any:
    """Return the plug itself."""
    return contained._plug
