"""Prints the figures that matter of a pytest-benchmark file: what the benches put in extra_info."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: Path) -> None:
    """Print one block a benchmark; parameters and options, which are inputs, are left out."""
    for benchmark in json.loads(path.read_text())["benchmarks"]:
        sys.stdout.write(f"{benchmark['name']}\n")
        for name, value in benchmark["extra_info"].items():
            if value is not None and not name.startswith(("parameter_", "option_")):
                shown = value if isinstance(value, str) else f"{value:,.4g}"
                sys.stdout.write(f"  {name:34}{shown:>16}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
