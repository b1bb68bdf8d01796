"""The base class of all errors that this library makes."""

from __future__ import annotations


class CamcastError(Exception):
    """The base of every error of CAMCAST, to catch them all.

    Each error also derives from the built-in error of its kind, such as `ValueError`,
    `TimeoutError` or `OSError`.
    """
