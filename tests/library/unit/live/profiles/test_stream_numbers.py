from __future__ import annotations

import logging
from pathlib import Path

import pytest

from camcast.live.profiles.key_file import KeyFileError
from camcast.live.profiles.stream_numbers import StreamNumbers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ada.streams"


def test_a_clock_that_was_set_back_brings_no_number_again(path: Path) -> None:
    assert StreamNumbers(path).reserve(1_000, 10) == 1_000
    assert StreamNumbers(path).reserve(1_000, 10) == 1_010
    assert StreamNumbers(path).reserve(0, 10) == 1_020
    assert StreamNumbers(path).reserve(5_000, 10) == 5_000


def test_one_process_goes_on_where_it_was_and_two_with_one_key_share_none(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    one, two = StreamNumbers(path), StreamNumbers(path)
    assert [each.reserve(1_000, 10) for each in (one, two, one, two)] == [
        1_000,
        1_010,
        1_020,
        1_030,
    ]
    assert "another process uses" in caplog.text  # but its own earlier start is none
    caplog.clear()
    assert StreamNumbers(path).reserve(1_000, 10) == 1_040
    assert not caplog.text


def test_the_file_is_its_owner_s_alone_and_nothing_else_is_left(path: Path) -> None:
    StreamNumbers(path).reserve(1_000, 10)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "changed", ["", "{text} ", "camcast-streams-1 7 00000000", "\xff", "{text}" * 99]
)
def test_a_damaged_file_is_refused(changed: str, path: Path) -> None:
    StreamNumbers(path).reserve(1_000, 10)
    path.write_text(changed.replace("{text}", path.read_text()))
    with pytest.raises(KeyFileError, match=r"ada\.streams: damaged; .* remove the file"):
        StreamNumbers(path)


def test_a_file_that_cannot_be_written_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = StreamNumbers(tmp_path / "no such folder" / "ada.streams")
    with caplog.at_level(logging.WARNING):
        assert [numbers.reserve(1_000, 10), numbers.reserve(1_000, 10)] == [1_000, 1_010]
    assert [message[:41] for message in caplog.messages] == [
        "cannot keep the numbers of this process's"
    ]
