"""``camcast system``: a signed system from its first key on, in five commands.

They keep a folder (`camcast.live.profiles.system_folder`) on the machine of the authority. What
they do with keys, certificates and lists can be done by ``keys``, ``certify`` and ``revoke``, too.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from camcast.cli import options
from camcast.cli.ask import duration, print_table
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, print_line
from camcast.cli.printed import MemberRow, SystemFolder
from camcast.cli.strict_command import Command
from camcast.cli.validity import (
    BytesASecond,
    EventsASecond,
    EveryKey,
    IssuedBefore,
    check_by_time,
    end_of,
    moment_of,
)
from camcast.doors.options import OptionError
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.topics import Topic

if TYPE_CHECKING:
    from camcast.live.profiles.system_folder import Member

DAYS: Final = 366.0  # chosen: the root is fetched once a year, with a day to spare
_DAY_SECONDS: Final = 86_400

system = typer.Typer(name="system", no_args_is_help=True, rich_markup_mode=None)

In = Annotated[
    Path,
    typer.Option("--in", metavar="FOLDER", help="The folder that camcast system init has made."),
]
HERE: Final = Path()


@system.callback(epilog="Example: camcast system init plant")
def _system() -> None:
    """Keep a signed system: its root, its members, and what their machines need.

    These commands run on the machine of the authority, which needs no network. Each member has a
    folder, members/NAME, to be copied to the machine; camcast.toml in it is the --config of the
    member's processes.
    """


@system.command(cls=Command, epilog="Example: camcast system init plant")
def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the new system.")],
    json: options.Json = False,
) -> None:
    """Make a system: FOLDER, with a new root, the key that all members will trust.

    Whoever has root.key may admit anybody. Keep FOLDER on a machine that is offline, and a copy of
    all of it, as on a stick in a safe.
    """
    from camcast.live.profiles.system_folder import create

    with clear_failures():
        root = create(folder, int(time.time()))
        if json:
            made = SystemFolder(folder=str(folder), root=root.text)
            print_json(made, "system-init/1")
        else:
            print_line(f"{folder}: a system whose root is {root.text}")


@system.command(
    cls=Command,
    epilog="Example: camcast system admit gate --may serve --at tcp://192.0.2.1:7000 --in plant",
)
def admit(
    name: Annotated[str, typer.Argument(help="The member's name, e.g. ada.")],
    topic: Annotated[str, typer.Option(help="The topic, and those below it.")] = ".",
    may: Annotated[
        str,
        typer.Option(metavar="RIGHTS", help="With commas: join, publish, serve (be a gateway)."),
    ] = "join,publish",
    at: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where the member's processes listen; default: at any port of the address by which"
            " the machine reaches the gateways.",
        ),
    ] = "",
    public: Annotated[
        Path | None,
        typer.Option(
            "--for",
            metavar="FILE",
            help="The public key that the member has made (camcast keys new); default: a key is"
            " made here.",
        ),
    ] = None,
    days: Annotated[float, typer.Option(help="For how many days, from now on.")] = DAYS,
    events_a_second: EventsASecond = 0,
    bytes_a_second: BytesASecond = 0,
    folder: In = HERE,
    clock_is_right: options.ClockIsRight = False,
    json: options.Json = False,
) -> None:
    """Admit a member: make its folder, with key, certificate, and all that its machine needs.

    Copy the folder to the machine, and give --config NAME/camcast.toml to the commands there.
    Members that run already need a newer folder only where a gateway was added.
    """
    from camcast.live.profiles.key_file import read_public_key
    from camcast.live.profiles.system_folder import authority
    from camcast.security.certificates import Rate, Rights

    with clear_failures():
        now = int(time.time())
        try:
            rights = Rights.parse(one.strip() for one in may.split(","))
            end = end_of(now, days, _DAY_SECONDS, "--days")
        except ValueError as error:
            raise OptionError(str(error)) from None
        if Rights.ISSUE in rights:
            raise OptionError("members of a system issue nothing; see camcast certify --may issue")
        if end <= now:
            raise OptionError(f"--days {days:g} is less than a second")
        if (events_a_second or bytes_a_second) and Rights.PUBLISH not in rights:
            raise OptionError("--events-a-second and --bytes-a-second go with --may publish")
        key = read_public_key(public) if public else None
        below = Topic.parse(topic)
        with authority(folder, now, clock_is_right=clock_is_right) as root:
            member = root.admit(
                *(name, below, rights, end),
                rate=Rate(events_a_second, bytes_a_second),
                address=at,
                public=key,
            )
        if json:
            print_json(_row(member, now), "system-admit/1")
        else:
            print_line(f"{member.folder}: {_said(member)}")


@system.command(cls=Command, epilog="Example: camcast system renew --in plant")
def renew(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="The members; default: all.", metavar="[NAME]..."),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(help="For how many days, from now on; default: as many as before."),
    ] = None,
    folder: In = HERE,
    clock_is_right: options.ClockIsRight = False,
    json: options.Json = False,
) -> None:
    """Certify members again, for the same key, rights and topic, and sign the root's list again.

    Copy NAME.cert and root.list from the members' folders over those on the machines: running
    processes read them within seconds, and need no restart.
    """
    from camcast.live.profiles.system_folder import authority

    with clear_failures():
        now = int(time.time())
        seconds = None
        if days is not None:
            try:
                seconds = end_of(now, days, _DAY_SECONDS, "--days") - now
            except ValueError as error:
                raise OptionError(str(error)) from None
            if seconds <= 0:
                raise OptionError(f"--days {days:g} is less than a second")
        with authority(folder, now, clock_is_right=clock_is_right) as root:
            renewed = root.renew(names or (), seconds)
        if json:
            print_json([_row(member, now) for member in renewed], "system-renew/1")
        else:
            for member in renewed:
                print_line(f"{member.folder}: {_said(member)}")


@system.command("revoke", cls=Command, epilog="Example: camcast system revoke ada --in plant")
def revoke_members(
    names: Annotated[
        list[str] | None, typer.Argument(help="The members.", metavar="NAME...")
    ] = None,
    issued_before: IssuedBefore = None,
    every_key: EveryKey = False,
    folder: In = HERE,
    clock_is_right: options.ClockIsRight = False,
    json: options.Json = False,
) -> None:
    """Revoke members: all certificates that their keys ever got count no more.

    With --issued-before, what their keys got before a time: who was renewed since stays a member.

    The root's list is signed again, and is in the folders of all members that stay. Copy one
    root.list to a machine whose process runs, a gateway's for instance: the others hear of it from
    there. The folders of those revoked are kept in revoked/; their names are free again.
    """
    from camcast.live.profiles.system_folder import authority

    with clear_failures():
        now, named = int(time.time()), names or []
        check_by_time(issued_before, every_key=every_key, named=bool(named), names="members")
        if not (named or every_key):
            raise OptionError("give the members to be revoked, or --all --issued-before TIME")
        with authority(folder, now, clock_is_right=clock_is_right) as root:
            try:
                gone = (
                    root.revoke(named)
                    if issued_before is None
                    else root.revoke_issued_before(moment_of(issued_before, now), named)
                )
            except CamcastError:
                raise
            except ValueError as error:
                raise OptionError(str(error)) from None
        if json:
            print_json([_row(member, now) for member in gone], "system-revoke/1")
        else:
            for member in gone:
                print_line(f"{member.name} is revoked; copy root.list to a running process")
            if not gone:
                print_line("no member has such a certificate; copy root.list to a running process")


@system.command(cls=Command, epilog="Example: camcast system show --in plant")
def show(folder: In = HERE, json: options.Json = False) -> None:
    """Show the members: what each may do, where it listens, and for how long it is certified.

    The state is valid, ends (a fifth of the time is left: renew), expired, or revoked. A key with a
    valid certificate and no folder, as of camcast certify or where a folder was lost, stands below
    them; camcast revoke --issued-before 0 KEY revokes it.
    """
    from attrs import evolve

    from camcast.live.profiles.system_folder import members, without_folder

    with clear_failures():
        now = int(time.time())
        rows = [_row(member, now) for member in members(folder)]
        lost = without_folder(folder, now)
    if json:
        print_json([*rows, *({**_row(one, now), "folder": ""} for one in lost)], "system-show/1")
        return
    columns = ("name", "state", "may", "topic", "listens at", "until")
    print_table(columns, [_cells(row, now) for row in rows], texts=len(columns))
    for one in lost:
        print_line(f"no folder: {_said(evolve(one, name=one.key.text))}")


def _row(member: Member, now: int) -> MemberRow:
    granted = member.certificate
    return MemberRow(
        name=member.name,
        state=member.state(now),
        may=list(granted.rights.names),
        topic=granted.prefix,
        address=member.address,
        key=member.key.text,
        serial=granted.serial.hex(),
        not_before=granted.not_before,
        not_after=granted.not_after,
        folder=str(member.folder),
    )


def _cells(row: MemberRow, now: int) -> list[str]:
    from camcast.live.profiles.certificate_file import day

    until = day(row["not_after"]).partition(" ")[0]
    if row["state"] in ("valid", "ends"):
        until += f" ({duration(row['not_after'] - now)})"
    may, at = ", ".join(row["may"]), row["address"].removeprefix("tcp://")
    return [row["name"], row["state"], may, row["topic"], at, until]


def _said(member: Member) -> str:
    from camcast.live.profiles.certificate_file import day

    granted = member.certificate
    may = ", ".join(granted.rights.names)
    most = f", at most {granted.rate}" if any(granted.rate) else ""
    return f"{member.name} may {may} in {granted.prefix} until {day(granted.not_after)}{most}"
