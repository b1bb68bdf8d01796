"""``camcast history``: what the file of an archive has, for a person, for programs, as proof."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Annotated, Any, Final

import attrs
import typer

from camcast.cli import options
from camcast.cli.ask import print_table
from camcast.cli.event_lines import json_of, seconds_of
from camcast.cli.extras import extras_named
from camcast.cli.failure import EXIT_FAILED, CommandError, clear_failures
from camcast.cli.output import json_line, print_json, print_line, say
from camcast.cli.printed import RepairedArchive, VerifiedHistory
from camcast.doors.options import OptionError
from camcast.inbox.received import Received, ReceivedBatch, received_of
from camcast.live.archive.reading import Archived, ArchiveReader, salvage
from camcast.live.archive.schema import DamagedArchiveError
from camcast.observe.condition_table import utc
from camcast.vocabulary import typed
from camcast.vocabulary.topics import Topic

_STDOUT: Final = "-"
_ROW_GROUP: Final = 1 << 16  # chosen: some 20 MB at 256 bytes an event


def history(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file of --archive.")],
    topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Only the community of this topic.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Only what was published so recently, e.g. 8h."),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the events to this file: as Parquet if its name ends so, else as JSON"
            " lines; - is stdout.",
        ),
    ] = None,
    trust: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Verify the signature of each event, by chains from this root's public key."
            " Repeatable.",
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Save what can be read of a damaged file; it is kept, too."),
    ] = False,
    json: options.Json = False,
) -> None:
    """List, export, verify or repair the events in an archive.

    Without options: how many events of which communities there are, and from when. The file may be
    read while a process writes to it; --repair needs it alone. Exit code 1: the file is wrong, or
    an event has no signature that verifies.
    """
    with clear_failures():
        if repair:
            if export is not None or trust or topic is not None or since is not None:
                raise OptionError("--repair goes by itself")
            _repair(path, json=json)
            return
        community = None if topic is None else Topic.parse(topic)
        begins = 0.0 if since is None else time.time() - seconds_of(since, "--since")
        with closing(ArchiveReader(path)) as reader:
            if export is not None:
                if trust:
                    raise OptionError("--export and --trust are two commands; give one of them")
                _export(reader.batches(community, begins), export)
            elif trust:
                _verify(reader, trust, community, begins, json=json)
            else:
                if since is not None:
                    raise OptionError("--since goes with --export or --trust")
                _list(reader, community, json=json)


def _list(reader: ArchiveReader, community: Topic | None, *, json: bool) -> None:
    found = [
        one for one in reader.communities() if community is None or one.topic == community.name
    ]
    if json:
        print_json([attrs.asdict(one) for one in found], "history/1")
        return
    rows = [
        (
            one.topic,
            f"{one.events:,}",
            f"{one.bytes:,}",
            "" if one.oldest is None else utc(one.oldest),
            "" if one.newest is None else utc(one.newest),
        )
        for one in found
    ]
    print_table(("COMMUNITY", "EVENTS", "BYTES", "OLDEST", "NEWEST"), rows)


def _events(batches: Iterator[Archived]) -> Iterator[tuple[str, Received[Any]]]:
    """Yield events, each with the topic of its community."""
    for community, batch in batches:
        received = received_of(batch, typed.read_sent if batch.typed else None)
        for event in received if isinstance(received, ReceivedBatch) else [received]:
            yield community, event


def _line(community: str, event: Received[Any]) -> dict[str, object]:
    """Return an event as `subscribe` prints it, but for its hops, of which an archive has none."""
    line = {name: value for name, value in json_of(event).items() if name != "hops"}
    return {"community": community, "published": event.published, **line}


def _export(batches: Iterator[Archived], target: str) -> None:
    if target == _STDOUT:
        for one in _events(batches):
            print_line(json_line(_line(*one)))
        return
    path = Path(target)
    with _new(path) as file:
        if path.suffix == ".parquet":
            with extras_named("spark"):
                count = _write_parquet(batches, file)
        else:
            count = 0
            for one in _events(batches):
                file.write(json_line(_line(*one)).encode() + b"\n")
                count += 1
    say(f"{count:,} events written to {path}")


@contextmanager
def _new(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that takes its place when it is whole."""
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise CommandError(f"--export {path}: {error.strerror}") from None


def _write_parquet(batches: Iterator[Archived], file: IO[bytes]) -> int:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    schema = pyarrow.schema(
        [
            ("community", pyarrow.string()),
            ("topic", pyarrow.string()),
            ("id", pyarrow.string()),
            ("published", pyarrow.timestamp("ms", tz="UTC")),
            ("payload", pyarrow.binary()),
            ("typed", pyarrow.bool_()),
        ]
    )
    count = 0
    with ParquetWriter(file, schema) as writer:
        rows: list[dict[str, object]] = []

        def flush() -> None:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))
            rows.clear()

        for community, batch in batches:
            for event in batch.events():
                rows.append(
                    {
                        "community": community,
                        "topic": event.topic.name,
                        "id": str(event.id),
                        "published": event.published,
                        "payload": event.payload,
                        "typed": event.typed,
                    }
                )
                count += 1
            if len(rows) >= _ROW_GROUP:
                flush()
        flush()
    return count


def _verify(
    reader: ArchiveReader,
    trust: list[Path],
    community: Topic | None,
    since: float,
    *,
    json: bool,
) -> None:
    from camcast.live.profiles.key_file import read_public_key
    from camcast.security.known_chains import KnownChains
    from camcast.security.refusals import RefusedError
    from camcast.security.signed_batches import verify_batch

    chains = KnownChains([read_public_key(path) for path in trust])
    kept = reader.chains()
    verified, refused = 0, Counter[str]()
    for name, batch in reader.batches(community, since):
        published = batch.published / 1000
        try:
            if (chain := kept.pop(batch.certificate, None)) is not None:
                chains.learn(chain, published, inf)
            verify_batch(batch, Topic.parse(name), chains, published, inf)
        except RefusedError as error:
            refused[error.reason.value] += batch.count
        else:
            verified += batch.count
    if json:
        print_json(VerifiedHistory(verified=verified, refused=dict(refused)), "history-verify/1")
    else:
        say(f"{verified:,} events verified")
        for reason, count in sorted(refused.items()):
            say(f"{count:,} events are not proved: {reason}")
    if refused:
        raise typer.Exit(EXIT_FAILED)


def _repair(path: Path, *, json: bool) -> None:
    if not _is_damaged(path):
        if json:
            print_json(RepairedArchive(damaged=False), "history-repair/1")
        else:
            say(f"{path} is not damaged: nothing was changed")
        return
    saved = salvage(path)
    if json:
        repaired = RepairedArchive(damaged=True, batches=saved.batches, kept_as=str(saved.kept_as))
        print_json(repaired, "history-repair/1")
    else:
        say(f"{saved.batches:,} batches of events saved; {saved.kept_as} is the damaged file")


def _is_damaged(path: Path) -> bool:
    try:
        with closing(ArchiveReader(path)) as reader:
            return reader.is_damaged()
    except DamagedArchiveError:
        return True
