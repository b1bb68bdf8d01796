"""Commands whose options take no infinite number, and no nan, except for times without an end."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any, Final

import typer
from typer.core import TyperCommand
from typing_extensions import override

_ENDLESS: Final = frozenset({"wait"})
"""The options that may be infinite: for ever."""


class Command(TyperCommand):
    """A command that refuses numbers of which it could make no sense, with exit code 2."""

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
