"""The mean measures that every model of a single event in one group predicts."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import frozen


@frozen(kw_only=True)
class EventPrediction:
    """The measures that the models of all systems have; each model adds some."""

    reception: float
    """The share of the living interested that have the event, the publisher included."""
    reliability: float
    """The probability that all of them have it."""
    messages: float
    """Copies sent, whatever becomes of them."""
    parasite_copies: float
    """Copies that arrive at a living process that is not interested."""

    def as_json(self) -> dict[str, Any]:
        """Return the measures as JSON takes them."""
        return attrs.asdict(self)

    def in_words(self) -> str:
        """Name the equations of the prediction, for people, if they depend on the setting."""
        return ""
