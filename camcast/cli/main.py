"""The entry point of ``camcast``: what holds before its modules are imported, which takes a while.

Ctrl-C is quiet, too, and the standard streams are open.
"""

from __future__ import annotations

import io
import os
import sys

EXIT_INTERRUPTED = 130  # [POSIX shells] 128 and the number of SIGINT


def _open_missing_streams() -> None:
    """Let a standard stream that is closed be ``/dev/null``, as some supervisors start services.

    Else a socket would get its number, and what is printed would go there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115 # it stays open
            setattr(sys, name, stream)


def _replace_unknown_signs() -> None:
    """Print ``?`` for a sign that the terminal's encoding has not, as for an arrow in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def main() -> None:
    """Run the command line."""
    _open_missing_streams()
    _replace_unknown_signs()
    try:
        match sys.argv[1:]:
            case ["ready", str(path)] if not path.startswith("-"):
                from camcast.cli.readiness import ask_ready

                sys.exit(ask_ready(path))
        from camcast.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
