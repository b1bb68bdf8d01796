"""Events as lines: JSON for programs, or a format that a person or a script has chosen.

A format is text with the names of fields in braces, such as ``{published} {topic} {payload}``. It
names fields and nothing else: no attribute or index of one can be reached.
"""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from datetime import datetime
from string import Formatter
from typing import Final

from attrs import frozen

from camcast.cli.output import json_line
from camcast.cli.printed import BytesEvent, EventLine, TextEvent, TypedEvent
from camcast.doors.options import OptionError
from camcast.inbox.received import Received
from camcast.observe.condition_table import utc
from camcast.vocabulary.printable import printable
from camcast.vocabulary.typed import Sent

FIELDS: Final = ("published", "topic", "id", "hops", "payload")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_UNITS)})")


def json_of(received: Received) -> TextEvent | BytesEvent | TypedEvent:
    """Return the JSON object of an event."""
    line = EventLine(topic=received.topic.name, id=str(received.id), hops=received.hops)
    if received.late:
        line["late"] = True
    if received.key is not None:
        try:
            line["key"] = received.key.decode()
        except UnicodeDecodeError:
            line["key_base64"] = base64.b64encode(received.key).decode()
    if received.deleted:
        line["deleted"] = True
    if isinstance(received.value, Sent):
        return {**line, "class": received.value.classes[0], "value": received.value.fields}
    try:
        return {**line, "payload": received.payload.decode()}
    except UnicodeDecodeError:
        return {**line, "payload_base64": base64.b64encode(received.payload).decode()}


@frozen
class Format:
    """A format of lines; made by `parse`."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Format:
        """Check a format; raises `OptionError`."""
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise OptionError(f"--format {text!r}: {error}; write {{{{ for a brace") from None
        for _, name, spec, conversion in parts:
            if name is not None and (name not in FIELDS or spec or conversion):
                known = " ".join(f"{{{one}}}" for one in FIELDS)
                raise OptionError(f"--format takes {known}, and not {{{name}}} as in {text!r}")
        return cls(text)

    def line(self, received: Received) -> str:
        """Return the line of an event, a newline within its payload escaped.

        A typed event has its fields as JSON for a payload; one that is no UTF-8 has base64.
        """
        if isinstance(received.value, Sent):
            payload = json_line(received.value.fields)
        else:
            try:
                payload = received.payload.decode()
            except UnicodeDecodeError:
                payload = base64.b64encode(received.payload).decode()
        return self.text.format(
            published=utc(received.published),
            topic=received.topic.name,
            id=received.id,
            hops=received.hops,
            payload=printable(payload),
        )


def time_of(text: str, option: str = "--since") -> float | datetime:
    """Read a number of seconds ago, a duration or a time in ISO 8601; raises `OptionError`."""
    with suppress(ValueError):
        if (seconds := float(text)) >= 0:  # also without end
            return seconds
    with suppress(ValueError):
        when = datetime.fromisoformat(text)
        return when if when.tzinfo is not None else when.astimezone()
    if _DURATION.fullmatch(text):
        return seconds_of(text, option)
    raise OptionError(
        f"{option} takes seconds such as 30, a duration such as 8h or a time such as"
        f" 2026-11-27T08:00Z, not {text!r}"
    )


def seconds_of(duration: str, option: str) -> float:
    """Read a duration such as ``30s``; raises `OptionError`."""
    found = _DURATION.fullmatch(duration)
    if found is None or not float(found[1]):
        raise OptionError(
            f"{option} takes a duration above 0 such as 500ms, 30s, 5min or 2h, not {duration!r}"
        )
    return float(found[1]) * _UNITS[found[2]]
