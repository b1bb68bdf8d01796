"""``camcast status``, ``ready``, ``peers``, ``topics``: what a running process says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from camcast.cli import options
from camcast.cli.failure import CommandError, clear_failures
from camcast.cli.output import print_json
from camcast.cli.printed import TopicRow
from camcast.cli.readiness import ask_ready
from camcast.live.control_socket import Connection, ask
from camcast.observe.condition_table import utc

_UNITS: Final = ("B", "kB", "MB", "GB")

Socket = Annotated[
    Path,
    typer.Argument(
        metavar="SOCKET",
        envvar="CAMCAST_CONTROL",
        show_envvar=True,
        help="What the process was given as --control.",
    ),
]


def status(
    socket: Annotated[
        Path,
        typer.Argument(
            metavar="SOCKET|FOLDER",
            envvar="CAMCAST_CONTROL",
            show_envvar=True,
            help="What the process was given as --control, or a folder with the sockets of many.",
        ),
    ],
    json: options.Json = False,
) -> None:
    """Ask a running process how it is: its communities, peers, pipes and losses.

    The process has to run with --control PATH, or CommunityManager(control=PATH). With --json it is
    the whole snapshot, with the fields of docs/operating.md. A gateway lists who has announced
    himself to it: in which topic, where, and for how long. With a FOLDER there is a line, or with
    --json a snapshot, of each process that has its socket in it. Exit code 1: somebody does not
    answer.
    """
    with clear_failures():
        if socket.is_dir():
            _status_of_folder(socket, json=json)
            return
        with Connection(socket) as connection:
            answer, announced = connection.ask("status"), connection.ask("announced")
    if json:
        print_json({**answer, "announced": announced}, "status/1")
        return
    counters, pipes, liveness = answer["counters"], answer["pipes"], answer["liveness"]
    print_lines(
        f"process {answer['process']} at {answer['address']}, peer {answer['peer'][:8]},"
        f" up {duration(answer['up_seconds'])}",
        f"peers: {liveness['watched']} watched, {liveness['suspects']} suspect"
        f"; discovery: {answer['discovery']['state']}",
        *(
            f"gateway {one['address']}: {_ANSWERS[one['answers']]} {duration(one['seconds'])}"
            for one in answer["discovery"]["first_contacts"]
        ),
        *map(_condition, answer["conditions"]),
        f"pipes: {pipes['open']} of {pipes['open_max']} open, {pipes['crowded']} crowded,"
        f" {amount(pipes['waiting_bytes'])} waiting; {pipes['connections']} connections",
        *_kept(answer["store"]),
        f"lost so far: {counters['missed']} in full queues, {counters['told_missed']} for good,"
        f" {counters['unpublished']} not accepted,"
        f" {counters['outputs']['records_dropped']} records at pipes",
    )
    print_table(
        (
            "community",
            "state",
            "size",
            "peers",
            "links",
            "published",
            "delivered",
            "waiting",
            "lost",
        ),
        (
            (
                *(one["topic"], one["state"], f"{one['size']:.0f}", one["peers"]),
                sum(link["contacts"] for link in one["links"]),
                *(one["published"], one["delivered"]),
                sum(queue["queued_events"] for queue in one["subscriptions"]),
                one["missed"] + (one["repair"] or {"missed": 0})["missed"],
            )
            for one in answer["communities"]
        ),
    )
    if announced:
        print_table(
            ("announced in", "address", "peer", "for"),
            (
                (one["topic"], one["address"], one["peer"][:8], duration(one["seconds"]))
                for one in announced
            ),
            texts=3,
        )


def no_sockets(*folders: Path) -> CommandError:
    """Return the error of a question to folders in which no process listens."""
    named = ", ".join(map(str, folders))
    have = "has" if len(folders) == 1 else "have"
    return CommandError(
        f"{named} {have} no control sockets; processes make them with --control {folders[0]}/NAME"
    )


def ask_folder(folder: Path) -> dict[str, dict[str, Any] | str]:
    """Return the snapshots of the processes with sockets in a folder, by the names of these.

    Of a process that does not answer it is the reason. Raises `CommandError` if there is no socket.
    """
    from camcast.ops.dashboard.gathering import sockets_of, status_of_all  # threads: for many alone

    answers = status_of_all(sockets_of([folder]))
    if not answers:
        raise no_sockets(folder)
    return {socket.name: one for socket, one in answers.items()}


def _status_of_folder(folder: Path, *, json: bool) -> None:
    """Print what the processes in a folder say; raises `CommandError` if one says nothing."""
    answers = ask_folder(folder)
    silent = {name: one for name, one in answers.items() if isinstance(one, str)}
    well = {name: one for name, one in answers.items() if not isinstance(one, str)}
    if json:
        print_json(list(well.values()), "status/1")
    else:
        print_table(
            ("process", "communities", "wrong", "up", "peers", "received", "waiting", "lost"),
            (row_of(name, one) for name, one in well.items()),
            texts=3,
        )
    if silent:
        raise CommandError("; ".join(f"{name}: {why}" for name, why in silent.items()))


def row_of(name: str, stats: dict[str, Any]) -> tuple[object, ...]:
    """Return the row of a process."""
    counters = stats["counters"]
    return (
        *(name, communities_of(stats), wrong_with(stats)),
        *(duration(stats["up_seconds"]), stats["liveness"]["watched"], counters["events"]),
        sum(
            queue["queued_events"] for one in stats["communities"] for queue in one["subscriptions"]
        ),
        counters["missed"] + counters["told_missed"],
    )


def communities_of(stats: dict[str, Any]) -> str:
    """Return the communities of a process, with its state where it is no member like others."""
    return ", ".join(
        one["topic"] if one["state"] == "member" else f"{one['topic']} ({one['state']})"
        for one in stats["communities"]
    )


def wrong_with(stats: dict[str, Any]) -> str:
    """Return the names of the conditions of a process that last and that nothing explains."""
    names = (
        one["name"]
        for one in stats["conditions"]
        if one["stage"] == "lasting" and one["because"] is None
    )
    return ", ".join(dict.fromkeys(names))


def ready(socket: Socket) -> None:
    """Ask a running process whether it is ready; exit code 1 if not, saying why.

    Ready is a process that has joined every community that it was asked to join, and that frames
    reach: it is neither deaf nor isolated. The question costs little more than starting Python, so
    that an orchestrator may ask every few seconds.
    """
    raise typer.Exit(ask_ready(str(socket)))


def peers(socket: Socket, json: options.Json = False) -> None:
    """Ask a running process whom it knows: its tables, and who has it in theirs.

    "table": the peer is in this process's topic table; "holds": this process is in the peer's;
    "link": the peer is in a super-topic table. Exit code 1: nobody answers there.
    """
    with clear_failures():
        answer = ask(socket, "peers")
    if json:
        print_json(answer, "peers/1")
        return
    print_table(
        ("peer", "address", "state", "heard", "in common"),
        (
            (
                *(one["peer"][:8], one["address"].removeprefix("tcp://"), one["state"]),
                "" if one["heard_seconds"] is None else f"{one['heard_seconds']:.1f} s",
                ", ".join(
                    f"{name} {' '.join(one[key])}"
                    for name, key in (("table", "tables"), ("holds", "holds"), ("link", "links"))
                    if one[key]
                ),
            )
            for one in answer
        ),
        texts=5,
    )


def topics(socket: Socket, json: options.Json = False) -> None:
    """Ask a running process which topics it knows: its communities, and those above them.

    "known" are the processes in its tables, "queued" the events that wait for its subscribers.
    Exit code 1: nobody answers there.
    """
    with clear_failures():
        rows = _topic_rows(ask(socket, "status"))
    if json:
        print_json(rows, "topics/1")
        return
    print_table(
        ("topic", "state", "size", "known", "subscriptions", "queued"),
        (
            (
                *(row["topic"], row["state"], "" if row["size"] is None else f"{row['size']:.0f}"),
                *(row["known"], row["subscriptions"], row["queued_events"]),
            )
            for row in rows
        ),
    )


_ANSWERS: Final = {
    True: "has answered for",
    False: "HAS NOT ANSWERED for",
    None: "was not asked yet",
}


def _topic_rows(answer: dict[str, Any]) -> list[TopicRow]:
    """Return a row for each topic, by name: the communities, and topics known by links alone."""
    rows: dict[str, TopicRow] = {}
    for one in answer["communities"]:
        rows[one["topic"]] = TopicRow(
            topic=one["topic"],
            state=one["state"],
            size=one["size"],
            known=one["peers"],
            subscriptions=len(one["subscriptions"]),
            queued_events=sum(queue["queued_events"] for queue in one["subscriptions"]),
        )
    for one in answer["communities"]:
        for link in one["links"]:
            above = TopicRow(
                topic=link["nearest"],
                state="linked" if link["contacts"] else "not found",
                size=None,
                known=link["contacts"],
                subscriptions=0,
                queued_events=0,
            )
            rows.setdefault(link["nearest"], above)
    return [rows[name] for name in sorted(rows)]


def _condition(one: dict[str, Any]) -> str:
    """Return a line about a condition, with its cause or with what to do."""
    about = f" {one['about']}" if one["about"] else ""
    said = f"{one['name']}{about}: {one['says']}"
    if one["stage"] == "over":
        return f"was {said} ({utc(one['since'])} to {utc(one['seen'])})"
    do = f"a consequence of {one['because']}" if one["because"] else one["do"]
    return f"! {said} (since {utc(one['since'])}); {do}"


def _kept(store: dict[str, Any] | None) -> Iterable[str]:
    if store is not None:
        yield f"kept for others: {amount(store['bytes'])} of {amount(store['bytes_max'])}"


def duration(seconds: float) -> str:
    """Write a duration as roughly as a person wants it."""
    for limit, unit, size in ((120.0, "s", 1.0), (7200.0, "min", 60.0), (172_800.0, "h", 3600.0)):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def amount(count: float) -> str:
    """Write a number of bytes as roughly as a person wants it."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def print_lines(*lines: str) -> None:
    """Print lines for a person, wrapped to the terminal; into a pipe they stay whole."""
    from camcast.cli.console import TERMINAL_WIDTH, wide_console

    console = wide_console(TERMINAL_WIDTH)
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int = 2
) -> None:
    """Print a table whose first `texts` columns are text and may wrap; the others are numbers."""
    from rich.table import Table

    from camcast.cli.console import TERMINAL_WIDTH, wide_console

    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        if place < texts:
            table.add_column(column, overflow="fold", min_width=min(len(column), 8))
        else:
            table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(str, row))
    wide_console(TERMINAL_WIDTH).print(table)
