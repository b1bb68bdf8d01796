"""The console of commands that print tables.

Importing rich takes a sixth of the CPU of a command's start: the library's commands import this
module once they print a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typing_extensions import override

from camcast.vocabulary.printable import printable

TERMINAL_WIDTH: Final = 80  # chosen: of a terminal that nobody has widened
PIPE_WIDTH: Final = 1000  # chosen: wider than any table; a pipe has no width itself


class PlainConsole(Console):
    """A console for which text is only text: no control characters, no markup, no emoji codes."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(width=width, markup=False, emoji=False)

    @override
    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is written, as `Console.render`; all text passes through here."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable(segment.text, keep="\n"))


def wide_console(width: int = PIPE_WIDTH) -> Console:
    """Return the console; its width is `width` where it is no terminal."""
    console = PlainConsole()
    return console if console.is_terminal else PlainConsole(width)
