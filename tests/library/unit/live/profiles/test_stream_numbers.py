from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from camcast.live.profiles.key_file import KeyFileError
from camcast.live.profiles.stream_numbers import StreamNumbers


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The path of a key, beside which the numbers are kept."""
    return tmp_path / "ada.key"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ada.streams"


def test_a_clock_that_was_set_back_brings_no_number_again(key: Path) -> None:
    assert StreamNumbers(key).reserve(1_000, 10) == 1_000
    assert StreamNumbers(key).reserve(1_000, 10) == 1_010
    assert StreamNumbers(key).reserve(0, 10) == 1_020
    assert StreamNumbers(key).reserve(5_000, 10) == 5_000


def test_one_process_goes_on_where_it_was_and_two_with_one_key_share_none(
    key: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    one, two = StreamNumbers(key), StreamNumbers(key)
    conflicts = list[int]()
    one.on_conflict = lambda: conflicts.append(1)
    two.on_conflict = lambda: conflicts.append(2)
    assert [each.reserve(1_000, 10) for each in (one, two, one, two)] == [
        1_000,
        1_010,
        1_020,
        1_030,
    ]
    assert "another process uses" in caplog.text  # but its own earlier start is none
    assert conflicts == [2, 1, 2]
    caplog.clear()
    assert StreamNumbers(key).reserve(1_000, 10) == 1_040
    assert not caplog.text


@pytest.mark.parametrize("older", [True, False], ids=["an older copy", "removed"])
def test_an_older_copy_of_the_file_is_told_and_brings_no_number_again(
    key: Path, path: Path, older: bool, caplog: pytest.LogCaptureFixture
) -> None:
    conflicts = list[str]()
    numbers = StreamNumbers(key)
    numbers.on_conflict = lambda: conflicts.append("older")
    assert numbers.reserve(1_000, 10) == 1_000
    copy = path.read_bytes()
    assert numbers.reserve(1_000, 10) == 1_010
    path.unlink()
    if older:
        path.write_bytes(copy)
    assert numbers.reserve(0, 10) == 1_020
    assert "ada.streams was removed, or replaced by an older copy" in caplog.text
    assert conflicts == ["older"]
    assert StreamNumbers(key).reserve(0, 10) == 1_030


def test_processes_that_start_at_once_share_no_number(key: Path) -> None:
    children = []
    for _ in range(8):
        reader, writer = os.pipe()
        if not (child := os.fork()):
            numbers = StreamNumbers(key)
            for _ in range(10):
                os.write(writer, b"%d " % numbers.reserve(1_000, 10))
            os._exit(0)
        os.close(writer)
        children.append((child, reader))
    found = list[int]()
    for child, reader in children:
        with open(reader, "rb") as source:
            found += [int(number) for number in source.read().split()]
        assert os.waitpid(child, 0)[1] == 0
    assert sorted(found) == [1_000 + 10 * place for place in range(80)]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_start_as_root_leaves_the_file_to_the_owner_of_the_key(key: Path, path: Path) -> None:
    key.touch()
    os.chown(key, 65534, 65533)
    StreamNumbers(key).reserve(1_000, 10)
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)


def test_the_file_is_its_owner_s_alone_and_nothing_else_is_left(key: Path, path: Path) -> None:
    StreamNumbers(key).reserve(1_000, 10)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "changed", ["", "{text} ", "camcast-streams-1 7 00000000", "\xff", "{text}" * 99]
)
def test_a_damaged_file_is_refused(changed: str, key: Path, path: Path) -> None:
    StreamNumbers(key).reserve(1_000, 10)
    path.write_text(changed.replace("{text}", path.read_text()))
    with pytest.raises(KeyFileError, match=r"ada\.streams: damaged; .* remove the file"):
        StreamNumbers(key)


def test_a_file_that_cannot_be_written_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = StreamNumbers(tmp_path / "no such folder" / "ada.key")
    with caplog.at_level(logging.WARNING):
        assert [numbers.reserve(1_000, 10), numbers.reserve(1_000, 10)] == [1_000, 1_010]
    assert [message[:41] for message in caplog.messages] == [
        "cannot keep the numbers of this process's"
    ]
