"""The file of remembered endpoints: bounded, private, written whole, and read with suspicion."""

from __future__ import annotations

import stat
from pathlib import Path
from random import Random

import pytest

from camcast.doors.datagrams import Endpoint
from overlays.remembered import (
    REMEMBERED_ASKED,
    REMEMBERED_MAX,
    WRITE_SECONDS,
    Remembered,
    recall,
    remember,
)


def anybody(_endpoint: Endpoint) -> bool:
    return True


def test_what_was_written_is_recalled_in_the_same_order(tmp_path: Path) -> None:
    path = tmp_path / "contacts"
    first = Remembered(path, anybody)
    for port in (1, 2, 3, 1):
        first.note(("10.0.0.1", port))
    assert [port for _, port in first.latest] == [1, 3, 2]
    first.write(0.0, final=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    second = Remembered(path, lambda endpoint: endpoint[1] != 3)
    second.recall()
    assert [port for _, port in second.latest] == [1, 2]


def test_a_key_is_kept_beside_its_endpoint_until_another_is_said(tmp_path: Path) -> None:
    here, there = ("10.0.0.1", 1), ("10.0.0.1", 2)
    first = Remembered(tmp_path / "contacts", anybody)
    for endpoint, key in ((here, "old"), (there, ""), (here, ""), (here, "new"), (here, "")):
        first.note(endpoint, key)
    first.write(0.0, final=True)
    second = Remembered(tmp_path / "contacts", anybody)
    second.recall()
    assert (second.key_of(here), second.key_of(there)) == ("new", "")


def test_the_latest_are_kept_and_some_are_drawn() -> None:
    memory = Remembered(None, anybody)
    endpoints = [("10.0.0.1", port) for port in range(1, 2 * REMEMBERED_MAX)]
    for endpoint in endpoints:
        memory.note(endpoint)
    assert list(memory.latest) == endpoints[: -REMEMBERED_MAX - 1 : -1]
    drawn = memory.some(Random(1), without=memory.latest[:50])
    assert sorted(drawn) == sorted(memory.latest[50:])
    assert len(memory.some(Random(1), without=())) == REMEMBERED_ASKED
    memory.write(0.0, final=True)  # there is no file


def test_the_file_is_written_for_news_alone_and_not_too_often(tmp_path: Path) -> None:
    path = tmp_path / "contacts"
    memory = Remembered(path, anybody)
    memory.write(0.0)
    assert not path.exists()
    for now, written in ((1.0, 1), (2.0, 1), (1.0 + WRITE_SECONDS, 3)):
        memory.note(("10.0.0.1", 1 + int(now)))
        memory.write(now)
        assert len(recall(path)) == written
    path.unlink()
    memory.write(1e6, final=True)  # no news
    assert not path.exists()


def test_a_folder_that_is_not_there_is_told_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Remembered(tmp_path / "contacts", anybody).recall()
    assert not caplog.text
    Remembered(tmp_path / "absent" / "contacts", anybody).recall()
    assert "there is no folder" in caplog.text


def test_a_damaged_file_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "contacts.json"
    assert recall(path) == {}
    assert caplog.records == []
    contacts = {("127.0.0.1", 1): "", ("10.0.0.1", 65_535): "key"}
    assert remember(path, contacts)
    assert recall(path) == contacts
    good = path.read_bytes()
    damaged = [
        b"",
        good[:-1],
        good.replace(b"10.0", b"11.0"),
        good.replace(b'"key"', b'"kex"'),
        good.replace(b'"version":2', b'"version":1'),
        b"[" * 10_000,
        b"\xff" * 10,
        b" " * 70_000 + good,
    ]
    for data in damaged:
        path.write_bytes(data)
        caplog.clear()
        assert recall(path) == {}
        assert "ignored" in caplog.text
    assert not remember(tmp_path / "absent" / "contacts.json", contacts)
    assert recall(tmp_path) == {}
