"""``camcast doctor``: what is wrong with a process or with this machine, and what to do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Final

import attrs
import typer

from camcast.app.community_errors import InsecureError
from camcast.app.manager import CommunityManager, make_manager
from camcast.app.settings import Contacts, Listening, ProcessSettings, Security
from camcast.cli import options
from camcast.cli.ask import print_lines
from camcast.cli.configured import configured
from camcast.cli.failure import EXIT_FAILED, clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.doors.plugs import find_backend
from camcast.doors.transport import BindError
from camcast.live.control_socket import ControlError, ask
from camcast.ops.checkup import Finding, of_network, of_process, of_system

_CONTACTS: Final = Contacts()
_LISTENING: Final = Listening()
_SECURITY: Final = Security()
_MARKS = {True: "ok", False: "WRONG", None: "?"}


@configured
@grouped
def doctor(
    socket: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOCKET]",
            help="What a running process was given as --control; without it, this machine.",
        ),
    ] = None,
    contacts: Contacts = _CONTACTS,
    listening: Listening = _LISTENING,
    security: Security = _SECURITY,
    json: options.Json = False,
) -> None:
    """Say what is wrong, and what to do about it.

    With a SOCKET it looks at the process that listens there: its communities, gateways, peers,
    pipes and subscribers. Without one it tries what a process with these options would do on this
    machine: open files, the clock, listening at --bind, reaching --advertise, asking the gateways,
    or the DHT with --membership hybrid or dht. It joins nothing. Exit code 1: something is wrong.
    """
    with clear_failures():
        if socket is not None:
            findings = _examined(socket)
        else:
            overlay = find_backend(contacts.membership).discovery != "gateways"
            settings = ProcessSettings(listening=listening, security=security, contacts=contacts)
            findings = of_system()
            try:
                manager = make_manager(settings)
                findings += asyncio.run(_tried(manager, overlay=overlay))
            except (BindError, InsecureError) as error:
                text = error.strerror if isinstance(error, OSError) else str(error)
                findings.append(Finding("address", False, text or str(error)))
    if json:
        print_json([attrs.asdict(finding) for finding in findings], "doctor/1")
    else:
        for finding in findings:
            print_lines(f"{_MARKS[finding.ok]:6}{finding.check}: {finding.says}")
            if finding.do and not finding.ok:
                print_lines(f"      → {finding.do}")
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(EXIT_FAILED)


def _examined(socket: Path) -> list[Finding]:
    try:
        stats = ask(socket, "status")
    except ControlError as error:
        return [Finding("process", False, str(error), "start it, or look at what it does")]
    answers = Finding("process", True, f"process {stats['process']} answers at {socket}")
    return [answers, *of_process(stats)]


async def _tried(manager: CommunityManager, *, overlay: bool) -> list[Finding]:
    async with manager:
        return await of_network(manager, overlay=overlay)
