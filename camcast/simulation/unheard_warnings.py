"""Leaves out what simulated processes would warn their operators of."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_unheard() -> Iterator[None]:
    """Log errors only within the context, unless logging is set to more than warnings (``-v``).

    Whoever simulates crashes and loss knows of them: what each of a hundred processes says of the
    neighbours that it has lost would bury what the simulation found.
    """
    before = logging.root.manager.disable
    if not logging.getLogger("camcast").isEnabledFor(logging.INFO):
        logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)
