"""Datagrams that are counted for the trace: a discovery's UDP is control traffic, too."""

from __future__ import annotations

from typing import Final

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.vocabulary.topics import GroupId

NO_GROUP: Final = GroupId(b"")
"""Datagrams serve all communities of a process: their bytes are of none."""


class CountedDatagrams(DatagramPort):
    """The UDP of a process, whose sent bytes are added to `Outbox.control_bytes`."""

    def __init__(self, port: DatagramPort, control_bytes: dict[GroupId, int]) -> None:
        self._port = port
        self._control_bytes = control_bytes

    def open(self, host: str, port: int) -> Endpoint:
        """See `DatagramPort`."""
        return self._port.open(host, port)

    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        """See `DatagramPort`; the headers of UDP and IP, and of what hides it, are not counted."""
        self._control_bytes[NO_GROUP] = self._control_bytes.get(NO_GROUP, 0) + len(data)
        self._port.send(port, target, data, to)

    def close(self, port: int) -> None:
        """See `DatagramPort`."""
        self._port.close(port)
