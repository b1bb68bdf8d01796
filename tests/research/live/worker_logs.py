"""What the workers of a live run have said on standard error."""

from __future__ import annotations

from pathlib import Path


def said_by_workers(folder: Path) -> list[str]:
    """Return the lines, but for those on processes of another run: other tests run beside."""
    lines = (line for log in sorted(folder.glob("*.log")) for line in log.read_text().splitlines())
    return [line for line in lines if line and "it is of the system 'run " not in line]
