"""``camcast dashboard``: running processes in a browser, or a recording of them as one page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from camcast.cli.failure import clear_failures, remark
from camcast.cli.output import print_line
from camcast.cli.until_signalled import run_until_signalled
from camcast.ops.dashboard import recording
from camcast.ops.dashboard.dashboard_page import page
from camcast.ops.dashboard.gathering import Moment, gather, sockets_of
from camcast.ops.dashboard.server import DashboardServer
from camcast.ops.output_place import output_file
from camcast.vocabulary.lasting_file import write_lasting


def dashboard(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOCKET|FOLDER|RECORDING",
            help="Control sockets, folders of them, or one recording.",
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on the loopback; 0: any free one.")
    ] = 8080,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 2.0,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep every look there, too.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where the page of a recording goes.")
    ] = None,
) -> None:
    """Watch running processes in a browser: communities, overlay, rates, losses, peers.

    The processes run with --control PATH; run and demo with --control FOLDER have a socket for each
    node there. The page is served on this machine alone and fetches nothing from elsewhere; its
    slider goes back to what was seen before. Of a recording it makes one file to keep or to send.
    """
    with clear_failures(ValueError, OSError):
        if missing := [str(source) for source in sources if not source.exists()]:
            raise ValueError(
                f"{', '.join(missing)} does not exist; processes that run with --control have their"
                " sockets there"
            )
        if len(sources) == 1 and sources[0].is_file():
            path = output or sources[0].with_suffix(".html")
            with output_file(path):
                write_lasting(path, page(recording.read(sources[0])).encode(), 0o644)
            print_line(str(path))
            return
        if output is not None:
            raise ValueError("--output goes with one recording, which --record makes")
        if files := [str(source) for source in sources if source.is_file()]:
            raise ValueError(f"{', '.join(files)} is no control socket; a recording is given alone")
        if record is not None:
            recording.begin(record)
        run_until_signalled(_serve(sources, port, every, record))


async def _serve(sources: list[Path], port: int, every: float, record: Path | None) -> None:
    latest: Moment | None = None
    with DashboardServer("127.0.0.1", port, lambda: latest) as server:
        server.start()
        print_line(f"http://127.0.0.1:{server.server_port}/")
        empty = False
        try:
            while True:
                sockets = sockets_of(sources)
                if empty != (not sockets):
                    empty = not sockets
                    remark("nobody is there yet" if empty else f"{len(sockets)} processes")
                latest = await asyncio.to_thread(gather, sockets)
                if record is not None and latest["nodes"]:
                    recording.append(record, latest)
                await asyncio.sleep(every)
        finally:
            server.shutdown()
