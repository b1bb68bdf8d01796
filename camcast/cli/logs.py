"""The log of a command on stderr, beside its results: how much, as text or as JSON lines."""

from __future__ import annotations

import logging
from enum import StrEnum
from typing import Any, Final

from typing_extensions import override

from camcast.cli.output import json_line
from camcast.vocabulary.printable import printable

OURS: Final = ("camcast", "membership", "overlays")
"""The loggers of this project; of other packages only warnings are of use."""
_LEVELS: Final = (logging.NOTSET, logging.INFO, logging.DEBUG)
_FORMATS: Final = (
    "%(asctime)s %(levelname)s %(message)s",
    "%(asctime)s %(levelname)s %(message)s",
    "%(asctime)s %(levelname)s %(name)s: %(message)s",
)


class LogForm(StrEnum):
    """How a command logs."""

    TEXT = "text"
    JSON = "json"


class _TextLines(logging.Formatter):
    """One line for each record, its traceback below: a peer's text never begins a line."""

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:  # logging's name
        return printable(super().formatMessage(record))

    @override
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep="\n")


class _JsonLines(logging.Formatter):
    """One JSON object for each record: time, level, logger, message, and a notice's fields."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "camcast", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json_line(line)


class _Complaints:
    """Writes the complaints of the commands themselves, in the form that was chosen."""

    form = LogForm.TEXT

    def line(self, text: str, level: int) -> str:
        """Return a complaint as a line; only JSON has its level."""
        if self.form is LogForm.TEXT:
            # A second line, as of an interest with the place of the fault, is indented.
            return "camcast: " + "\n  ".join(map(printable, text.split("\n  ")))
        record = logging.LogRecord("camcast.cli", level, "", 0, "%s", (text,), None)
        return _JsonLines().format(record)


complaints: Final = _Complaints()


def set_up_logs(verbosity: int, form: LogForm) -> None:
    """Log warnings; with a verbosity of 1 also what operators want to know, with 2 everything."""
    level = min(verbosity, len(_LEVELS) - 1)
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines() if form is LogForm.JSON else _TextLines(_FORMATS[level]))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in OURS:
        logging.getLogger(name).setLevel(_LEVELS[level])
    complaints.form = form
