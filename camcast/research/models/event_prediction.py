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
    """The probability that all living interested processes have the event."""
    messages: float
    """Copies sent, the lost ones included."""
    parasite_copies: float
    """Copies that arrive at a living process that is not interested."""

    def as_json(self) -> dict[str, Any]:
        """Return the measures as a JSON object."""
        return attrs.asdict(self)

    def in_words(self) -> str:
        """Say for people which equations were used; empty if all settings use the same ones."""
        return ""
