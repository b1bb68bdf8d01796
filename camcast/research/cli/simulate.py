"""``camcast simulate``: a command for each simulator."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from camcast.cli.strict_command import Command
from camcast.research.cli.simulate_hpmcast import hpmcast
from camcast.research.cli.simulate_percolation import percolation
from camcast.research.cli.simulate_setting import EXAMPLES, setting_command


class _OptionsFirst(TyperGroup):
    """Takes a simulator's options before its name, too: ``simulate --sizes 10 chain``."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move the first simulator's name to the front, where a command stands."""
        if args and args[0].startswith("-"):
            named = next((at for at, arg in enumerate(args) if arg in self.commands), 0)
            args = [args[named], *args[:named], *args[named + 1 :]]
        return super().parse_args(ctx, args)


simulate = typer.Typer(
    name="simulate", cls=_OptionsFirst, no_args_is_help=True, rich_markup_mode=None
)


@simulate.callback(epilog="Example: camcast simulate chain --sizes 1000000000,1000000,1000")
def _simulate() -> None:
    """Simulate the spread of events, of CAMCAST and of other systems, with 95 % intervals.

    `population`, `chain` and `virtual` simulate CAMCAST; `population` takes all protocols, and so
    does `virtual`, which runs scenario files, too. `percolation` is percolation gossip on any
    overlay, `hpmcast` multicast in the regular hierarchy of its paper.
    """


for _simulator, _example in EXAMPLES.items():
    simulate.command(_simulator, cls=Command, epilog=f"Example: {_example}")(
        setting_command(_simulator)
    )
simulate.command(
    cls=Command,
    epilog="Example: camcast simulate percolation --degrees powerlaw:6,1 --sigma 0.1 --gamma 0.6",
)(percolation)
simulate.command(
    cls=Command,
    epilog="Example: camcast simulate hpmcast --arity 22 --depth 3 --redundancy 3 --fanout 2",
)(hpmcast)
