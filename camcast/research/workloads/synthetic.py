"""A synthetic workload: one topic, equal payloads, at a steady rate."""

from __future__ import annotations

from camcast.research.workloads.publication import Publication, opaque_payload
from camcast.vocabulary.topics import Topic


def synthetic(
    topic: Topic, events: int, rate: float | None, payload_bytes: int
) -> list[Publication]:
    """Make `events` publications of `payload_bytes` bytes, `rate` of them per second.

    The first publication is at 0 s; without a rate, all are. Each payload begins with the number of
    the event, from 0, as far as it fits. Equal arguments make equal workloads.

    Raises `ValueError` when `events` or `payload_bytes` is negative or `rate` not above 0.
    """
    if events < 0 or payload_bytes < 0 or (rate is not None and not rate > 0):
        raise ValueError(
            f"{events=}, {rate=}, {payload_bytes=}: give 0 or more events and bytes,"
            " and a rate above 0 per second or None"
        )
    return [
        Publication(
            at_seconds=event / rate if rate else 0.0,
            topics=(topic,),
            payload=opaque_payload(str(event), payload_bytes),
        )
        for event in range(events)
    ]
