"""The control socket: a running process answers questions, on this machine only.

It is a unix socket that its owner alone may use (mode 0600), and there is none unless it is asked
for. A question is a line of JSON, ``{"ask": "status"}`` with its arguments, and so is the answer:
``{"answer": …}`` or ``{"error": "a sentence"}``. No question stops the process: there are bounds
for the length of a line, the number of connections, the silence of a connection, and the time that
an answer waits for its reader. ``tune`` alone changes something: the parameters
of a community.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from camcast.doors.transport import BindError
from camcast.live.wire.forks import close_in_forks
from camcast.live.wire.reading_time import patience
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

QUESTION_BYTES_MAX: Final = 4096  # chosen: the id of an event, or parameters
CONNECTIONS_MAX: Final = 16  # chosen: a person, a script and a monitor, several times over
SILENT_SECONDS: Final = 10.0  # chosen: a command asks at once, but a person may type
ANSWER_BYTES_MAX: Final = 1 << 26  # chosen: 64 MiB; 10,000 peers take 3 MB
PATH_BYTES_MAX: Final = 107  # [unix(7), sun_path] with the zero that ends it

T = TypeVar("T")

Answer = Callable[[Mapping[str, Any]], object]
"""Answers a question; raises `ValueError` with a sentence for one that is wrong."""


class ControlError(CamcastError):
    """A process could not be asked, or refused to answer; the message says why."""


class SilentError(ControlError):
    """The process took the question and gave no answer in time."""


class ControlServer:
    """Answers questions at a path; `answers` has a function for each thing that can be asked."""

    def __init__(self, path: Path, answers: Mapping[str, Answer]) -> None:
        self._path = path
        self._answers = answers
        self._server: asyncio.Server | None = None
        self._inode = 0
        self._connections: dict[asyncio.Task[None], None] = {}

    async def open(self) -> None:
        """Listen. Raises `BindError`, also where another process answers already."""
        listener = _listen(self._path)
        self._inode = self._path.stat().st_ino
        self._server = await asyncio.start_unix_server(  # in two steps: the second may be cancelled
            self._serve, sock=listener, limit=QUESTION_BYTES_MAX, start_serving=False
        )
        await self._server.start_serving()

    async def close(self) -> None:
        """Stop listening, end every connection, and remove the socket if it is still ours."""
        if self._server is None:
            return
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        self.abandon()
        if connections:
            await asyncio.wait(connections)

    def abandon(self) -> None:
        """Stop listening, and remove the socket; also in a loop that was closed before."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= CONNECTIONS_MAX:
            writer.close()
            return
        self._connections[task] = None
        try:
            await self._talk(reader, writer)
        except (asyncio.CancelledError, OSError, TimeoutError):
            pass  # this process ends, or who asked has gone or says nothing
        finally:
            del self._connections[task]
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            too_long = False
            async with patience(SILENT_SECONDS):
                try:
                    line = await reader.readline()
                except ValueError:  # asyncio's word for a line above its limit
                    too_long = True
            if too_long:
                writer.write(_error(f"a question has {QUESTION_BYTES_MAX} bytes at most"))
                await writer.drain()
                return
            if not line.endswith(b"\n"):
                return
            writer.write(self._answer(line))
            async with patience(SILENT_SECONDS):
                await writer.drain()

    def _answer(self, line: bytes) -> bytes:
        """Answer one line, whatever it is."""
        try:
            question = msgspec.json.decode(line, type=dict[str, Any])
            asked = question.get("ask")
            if not (isinstance(asked, str) and asked in self._answers):
                known = ", ".join(self._answers)
                return _error(f"there is nothing to ask called {asked!r}; there is: {known}")
            answer = msgspec.json.encode({"answer": self._answers[asked](question)}) + b"\n"
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            return _error(f'a question is a line of JSON such as {{"ask": "status"}}: {error}')
        except ValueError as error:
            return _error(str(error))
        except Exception:
            _log.exception("a question at the control socket could not be answered")
            return _error("the process failed to answer; its log says more")
        if len(answer) > ANSWER_BYTES_MAX:
            return _error(f"the answer has {len(answer):,} bytes, which is too much")
        return answer


