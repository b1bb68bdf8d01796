"""Usenet: posts to newsgroups, many of them cross-posted.

The file has data of headers, without text, names or addresses, from the Twenty Newsgroups
collection (Ken Lang; UCI).
"""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import Final

from camcast.research.workloads.csv_rows import Row, count, moment, read_rows, text
from camcast.research.workloads.publication import Publication, opaque_payload
from camcast.vocabulary.topics import Topic

POST_COLUMNS: Final = ("id", "utc", "author", "groups", "bytes", "reply_to")
# chosen: 92 % of the 19,463 posts of 1993 keep their true size (the median is 1,588 bytes);
# the tail, up to 161,040 bytes, would measure the bandwidth of the links, not the gossip.
PAYLOAD_BYTES_MAX: Final = 4096

_log = logging.getLogger(__name__)


def load_usenet(path: Path) -> list[Publication]:
    """Read posts; each is one publication, on all its groups, by its author.

    The group comp.lang.c is the topic ``.comp.lang.c``, and a group named twice by one post counts
    once. A ``/`` in a group is read as ``.`` and logged as a warning: news servers spool
    comp.lang.c in comp/lang/c, and two authors of 1993 wrote such a slash. The first post is at
    0 s. The payload begins with the post's id and is as long as the post was, at most
    `PAYLOAD_BYTES_MAX` bytes.

    Raises `WorkloadError` for a file, a row or a field that does not fit POST_COLUMNS.
    """
    try:
        found = path.stat()
    except OSError:  # reading the file raises the error with its reason
        return list(_posts(path, 0, 0))
    return list(_posts(path, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=2)  # chosen: comparisons run one file many times; 19,463 posts take 30 MB
def _posts(path: Path, _changed: int, _size: int) -> tuple[Publication, ...]:
    """Read the posts of a file; a changed file has another time or size, and is read again."""
    rows = sorted(read_rows(path, POST_COLUMNS), key=lambda row: row.read("utc", moment))
    start = rows[0].read("utc", moment)
    return tuple(
        Publication(
            at_seconds=(row.read("utc", moment) - start).total_seconds(),
            topics=_topics(row),
            payload=opaque_payload(
                row.read("id", text), min(row.read("bytes", count), PAYLOAD_BYTES_MAX)
            ),
            publisher=row.read("author", text),
        )
        for row in rows
    )


def _topics(row: Row) -> tuple[Topic, ...]:
    groups = row.read("groups", text)
    if "/" in groups:
        _log.warning("%s:%d: read '/' as '.' in groups %r", row.path, row.line, groups)
    names = groups.replace("/", ".").split()
    return row.read("groups", lambda _: tuple(dict.fromkeys(Topic.parse(f".{n}") for n in names)))
