"""The datagrams of a node's discovery: named after the system, and counted for the trace."""

from __future__ import annotations

from typing import Final

from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.vocabulary.systems import mark
from camcast.vocabulary.topics import GroupId

DATAGRAMS: Final = GroupId(b"")
"""Where `Outbox.control_bytes` counts datagrams: they serve all communities of a process."""


class DiscoveryDatagrams(DatagramPort):
    """The UDP of a process, whose datagrams bear the name of its system.

    Their bytes are added to `control_bytes`, unless that is None.
    """

    def __init__(
        self, port: DatagramPort, system: str, control_bytes: dict[GroupId, int] | None
    ) -> None:
        self._port = port
        self._system = system
        self._control_bytes = control_bytes

    @override
    def open(self, host: str, port: int) -> Endpoint:
        return self._port.open(host, port)

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """See `DatagramPort`; headers of UDP, IP and encryption are not counted."""
        data = mark(self._system, data)
        if self._control_bytes is not None:
            self._control_bytes[DATAGRAMS] = self._control_bytes.get(DATAGRAMS, 0) + len(data)
        self._port.send(port, target, data, to)

    @override
    def close(self, port: int) -> None:
        self._port.close(port)
