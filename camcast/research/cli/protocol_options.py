"""The options that choose a protocol, of a scenario or of a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from attrs import frozen

from camcast.cli import options
from camcast.cli.failure import CommandError
from camcast.doors.plugs import find_protocol
from camcast.research.systems.registry import CAMCAST, SYSTEMS, find_system

if TYPE_CHECKING:
    from camcast.research.scenarios.live import Scenario
    from camcast.research.scenarios.virtual import VirtualScenario
    from camcast.research.systems.camcast.setting import Setting


@frozen
class ProtocolOptions:
    """A protocol and its parameters."""

    protocol: Annotated[
        str | None,
        typer.Option(
            help="camcast (default), or a system that it is compared with: broadcast, multicast,"
            " hierarchical, rfpbcast, pmcast, hpmcast, percolation (docs/protocols.md)."
        ),
    ] = None
    protocol_settings: Annotated[
        list[str] | None,
        typer.Option(
            "--protocol-set",
            metavar="NAME=VALUE",
            help="A parameter of the protocol, e.g. clusters=3 or gamma=0.6. Repeatable.",
        ),
    ] = None

    @property
    def name(self) -> str:
        """The protocol's name; without --protocol it is camcast."""
        return self.protocol or CAMCAST

    def changes(
        self,
        scenario: Scenario | VirtualScenario,
        membership: str | None = None,
        membership_settings: list[str] | None = None,
    ) -> dict[str, Any]:
        """Return what these options and those of the membership change of a scenario.

        The options in a scenario are meant for the protocol and the membership named there. If
        another protocol is given, the scenario's protocol options do not apply; if one of the two
        protocols brings its own membership, neither do the scenario's membership options.
        Raises `OptionError` and `UnknownPlugError`.
        """
        changed = options.given(protocol=self.protocol, membership=membership)
        if self.protocol is not None:
            if self.protocol != scenario.protocol:
                changed["protocol_options"] = {}
            own = find_protocol(self.protocol).membership
            if own != find_protocol(scenario.protocol).membership:
                changed["options"] = {}
        if self.protocol_settings:
            changed["protocol_options"] = self._parameters()
        if membership_settings:
            changed["options"] = options.named_values(membership_settings)
        return changed

    def setting(self, ctx: typer.Context, chain: Setting) -> Any:
        """Return the setting of the protocol's system on a chain of communities.

        Raises `CommandError` for options that the system has no use for, and as
        `System.setting_of`.
        """
        chosen, system = self._parameters(), find_system(self.name)
        with_options = [name for name in SYSTEMS if name != CAMCAST]
        if not system.setting:
            raise CommandError(
                f"{self.name} has no simulator and no model; there are those of camcast"
                f" and {', '.join(with_options)}"
            )
        if chosen and self.name == CAMCAST:
            raise CommandError(f"--protocol-set goes with --protocol {', '.join(with_options)}")
        of_camcast = SYSTEMS[CAMCAST].parameters
        unused = {name: "" for name in of_camcast if name not in system.parameters}
        options.refuse(ctx, unused, f"is no parameter of {self.name}")
        return system.setting_of(chain, chosen)

    def _parameters(self) -> dict[str, object]:
        return options.named_values(self.protocol_settings, "--protocol-set")


PROTOCOL: Final = ProtocolOptions()
