"""What cannot be simulated, and says so.

An event loop that quietly reached for a real socket, thread or process would make runs differ
now and then. So every call of asyncio's loop that the virtual loop does not answer raises.
"""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn


class LeavesSimulationError(RuntimeError):
    """A call reached for something that is not simulated."""

    def __init__(self, call: str, why: str = "it is not simulated") -> None:
        super().__init__(f"{call} leaves the simulation: {why}")


def _leaves(call: str) -> Any:
    def refuse(_loop: FencedLoop, *_arguments: Any, **_options: Any) -> NoReturn:
        raise LeavesSimulationError(call)

    refuse.__name__ = refuse.__qualname__ = call
    refuse.__doc__ = f"Raise LeavesSimulationError: {call} is not simulated."
    return refuse


class FencedLoop(asyncio.AbstractEventLoop):
    """An event loop that refuses all that the virtual loop cannot do.

    A test holds this list against AbstractEventLoop, so that what a new Python adds is noticed.
    """

    create_connection = _leaves("create_connection")
    create_server = _leaves("create_server")
    create_unix_connection = _leaves("create_unix_connection")
    create_unix_server = _leaves("create_unix_server")
    connect_accepted_socket = _leaves("connect_accepted_socket")
    connect_read_pipe = _leaves("connect_read_pipe")
    connect_write_pipe = _leaves("connect_write_pipe")
    sendfile = _leaves("sendfile")
    start_tls = _leaves("start_tls")
    sock_recv = _leaves("sock_recv")
    sock_recv_into = _leaves("sock_recv_into")
    sock_recvfrom = _leaves("sock_recvfrom")
    sock_recvfrom_into = _leaves("sock_recvfrom_into")
    sock_sendall = _leaves("sock_sendall")
    sock_sendto = _leaves("sock_sendto")
    sock_connect = _leaves("sock_connect")
    sock_accept = _leaves("sock_accept")
    sock_sendfile = _leaves("sock_sendfile")
    add_reader = _leaves("add_reader")
    remove_reader = _leaves("remove_reader")
    add_writer = _leaves("add_writer")
    remove_writer = _leaves("remove_writer")
    add_signal_handler = _leaves("add_signal_handler")
    remove_signal_handler = _leaves("remove_signal_handler")
    subprocess_shell = _leaves("subprocess_shell")
    subprocess_exec = _leaves("subprocess_exec")
    run_in_executor = _leaves("run_in_executor")
    set_default_executor = _leaves("set_default_executor")
    getnameinfo = _leaves("getnameinfo")
