"""The logger of a module: what a handler or a filter of the log raises does not reach the module.

Parts log in the midst of a step of their state machine, which an exception would leave half done.
Python's own handlers catch what goes wrong while they write; a handler of an application may raise
in `handle` or `emit`, and so may a filter.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

from typing_extensions import override


class Logger(logging.LoggerAdapter[logging.Logger]):
    """Logs as the logger of a name does; an exception on the way is printed, as Python does it."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.getLogger(name), None)

    @override
    def process(self, msg: Any, kwargs: Any) -> tuple[Any, Any]:
        return msg, kwargs

    @override
    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a line; raises nothing but `KeyboardInterrupt`."""
        try:
            if self.logger.isEnabledFor(level):
                # The line is that of the caller, not this one.
                self.logger.log(level, msg, *args, **{**kwargs, "stacklevel": 2})
        except KeyboardInterrupt:
            raise
        except BaseException:
            if logging.raiseExceptions and sys.stderr is not None:
                traceback.print_exc()
