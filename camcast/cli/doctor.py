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
from camcast.cli.ask import ask_folder, duration, print_lines
from camcast.cli.configured import configured
from camcast.cli.failure import EXIT_FAILED, clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.doors.plugs import find_backend
from camcast.doors.transport import BindError
from camcast.live.control_socket import ControlError, ask
from camcast.observe.condition_table import utc
from camcast.ops.checkup import Finding, of_network, of_process, of_processes, of_system

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
            metavar="[SOCKET|FOLDER]",
            help="What a running process was given as --control, or a folder with the sockets of"
            " many; without it, this machine.",
        ),
    ] = None,
    contacts: Contacts = _CONTACTS,
    listening: Listening = _LISTENING,
    security: Security = _SECURITY,
    json: options.Json = False,
) -> None:
    """Say what is wrong, and what to do about it.

    With a SOCKET it looks at the process that listens there: its communities, gateways, peers,
    pipes and subscribers, causes before consequences. With a FOLDER it asks all processes that have
    their sockets in it, and gives one verdict on the system. Without either it tries what a process
    with these options would do on this machine: open files, the clock, listening at --bind,
    reaching --advertise, asking the gateways, or the DHT with --membership hybrid or dht. It joins
    nothing. Exit code 1: something is wrong.
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
            _show(finding)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(EXIT_FAILED)


def _examined(place: Path) -> list[Finding]:
    """Ask the process at a socket, or all those with sockets in a folder."""
    if place.is_dir():
        return of_processes(ask_folder(place))
    try:
        stats = ask(place, "status")
    except ControlError as error:
        return [Finding("process", False, str(error), "start it, or look at what it does")]
    there = Finding("process", True, f"process {stats['process']} answers at {place}")
    return [there, *of_process(stats)]


def _show(finding: Finding) -> None:
    mark = "was" if finding.over is not None else _MARKS[finding.ok]
    about = f" {finding.about}" if finding.about else ""
    when = ""
    if finding.since is not None and finding.over is not None:
        when = f" (for {duration(finding.over - finding.since)}, until {utc(finding.over)})"
    elif finding.since is not None:
        when = f" (since {utc(finding.since)})"
    indent = "      so " if finding.because else ""
    print_lines(f"{indent}{mark:6}{finding.check}{about}: {finding.says}{when}")
    if finding.do and not finding.ok and finding.because is None:
        print_lines(f"      → {finding.do}")


async def _tried(manager: CommunityManager, *, overlay: bool) -> list[Finding]:
    async with manager:
        return await of_network(manager, overlay=overlay)
