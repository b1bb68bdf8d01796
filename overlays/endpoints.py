"""Addresses of processes as endpoints, (host, port), and back."""

from __future__ import annotations

from camcast.doors.datagrams import Endpoint

_SCHEME = "tcp://"


def endpoint_of(address: str) -> Endpoint:
    """Return (host, port) of an address like ``tcp://127.0.0.1:7000``."""
    host, _, port = address.removeprefix(_SCHEME).rpartition(":")
    return host, int(port)


def address_of(endpoint: Endpoint) -> str:
    """Return the address whose endpoint this is."""
    host, port = endpoint
    return f"{_SCHEME}{host}:{port}"
