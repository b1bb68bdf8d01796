"""The workload of an experiment, the table ``[workload]`` of a scenario file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import field, frozen, validators

from camcast.research.workloads import (
    Publication,
    load_departures,
    load_earthquakes,
    load_usenet,
    synthetic,
)
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX

KINDS: Final = ("synthetic", "departures", "usenet", "earthquakes")
FILE_KINDS: Final = ("usenet", "earthquakes")  # nothing is shipped for these

EVENTS: Final = 100  # chosen: of a synthetic workload; one lost copy shows as 1 %
PAYLOAD_BYTES: Final = 256  # chosen: the payload of all our measurements


def workload_of(text: str, kinds: Sequence[str] = KINDS) -> dict[str, Any]:
    """Read KIND[:FILE] as the fields of `Workload`; raises `ValueError` for no kind of these."""
    kind, colon, file = text.partition(":")
    if kind not in kinds:
        raise ValueError(f"unknown workload {kind!r}; known: {', '.join(kinds)}")
    return {"kind": kind, "file": Path(file) if colon else None}


@frozen(kw_only=True)
class Workload:
    """The description of publications, which `load` makes. Raises `ValueError` if it is wrong."""

    kind: str = field(default="synthetic", validator=validators.in_(KINDS))
    file: Path | None = None
    """The events of usenet and earthquakes, in the formats of `camcast.research.workloads`."""
    topic: Topic = ROOT
    """The topic of a synthetic workload."""
    events: int | None = field(default=None, validator=validators.optional(validators.ge(1)))
    """How many publications are used, the first ones; None: all, or `EVENTS` synthetic ones."""
    rate: float | None = field(default=None, validator=validators.optional(validators.gt(0)))
    """Synthetic events per second; None: as fast as possible."""
    payload_bytes: int = field(
        default=PAYLOAD_BYTES, validator=[validators.ge(0), validators.le(PAYLOAD_BYTES_MAX)]
    )
    """Size of a synthetic payload."""
    speed: float = field(default=1.0, validator=validators.gt(0))
    """How many seconds of the workload pass in one second of the experiment."""
    gap_seconds_max: float | None = field(
        default=None, validator=validators.optional(validators.gt(0))
    )
    """The longest pause of the workload in its own seconds, others are cut; None: none is cut."""

    def __attrs_post_init__(self) -> None:
        if self.kind in FILE_KINDS and self.file is None:
            raise ValueError(f"the workload {self.kind} needs a file")
        if self.kind not in FILE_KINDS and self.file is not None:
            raise ValueError(f"the workload {self.kind} takes no file")
        if self.kind != "synthetic" and self.rate is not None:
            raise ValueError(
                f"the workload {self.kind} has times of its own; give a speed, no rate"
            )

    def load(self) -> list[Publication]:
        """Return the publications, at the times of the experiment, the first at 0 s.

        Raises `WorkloadError` for a file that is not in its format.
        """
        match self.kind:
            case "departures":
                publications = load_departures()
            case "usenet":
                assert self.file is not None
                publications = load_usenet(self.file)
            case "earthquakes":
                assert self.file is not None
                publications = load_earthquakes(self.file)
            case _:
                publications = synthetic(
                    self.topic, self.events or EVENTS, self.rate, self.payload_bytes
                )
        gap_max = self.gap_seconds_max or math.inf
        timed, last, now = [], 0.0, 0.0
        for publication in publications[: self.events]:
            now += min(publication.at_seconds - last, gap_max) / self.speed
            last = publication.at_seconds
            timed.append(attrs.evolve(publication, at_seconds=now))
        return timed


def digest(publications: list[Publication]) -> str:
    """Return the SHA-256 of all publications; two runs with the same one published the same."""
    sha = hashlib.sha256()
    for publication in publications:
        sha.update(repr(publication).encode())
    return sha.hexdigest()
