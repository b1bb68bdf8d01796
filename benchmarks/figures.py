"""Prints the figures that matter of a pytest-benchmark file: what the benches put in extra_info."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: Path) -> None:
    """Print one block a benchmark."""
    for benchmark in json.loads(path.read_text())["benchmarks"]:
        sys.stdout.write(f"{benchmark['name']}\n")
        for name, value in benchmark["extra_info"].items():
            sys.stdout.write(f"  {name:34}{value:>16,.4g}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
