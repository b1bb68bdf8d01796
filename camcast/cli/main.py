"""The entry point of ``camcast``: Ctrl-C while its modules are still imported is quiet, too."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130  # [POSIX shells] 128 and the number of SIGINT


def main() -> None:
    """Run the command line."""
    try:
        from camcast.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
