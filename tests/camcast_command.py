"""The command line, run in this process."""

from camcast.cli.app import app


def camcast(*arguments: object) -> int:
    """Run a command; return its exit code."""
    try:
        code = app([str(argument) for argument in arguments], prog_name="camcast")
    except SystemExit as exit:
        code = exit.code
    return int(code or 0)
