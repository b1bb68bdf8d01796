"""Places for results: what cannot be written is refused, and nothing is lost or left behind."""

import os
from pathlib import Path

import pytest

from camcast.ops.output_place import OutputError, make_output_folder, output_file


def test_a_file_keeps_what_it_has_until_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="cut short"), output_file(path):
        raise RuntimeError("cut short")
    assert path.read_text() == "old"
    with output_file(path):
        path.write_text("new")
    assert path.read_text() == "new"


def test_a_new_file_that_nothing_was_written_to_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with pytest.raises(KeyboardInterrupt), output_file(path):
        raise KeyboardInterrupt
    assert not path.exists()


def test_no_file_is_no_file() -> None:
    with output_file(None):
        pass


@pytest.mark.parametrize("place", ["absent/table.csv", "."])
def test_a_file_that_cannot_be_written_is_refused_by_name(place: str, tmp_path: Path) -> None:
    path = tmp_path / place
    with pytest.raises(OutputError) as refused, output_file(path):
        pytest.fail("the block was entered")
    assert f"--output {path}: " in str(refused.value.strerror)


def test_a_folder_is_made_and_stays_empty(tmp_path: Path) -> None:
    for _ in range(2):
        make_output_folder(tmp_path / "a" / "b")
        assert not [*(tmp_path / "a" / "b").iterdir()]


def test_a_folder_below_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError) as refused:
            make_output_folder(path)
        assert f"--output {path}: " in str(refused.value.strerror)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_there_and_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(OutputError, match="Permission denied"):
        make_output_folder(tmp_path)
