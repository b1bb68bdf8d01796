"""``camcast gateway``: a process of no community that remembers who announced itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Final

import typer

from camcast.app.manager import CommunityManager, make_manager
from camcast.app.settings import Contacts, Listening, ProcessSettings, Security, Spread
from camcast.cli import options
from camcast.cli.configured import configured
from camcast.cli.failure import clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json, print_line
from camcast.cli.printed import GatewayAddress
from camcast.cli.served_health import served_health
from camcast.cli.until_signalled import run_until_signalled
from camcast.doors.options import OptionError

# chosen: a fixed one, because others have to name it; the port of all our examples.
GATEWAY_BIND: Final = "tcp://127.0.0.1:7000"
_LISTENING: Final = Listening(bind=GATEWAY_BIND)
_SECURITY: Final = Security()


@configured
@grouped
def gateway(
    overlay: Annotated[
        bool,
        typer.Option(
            "--overlay",
            help="Be a bootstrap node of the DHT, for --membership hybrid and dht, at the UDP port"
            " of the same number.",
        ),
    ] = False,
    system: Annotated[str, options.option_of(Contacts, "system")] = "",
    discovery: Annotated[str | None, options.option_of(Contacts, "discovery")] = None,
    discovery_settings: Annotated[
        list[str] | None, options.option_of(Contacts, "discovery_options")
    ] = None,
    protocol: Annotated[str | None, options.option_of(Spread, "protocol")] = None,
    relay: Annotated[bool, options.option_of(ProcessSettings, "relay")] = False,
    membership: Annotated[str | None, options.option_of(Contacts, "membership")] = None,
    gateway: Annotated[
        list[str] | None,
        typer.Option(
            "--gateway",
            metavar="ADDRESS",
            help="This gateway and others of the same topics, by a name that all have or one by"
            " one: they tell each other who is there. Repeatable.",
        ),
    ] = None,
    remember: Annotated[Path | None, options.option_of(Contacts, "remember")] = None,
    listening: Listening = _LISTENING,
    security: Security = _SECURITY,
    health: options.Health = None,
    control: Annotated[Path | None, options.option_of(ProcessSettings, "control")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Run a gateway: the first contact of those who join, until Ctrl-C or SIGTERM.

    A gateway takes part in no community and sees no event. It keeps the register: for half a
    minute it remembers every process that announced itself. With --overlay it is one of the first
    contacts of a DHT instead, and with --protocol what the membership of that protocol needs. It
    prints its address, with its key if it has one, for --gateway of
    the other commands, when it is ready. Several may run side by side; every process announces
    itself to all it knows, and gateways that are named to each other tell each other once a minute.
    With --remember FILE a gateway that starts again calls those who were there, so they announce
    themselves at once, also at another address under its name. With --relay it takes part in
    communities of which no member can be dialled, nor any of those above, with the --membership
    that they have.
    """
    with clear_failures():
        # If it joins no community: of membership and protocol, only the discovery matters.
        if membership is not None and not relay:
            raise OptionError("--membership goes with --relay; a gateway serves all memberships")
        contacts = Contacts(
            system=system,
            membership=membership or ("dht" if overlay else "scamp"),
            discovery=discovery,
            discovery_options=options.named_values(discovery_settings, "--discovery-set"),
            gateways=gateway or (),
            remember=remember,
        )
        spread = Spread() if protocol is None else Spread(protocol=protocol)
        settings = ProcessSettings(
            listening=listening,
            security=security,
            contacts=contacts,
            spread=spread,
            control=control,
            relay=relay,
        )
        run_until_signalled(_serve(make_manager(settings), health, json=json))


async def _serve(manager: CommunityManager, health: str | None, *, json: bool) -> None:
    async with manager, served_health(manager, health):
        try:
            if json:
                where = GatewayAddress(address=manager.address, gateway=manager.gateway)
                print_json(where, "gateway/1")
            else:
                print_line(manager.gateway)
        except BrokenPipeError:
            pass  # the reader of stdout has the address, and went
        await asyncio.Event().wait()
