"""The log of a process: a line for each happening that has one in the table of kinds.

The level INFO is for the person who operates the process: it joined, is alone, is isolated or
healed, has links or none, a gateway is lost or back. DEBUG adds the tables and the searches. Every
record of the log has the happening's fields in its attribute ``camcast``, for programs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from camcast.observe.condition_table import counted
from camcast.observe.recent import Told
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.happenings import PROCESS_KINDS, Happening
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.topics import GroupId

_log = Logger(__name__)


class HappeningLog:
    """Writes the happenings of one process to the log."""

    def __init__(self, me: Callable[[], Contact], clock: Clock, *, remembers: bool = False) -> None:
        self._remembers = remembers
        self._me = me
        self._clock = clock
        self._linked: dict[GroupId, None] = {}
        """The groups whose super-topic tables have entries."""

    def take(self, happening: Happening, topic: str, now: float) -> Told | None:
        """Log a happening in a community; `topic` is empty if it is about none.

        Returns what is to be remembered, with `remembers`: what is logged at INFO or above, and
        changes.
        """
        row, group = PROCESS_KINDS[happening.kind], happening.group
        line = row.log
        if line is None:
            return None
        level = line.level
        if happening.kind in ("unlinked", "left"):
            self._linked.pop(group, None)
        elif happening.kind == "linked" and group not in self._linked:
            level = logging.INFO  # the table was empty
            self._linked[group] = None
        remembered = self._remembers and (level >= logging.INFO or row.change is not None)
        logged = _log.isEnabledFor(level)
        if not logged and not remembered:
            return None
        values = self._values(happening, now)
        fields: dict[str, object] = {"event": happening.kind}
        if topic:
            fields["topic"] = topic
        fields |= {name: values[name] for name in line.fields}
        values["gateways"] = ", ".join(happening.addresses)
        said = line.text.format(topic=topic, **values)
        if logged:
            _log.log(level, "%s", said, extra={"camcast": fields})
        return Told(self._clock.wall(now), happening.kind, topic, said) if remembered else None

    def _values(self, happening: Happening, now: float) -> dict[str, object]:
        """Return what fields and texts of the table may name."""
        contact, after = happening.contact, self._clock.wall(now)
        return {
            "of": None if happening.topic is None else happening.topic.name,
            "contact": contact,
            "peer": None if contact is None else contact.peer.hex(),
            "address": None if contact is None else contact.address,
            "gateways": happening.addresses,
            "count": happening.count,
            "peers": counted(happening.count, "peer"),
            "seconds": happening.seconds,
            "silent": happening.silent,
            "silently": ", silent" if happening.silent else "",
            "from": _utc(after - happening.seconds),
            "to": _utc(after),
            "me": self._me(),
        }


def _utc(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
