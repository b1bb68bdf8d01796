"""Mutated files, texts and payloads: what a process reads beside frames and datagrams.

Each reader takes mutations of genuine bytes. It may refuse them by the error that it promises, and
raises no other. Where a checksum stands over the content, half of the mutations get a right one, so
that they come further in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Final
from zlib import crc32

import msgspec
import pytest
from attrs import field, frozen

from camcast.inbox.position import Position
from camcast.interests.bounded import read_interest
from camcast.interests.grammar import InterestError
from camcast.interests.interest import attributes_of
from camcast.live.archive.archive import FileArchive
from camcast.live.archive.cursor import Cursor, CursorFile
from camcast.live.archive.reading import ArchiveReader, salvage
from camcast.live.archive.schema import ArchiveError
from camcast.live.control_socket import ControlServer
from camcast.live.gateway_file import GatewayError, read_gateways
from camcast.live.profiles.certificate_file import (
    CertificateFileError,
    certificate_text,
    read_chain,
    read_lists,
    read_revocations,
    revocations_text,
)
from camcast.live.profiles.issuer_register import IssuerRegister, opened
from camcast.live.profiles.key_file import (
    KeyFileError,
    read_any_key,
    read_passphrase,
    read_secret_key,
    write_key_pair,
)
from camcast.live.profiles.stream_numbers import StreamNumbers
from camcast.live.wire.zmtp.codec import (
    ProtocolError,
    extensions_in,
    read_metadata,
    record_in,
    write_metadata,
)
from camcast.ops.dashboard import recording
from camcast.ops.dashboard.recording import RecordingError
from camcast.security.known_peers import read_introduction, write_introduction
from camcast.security.passphrase import PassphraseError, check_passphrase
from camcast.security.refusals import RefusedError
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import read_sent
from overlays.lan import SERVICE, _read, _read_hint
from overlays.remembered import recall, remember
from tests.authority import ADA, NOW, ROOT, grant, revocations
from tests.library.hostile.test_fuzz import GROWTH_MEGABYTES_MAX, INPUTS, megabytes
from tests.mutations import mutated

A = Topic.parse(".a")
STREAM = stream_id(ADA.public.peer_id, 1)
Make = Callable[[Path], Iterable[bytes]]


@frozen
class Reader:
    """Reads bytes at a path; `make` returns genuine ones, and may leave files beside that path."""

    take: Callable[[Path, bytes], object]
    make: Make
    refuses: tuple[type[Exception], ...] = ()
    mended: Callable[[bytes], bytes] = field(default=lambda data: data)
    """Puts right a checksum."""
    mutate: Callable[[Random, bytes], bytes] = mutated
    fewer: int = 1
    """By what its inputs are divided: most of them take 50 µs, and some milliseconds."""


def file(read: Callable[[Path], object]) -> Callable[[Path, bytes], object]:
    """Return a reader of files as a reader of bytes."""

    def take(path: Path, data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return take


def text(read: Callable[[str], object]) -> Callable[[Path, bytes], object]:
    return lambda _path, data: read(data.decode("utf-8", "replace"))


def plain(read: Callable[[bytes], object]) -> Callable[[Path, bytes], object]:
    return lambda _path, data: read(data)


def certificate_files(_path: Path) -> list[bytes]:
    chain = [grant(ROOT, ADA), grant(ROOT, ADA, ".chess", serial=2)]
    return [certificate_text(chain).encode(), certificate_text(chain[:1]).encode()]


def lists(_path: Path) -> list[bytes]:
    return [revocations_text(revocations(*serials)).encode() for serials in ((), (1, 2, 3))]


def key_files(path: Path) -> list[bytes]:
    public = write_key_pair(path.with_suffix(".key"), ADA)
    path.touch(0o600)
    return [path.with_suffix(".key").read_bytes(), public.read_bytes()]


def passphrase_files(path: Path) -> list[bytes]:
    path.touch(0o600)
    return [b"correct horse battery staple\n"]


def registers(path: Path) -> list[bytes]:
    key = path.with_suffix(".key")
    with opened(key, ROOT, NOW) as register:
        register.add(grant(ROOT, ADA), NOW)
        register.revoke([], [], NOW, 3600, issued_before={bytes(8): NOW}, first=True)
    return [path.with_suffix(".issued").read_bytes()]


def stream_files(path: Path) -> list[bytes]:
    StreamNumbers(path.with_suffix(".key")).reserve(1_000, 3)
    return [path.with_suffix(".streams").read_bytes()]


def remember_files(path: Path) -> list[bytes]:
    remember(path, {("10.0.0.1", 7000): "", ("10.0.0.2", 7001): "a" * 64})
    return [path.read_bytes()]


def remembered_mended(data: bytes) -> bytes:
    start = data.find(b'"contacts":')
    body = data[start + 11 : -1]
    return b'{"version":2,"crc32":%d,"contacts":%s}' % (crc32(body), body)


def archives(path: Path) -> list[bytes]:
    archive = FileArchive(path, 10_000_000, 86_400.0)
    for number in range(1, 60):
        batch = make_batch(STREAM, number, [b"%d" % number], A, published=1000 * NOW + number)
        archive.keep(A, batch, [b"certificate"])
    archive.close()
    return [path.read_bytes()]


def read_archive_file(path: Path) -> None:
    """Use an archive as a process, as `camcast history`, and as the command that repairs it."""
    for beside in path.parent.glob(f"{path.name}?*"):
        beside.unlink()
    with suppress(ArchiveError), closing(ArchiveReader(path)) as reader:
        reader.communities()
        reader.is_damaged()
        list(reader.batches())
        reader.chains()
    with suppress(ArchiveError):
        archive = FileArchive(path, 10_000_000, 86_400.0)
        try:
            archive.known(A, STREAM)
            list(archive.batches(A, STREAM, 1, 100, 0))
            list(archive.history(A, 0))
            archive.streams(A, 0)
            archive.lowest(A, STREAM, 0)
            archive.passed(A, Cursor(0, archive.last()))
            archive.reach(A), archive.oldest(A), archive.latest(A), archive.published(1)
            archive.chain(b"name")
            batch = make_batch(STREAM, 100, [b"new"], A, published=1000 * NOW + 100)
            archive.keep(A, batch, ())
        finally:
            archive.close()
    with suppress(ArchiveError):
        salvage(path)


def rotten(rng: Random, data: bytes) -> bytes:
    """Return a file as a failing disk has it: with some other bytes, beyond the first ones."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 5, 100))):
        content[rng.randrange(100, len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def cursors(path: Path) -> list[bytes]:
    with closing(CursorFile(path)) as cursor:
        cursor.move(Cursor(1, 2, 3, 4, 5, 6))
        cursor.move(Cursor(2, 2))
    return [path.read_bytes()]


def read_cursor(path: Path) -> None:
    CursorFile(path).close()


def recordings(path: Path) -> list[bytes]:
    recording.begin(path)
    for number in range(3):
        recording.append(path, {"taken": float(number), "nodes": [{"a": 1}]})
    return [path.read_bytes()]


def crc_mended(data: bytes) -> bytes:
    body = data[:-4]
    return body + crc32(body).to_bytes(4)


def answered(_path: Path, data: bytes) -> None:
    server = ControlServer(Path("unused"), {"status": dict, "level": lambda given: given.get("to")})
    answer = msgspec.json.decode(server._answer(data + b"\n"))
    assert answer.keys() <= {"answer", "error"}
    assert "its log says more" not in answer.get("error", "")


def read_mdns(_path: Path, data: bytes) -> None:
    name, *parts = data.split(b"|")
    properties: dict[bytes, bytes | None] = {}
    for part in parts:
        key, _, value = part.partition(b"=")
        properties[key] = value
    _read(name.decode("utf-8", "replace"), properties)
    _read_hint(properties)


def read_handshake(data: bytes) -> None:
    record_in(data)
    extensions_in(read_metadata(data))


MDNS: Final = f"{bytes(16).hex()}.{SERVICE}|address=tcp://10.0.0.1:7000|key=abc|{'01' * 8}="
TEXTS: Final = (b'a > 3 and b == "x" and .a', b".a or .b and a in (1, 2, 3)", b".a.b")

READERS: Final = {
    "gateways": Reader(
        file(read_gateways),
        lambda _: [b'[gateways]\n"." = ["tcp://192.0.2.1:7000", "tcp://[::1]:1"]\n".a" = []\n'],
        (GatewayError,),
    ),
    "certificates": Reader(file(read_chain), certificate_files, (CertificateFileError,), fewer=2),
    "revocations": Reader(file(read_revocations), lists, (CertificateFileError,), fewer=2),
    "lists": Reader(file(read_lists), lists, (CertificateFileError,), fewer=2),
    "keys": Reader(file(read_any_key), key_files, (KeyFileError,)),
    "secret keys": Reader(file(read_secret_key), lambda path: key_files(path)[:1], (KeyFileError,)),
    "passphrases": Reader(
        file(lambda path: check_passphrase(read_passphrase(path))),
        passphrase_files,
        (KeyFileError, PassphraseError),
    ),
    "register": Reader(
        lambda path, data: (
            path.with_suffix(".issued").write_bytes(data),
            IssuerRegister(path.with_suffix(".key"), ROOT).valid_at(NOW),
        ),
        registers,
        (CertificateFileError,),
        fewer=4,
    ),
    "streams": Reader(
        lambda path, data: (
            path.with_suffix(".streams").write_bytes(data),
            StreamNumbers(path.with_suffix(".key")),
        ),
        stream_files,
        (KeyFileError,),
    ),
    "remembered": Reader(file(recall), remember_files, mended=remembered_mended),
    "archive": Reader(file(read_archive_file), archives, mutate=rotten, fewer=400),
    "cursor": Reader(file(read_cursor), cursors, mended=crc_mended),
    "recording": Reader(file(recording.read), recordings, (RecordingError,)),
    "position": Reader(
        plain(lambda data: Position.decode(data, A.group)),
        lambda _: [Position(A.group, 1e9, {STREAM: 7}).encode()],
        (ValueError,),
        crc_mended,
    ),
    "interest": Reader(text(read_interest), lambda _: TEXTS, (InterestError,)),
    "payload": Reader(
        plain(lambda data: (attributes_of(data), read_sent(data))),
        lambda _: [b'{"a": 1, "b": [2.5e3, null]}', msgspec.msgpack.encode((("A",), {"x": 1}))],
    ),
    "control socket": Reader(
        answered, lambda _: [b'{"ask": "status"}', b'{"ask": "level", "to": [1, {"a": 2}]}']
    ),
    "mDNS": Reader(read_mdns, lambda _: [MDNS.encode()]),
    "READY": Reader(
        plain(read_handshake),
        lambda _: [
            write_metadata({"Socket-Type": b"PUSH", "X-Extensions": b"both,a", "X-Record": b"YQ=="})
        ],
        (ProtocolError,),
    ),
    "introduction": Reader(
        plain(read_introduction),
        lambda _: [write_introduction(Introduction(b"record", ((grant(ROOT, ADA),),)))],
        (RefusedError,),
    ),
}


# Files are written for each input: 10^4 for each reader, of archives 25.
@pytest.mark.parametrize("count", [400, pytest.param(INPUTS // 10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_no_mutation_makes_a_reader_raise_or_grow(name: str, count: int, tmp_path: Path) -> None:
    reader, rng, path = READERS[name], Random(count), tmp_path / "given"
    genuine = list(reader.make(path))
    logging.disable()  # refusals are told
    try:
        for data in genuine:
            reader.take(path, data)
        before = megabytes()
        for _ in range(-(-count // reader.fewer)):
            data = reader.mutate(rng, rng.choice(genuine))
            if rng.random() < 0.5:
                data = reader.mended(data)
            with suppress(*reader.refuses):
                reader.take(path, data)
    finally:
        logging.disable(logging.NOTSET)
    assert megabytes() - before < GROWTH_MEGABYTES_MAX
