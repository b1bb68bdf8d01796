"""js-libp2p's gossipsub: the fleet's end of a worker in a Node.js process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import attrs
from fleet_worker import FleetError

FOLDER = Path(__file__).parent / "gossipsub"


class GossipsubWorker:
    """Speaks lines of JSON with `gossipsub/worker.mjs`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", "worker.mjs"],
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, command: str, argument: object = None) -> None:
        """Give an order."""
        assert self._process.stdin is not None
        order = [command, argument]
        try:
            self._process.stdin.write(json.dumps(order, default=attrs.asdict) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise FleetError("a Node.js worker failed; its error is above") from None

    def recv(self) -> Any:
        """Return the answer; raises `FleetError` if the worker fails."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise FleetError("a Node.js worker failed; its error is above")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.communicate()
