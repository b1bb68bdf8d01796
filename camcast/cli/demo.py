"""``camcast demo``: a day of departures through more than a hundred live nodes."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.experiment import FAILURES, carry_out
from camcast.cli.failure import clear_failures
from camcast.experiment.demo_flights import departures
from camcast.live.transports import DEFAULT

RECEPTION_MIN: Final = 0.999  # [issue 2, must hold] in every community


def demo(
    membership: options.Membership = "scamp",
    settings: options.MembershipOptions = None,
    transport: options.Transport = None,
    profile: options.Profile = None,
    passphrase_file: options.PassphraseFile = None,
    repair: options.Repair = True,
    spread: options.Spread = None,
    processes: Annotated[
        int, typer.Option("--processes", "-p", help="Operating system processes.")
    ] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Of all choices by chance.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Where traces go; default: a new one."),
    ] = None,
    metrics: options.Metrics = None,
    control: options.ControlFolder = None,
    json: options.Json = False,
) -> None:
    """Replay 842 departures of New York through 118 live nodes, and show who received them.

    The airports are communities below the root .departures, and the carriers of each airport
    below these; siblings must never receive each other's events. Takes about half a minute.
    Exit code 1: a parasite event, or a reception below 99.9 % somewhere.

    Example: camcast demo --membership scamp --json
    """
    with clear_failures(ValueError, LookupError, *FAILURES):
        passphrase = options.passphrase(profile, passphrase_file)
        signed = options.signed(profile, transport)
        flights = departures(seed=seed, processes=processes)
        scenario = attrs.evolve(
            flights,
            parameters=attrs.evolve(flights.parameters, **options.given(spread=spread)),
            transport=transport or DEFAULT,
            repair=repair,
            membership=membership,
            options=options.named_values(settings),
        )
    with clear_failures(*FAILURES):
        folder = output or Path(mkdtemp(prefix="camcast-demo-"))
        carry_out(
            scenario,
            folder,
            json=json,
            reception_min=RECEPTION_MIN,
            passphrase=passphrase,
            metrics=metrics,
            control=control,
            signed=signed,
        )
