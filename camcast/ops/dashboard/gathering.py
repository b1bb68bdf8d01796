"""Moments: the answers of many processes, put together for a dashboard.

A *moment* is plain data, as JSON has it: when it was taken, in seconds since 1970, and a *node* for
each control socket, of those fields of `camcast.observe.stats` that the page needs. Processes are
asked over their control sockets (`camcast.live.control_socket`); each pays for a snapshot at a
moment, and for nothing between two.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from camcast.live.control_socket import Connection, ControlError

ASKED_AT_ONCE: Final = 16  # chosen: a process that hangs delays a sixteenth of the others
ANSWER_SECONDS: Final = 2.0  # chosen: as long as the page waits for a new moment
COUNTERS: Final = (
    *("events", "duplicates", "parasites", "published", "unpublished", "missed", "told_missed"),
    *("event_copies_sent", "upward_sent", "repaired", "repairs_sent"),
)
_REPAIR: Final = ("haves_sent", "wants_sent", "holes")

Moment = dict[str, Any]


def sockets_of(paths: Iterable[Path]) -> list[Path]:
    """Return the control sockets that are meant: each path, or all sockets in a folder, by name."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(one for one in path.iterdir() if one.is_socket())
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def gather(sockets: Sequence[Path]) -> Moment:
    """Ask every process, and return the moment; a silent one's node has an ``error``."""
    taken = time.time()
    with ThreadPoolExecutor(ASKED_AT_ONCE, thread_name_prefix="camcast-dashboard") as asking:
        return {"taken": taken, "nodes": list(asking.map(_node, sockets))}


def status_of_all(sockets: Sequence[Path]) -> dict[Path, dict[str, Any] | str]:
    """Ask every process for its snapshot; of a silent one, return why there is none."""

    def status(socket: Path) -> dict[str, Any] | str:
        try:
            with Connection(socket, ANSWER_SECONDS) as connection:
                snapshot: dict[str, Any] = connection.ask("status")
                return snapshot
        except ControlError as error:
            return str(error)

    with ThreadPoolExecutor(ASKED_AT_ONCE, thread_name_prefix="camcast-doctor") as asking:
        return dict(zip(sockets, asking.map(status, sockets), strict=True))


def _node(socket: Path) -> dict[str, Any]:
    try:
        with Connection(socket, ANSWER_SECONDS) as connection:
            status: dict[str, Any] = connection.ask("status")
            peers: list[dict[str, Any]] = connection.ask("peers")
    except ControlError as error:
        return {"socket": str(socket), "error": str(error)}
    counters = status["counters"]
    return {
        "socket": str(socket),
        **{key: status[key] for key in ("peer", "address", "process", "up_seconds")},
        "suspects": status["liveness"]["suspects"],
        "discovery": status["discovery"]["state"],
        "conditions": [
            {key: one[key] for key in ("name", "about", "ok", "says", "do", "because", "since")}
            for one in status["conditions"]
            if one["stage"] == "lasting"
        ],
        "counters": {key: counters[key] for key in COUNTERS}
        | {
            "bytes_received": counters["input"]["bytes_received"],
            "bytes_sent": counters["outputs"]["bytes_sent"],
            "records_dropped": counters["outputs"]["records_dropped"],
        },
        "communities": [
            {
                key: one[key]
                for key in (
                    *("topic", "state", "size", "peers", "published", "delivered", "missed"),
                    *("latency_ms_p50", "latency_ms_p99"),
                )
            }
            | {
                "supers": [link["super_topic"] for link in one["links"]],
                **{key: (one["repair"] or {key: 0})[key] for key in _REPAIR},
            }
            for one in status["communities"]
        ],
        "peers": [
            {key: one[key] for key in ("peer", "address", "state", "tables", "holds", "links")}
            for one in peers
        ],
    }
