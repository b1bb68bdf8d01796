"""Options that are probabilities or shares: 0.3, or 30%."""

from __future__ import annotations

from typing import Any

import typer


def probability_option(meaning: str) -> Any:
    """Return the annotation of an option that is named as its parameter."""
    return typer.Option(parser=_probability, metavar="SHARE", help=meaning)


def _probability(given: str | float) -> float:
    """Read a probability, or a default, which comes as a number."""
    text = str(given).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is no probability; write 0.3 or 30%, from 0 to 1")
    return value
