"""Commands whose options take no value that means nothing: an infinite number, an empty path.

Times without an end are the exception. An empty path is that of a variable which is not set in a
shell; Python takes it for the folder at hand.
"""

from __future__ import annotations

from math import inf, isfinite
from pathlib import Path
from typing import Any, Final, get_args

import typer
from typer.core import TyperCommand
from typing_extensions import override

_ENDLESS: Final = frozenset({"wait"})
"""The options that may be infinite: for ever."""


NO_PATH: Final = "an empty text names no file and no folder; the folder at hand is ."


class Command(TyperCommand):
    """A command that refuses what it could make no sense of, with exit code 2."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for empty paths, which no longer show once they are parsed."""
        option: Any
        given, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in order:
            value = given.get(option.name)
            texts = value if isinstance(value, list | tuple) else [value]
            empty = any(isinstance(text, str) and not text.strip() for text in texts)
            if empty and _takes_paths(option) and not ctx.resilient_parsing:
                raise typer.BadParameter(NO_PATH, ctx, option)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    @override
    def invoke(self, ctx: Any) -> Any:
        """Check the values, from wherever they come, and run the command."""
        option: Any
        for option in self.params:
            value = ctx.params.get(option.name)
            endless = value == inf and option.name in _ENDLESS
            if isinstance(value, float) and not (isfinite(value) or endless):
                raise typer.BadParameter(f"{value} is no finite number.", ctx, option)
        return super().invoke(ctx)


def _takes_paths(option: Any) -> bool:
    """Say whether the values are paths, by what old and new releases of typer know of an option."""
    if (kind := getattr(option, "type", None)) is not None:
        return kind.name in ("path", "file", "directory")
    return is_path(option.type_descriptor.annotation)


def is_path(annotation: Any) -> bool:
    """Say whether a type is that of a path, or of several."""
    return annotation is Path or any(is_path(part) for part in get_args(annotation))
