"""The base class of all errors that this library makes."""

from __future__ import annotations


class CamcastError(Exception):
    """What goes wrong in CAMCAST, for who catches all of it at once.

    Each error has a second base that says of what kind it is, such as `ValueError`, `TimeoutError`
    or `OSError`.
    """
