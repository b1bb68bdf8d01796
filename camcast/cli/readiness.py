"""``camcast ready``: whether a running process is ready, asked in a few milliseconds.

Orchestrators ask every few seconds, and pay for each start of Python. This module therefore imports
next to nothing of ours, and `camcast.cli.main` runs it before the commands are imported.
"""

from __future__ import annotations

import socket
import sys

ANSWER_SECONDS = 5.0  # chosen: as long as every question at a control socket has
READY = b'{"answer":[]}\n'
"""The answer of a process that has no reason not to be ready."""


def ask_ready(path: str) -> int:
    """Ask the process at a control socket; say why it is not ready; return the exit code."""
    try:
        answer = _answer(path)
    except TimeoutError:
        reasons = [f"the process at {path} does not answer: it is stopped, or far too busy"]
    except (FileNotFoundError, ConnectionRefusedError):
        reasons = [f"{path}: no process listens there; a process listens with --control {path}"]
    except (OSError, ValueError) as error:
        reasons = [f"{path}: {error}"]
    else:
        if answer == READY:
            print("ready")
            return 0
        reasons = _reasons(path, answer)
    for reason in reasons:
        print(f"camcast: not ready: {reason}", file=sys.stderr)
    return 1


def _answer(path: str) -> bytes:
    pieces = b""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(ANSWER_SECONDS)
        asking.connect(path)
        asking.sendall(b'{"ask": "ready"}\n')
        while not pieces.endswith(b"\n") and (piece := asking.recv(4096)):
            pieces += piece
    return pieces


def _reasons(path: str, answer: bytes) -> list[str]:
    import json  # only where there is something to say

    try:
        said = json.loads(answer)
        return [str(reason) for reason in said["answer"]] if "answer" in said else [said["error"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return [f"{path} answers nothing that camcast would"]
