"""Suppresses the warnings of simulated processes, which are for operators."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_unheard() -> Iterator[None]:
    """Log errors only within the context, unless logging is set to more than warnings (``-v``).

    Crashes and loss are expected in a simulation: the warnings of a hundred processes about lost
    neighbours would hide its results.
    """
    before = logging.root.manager.disable
    if not logging.getLogger("camcast").isEnabledFor(logging.INFO):
        logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)
