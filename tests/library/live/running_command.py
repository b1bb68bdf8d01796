"""The command line in processes of its own, which run on while a test reads and signals them."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_SECONDS
from tests.printed_json import checked

COMMAND = [sys.executable, "-W", "error", "-m", "camcast"]


class Running:
    """A command that runs on; its stdout can be read a line at a time, with a deadline."""

    def __init__(self, *arguments: str | Path, **settings: Any) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **settings,
        )
        self._rest = b""

    def line(self) -> str:
        """Read the next line of stdout; "" at its end."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            assert ready, "no line in time"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                return ""
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def read(self) -> Any:
        """Read the next line of stdout as JSON, which follows its schema."""
        return checked(json.loads(self.line()))

    def end(self, number: int | None = None) -> tuple[int, str]:
        """Send a signal, wait for the end, and return the exit code and what stderr says."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_SECONDS)
        assert self.process.stderr is not None
        return code, self.process.stderr.read().decode()

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


def camcast(*arguments: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command to its end: exit code, stdout, stderr."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()
