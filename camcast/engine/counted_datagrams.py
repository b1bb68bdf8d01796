"""The datagrams of a node's discovery: counted for the trace, and named after the system."""

from __future__ import annotations

from typing import Final

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.vocabulary.systems import mark
from camcast.vocabulary.topics import GroupId

DATAGRAMS: Final = GroupId(b"")
"""Where `Outbox.control_bytes` counts datagrams: they serve all communities of a process."""


class CountedDatagrams(DatagramPort):
    """The UDP of a process, whose sent bytes are added to `Outbox.control_bytes`."""

    def __init__(self, port: DatagramPort, control_bytes: dict[GroupId, int]) -> None:
        self._port = port
        self._control_bytes = control_bytes

    @override
    def open(self, host: str, port: int) -> Endpoint:
        return self._port.open(host, port)

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """See `DatagramPort`; headers of UDP, IP and encryption are not counted."""
        self._control_bytes[DATAGRAMS] = self._control_bytes.get(DATAGRAMS, 0) + len(data)
        self._port.send(port, target, data, to)

    @override
    def close(self, port: int) -> None:
        self._port.close(port)


class NamedDatagrams(DatagramPort):
    """The UDP of a process, whose datagrams bear the name of its system."""

    def __init__(self, port: DatagramPort, system: str) -> None:
        self._port = port
        self._system = system

    @override
    def open(self, host: str, port: int) -> Endpoint:
        return self._port.open(host, port)

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        self._port.send(port, target, mark(self._system, data), to)

    @override
    def close(self, port: int) -> None:
        self._port.close(port)
