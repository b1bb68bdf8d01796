"""Endpoints of earlier runs in a small file, for a start at which no bootstrap node answers.

The file is one line of JSON with a checksum, replaced atomically and readable by its owner only.
A file that is damaged, too long or of another version is ignored. An endpoint from the file is
pinged like any other and enters a routing table only if it answers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from camcast.doors.datagrams import Endpoint
from overlays.kademlia.table import usable

log = logging.getLogger(__name__)

REMEMBERED_MAX: Final = 64  # chosen: three buckets; in a churn of 90 % some six still answer
_FILE_BYTES_MAX: Final = 65_536  # chosen: 64 contacts need 2 KB
_VERSION: Final = 1
_contacts = msgspec.json.Decoder(list[Endpoint])


class _File(msgspec.Struct):
    version: int
    crc32: int
    contacts: msgspec.Raw


_file = msgspec.json.Decoder(_File)


def recall(path: Path) -> list[Endpoint]:
    """Return the endpoints in the file; none if the file is absent or cannot be read."""
    try:
        with path.open("rb") as source:
            data = source.read(_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("cannot read the remembered contacts in %s: %s", path, error)
        return []
    try:
        if len(data) > _FILE_BYTES_MAX:
            raise ValueError("it is too long")
        content = _file.decode(data)
        if content.version != _VERSION:
            raise ValueError(f"its version is {content.version}, not {_VERSION}")
        if crc32(content.contacts) != content.crc32:
            raise ValueError("its checksum is wrong")
        contacts = _contacts.decode(content.contacts)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        log.warning("the remembered contacts in %s are ignored: %s", path, error)
        return []
    return [contact for contact in contacts[:REMEMBERED_MAX] if usable(contact)]


def remember(path: Path, contacts: Sequence[Endpoint]) -> bool:
    """Write the endpoints; return whether that worked. A crash leaves the old file or the new."""
    body = msgspec.json.encode(list(contacts[:REMEMBERED_MAX]))
    data = msgspec.json.encode(_File(_VERSION, crc32(body), msgspec.Raw(body)))
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        # Left by a process of this number that crashed; O_EXCL then follows no link of others.
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            target.write(data)  # No fsync: what a power cut tears, the checksum shows.
        new.replace(path)
    except OSError as error:
        log.warning("cannot write the remembered contacts to %s: %s", path, error)
        with suppress(OSError):
            new.unlink(missing_ok=True)
        return False
    return True