def _error(text: str) -> bytes:
    return msgspec.json.encode({"error": text}) + b"\n"


def _listen(path: Path) -> socket.socket:
    """Make the listening socket, in place of one at which no process answers."""
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise BindError(
            errno.ENAMETOOLONG,
            f"the control socket {path} has too long a path: {PATH_BYTES_MAX} bytes at most",
        )
    if "\0" in str(path):
        raise BindError(errno.EINVAL, f"the control socket {str(path)!r} has a path with a NUL")
    try:
        if path.is_symlink() or (path.exists() and not stat.S_ISSOCK(path.stat().st_mode)):
            raise BindError(errno.EEXIST, f"{path} exists and is no socket; choose another path")
        if path.exists():
            _remove_stale(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        close_in_forks(listener)
        try:
            # Before bind, so that there is no moment at which others may connect.
            os.fchmod(listener.fileno(), 0o600)
            listener.bind(str(path))
            path.chmod(0o600)  # where the system does not look at the mode of the descriptor
            listener.listen(CONNECTIONS_MAX)
            listener.setblocking(False)
        except BaseException:
            listener.close()
            raise
    except BindError:
        raise
    except OSError as error:
        raise BindError(
            error.errno, f"cannot make the control socket {path}: {error.strerror}"
        ) from error
    return listener


def _remove_stale(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except (BlockingIOError, TimeoutError):  # its queue of connections is full
            raise BindError(
                errno.EADDRINUSE,
                f"another process has the control socket {path} and does not answer: it is stopped"
                " or busy; end it, or choose another path",
            ) from None
    raise BindError(
        errno.EADDRINUSE, f"another process answers at the control socket {path}; choose another"
    )


class Connection:
    """A connection to a process that listens at a path, which may be asked several questions."""

    def __init__(self, path: Path, timeout_seconds: float = 5.0) -> None:
        """Connect within the timeout, which each answer has, too. Raises `ControlError`."""
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_seconds)
        try:
            self._exchange(lambda: self._socket.connect(str(path)))
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, question: str, **given: object) -> Any:
        """Return what the process answers.

        Raises `ControlError` if it refuses, or gives no answer in time.
        """
        line = msgspec.json.encode({"ask": question, **given}) + b"\n"
        self._exchange(lambda: self._socket.sendall(line))
        pieces: list[bytes] = []
        while not (pieces and pieces[-1].endswith(b"\n")):
            piece = self._exchange(lambda: self._socket.recv(1 << 16))
            if not piece:
                raise ControlError(f"the process at {self._path} closed the connection: it is busy")
            pieces.append(piece)
        try:
            answer = msgspec.json.decode(b"".join(pieces), type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise ControlError(
                f"{self._path} answers nothing that camcast would: {error}"
            ) from error
        if "answer" not in answer:
            raise ControlError(f"{self._path}: {answer.get('error', 'it refuses to answer')}")
        return answer["answer"]

    def _exchange(self, step: Callable[[], T]) -> T:
        """Take a step of the connection; raises `ControlError` for an error of the socket."""
        try:
            return step()
        except TimeoutError as error:
            raise SilentError(
                f"the process at {self._path} does not answer: it is stopped, or far too busy"
            ) from error
        except OSError as error:
            gone = isinstance(error, ConnectionRefusedError | FileNotFoundError)
            why = "no process listens there (any more)" if gone else error.strerror or str(error)
            raise ControlError(
                f"{self._path}: {why}; a process listens with --control {self._path}"
            ) from error


def ask(path: Path, question: str, timeout_seconds: float = 5.0, **given: object) -> Any:
    """Ask the process that listens at a path one question, and return what it answers.

    Raises `ControlError` if nobody listens there, or the process refuses or gives no answer in
    time.
    """
    with Connection(path, timeout_seconds) as connection:
        return connection.ask(question, **given)
