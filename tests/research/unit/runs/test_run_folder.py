"""The folder of a run is its owner's, and has nothing in it that is elsewhere."""

import os
import stat
import zlib
from pathlib import Path

import pytest

from camcast.observe.trace import JsonLinesSink
from camcast.observe.trace_reading import RunEntryError, check_entries
from camcast.ops.output_place import OutputError
from camcast.research.runs import run_folder
from camcast.research.runs.run_folder import OutputFolder, dated_folder, trace_files
from tests.camcast_command import Capture, refusal
from tests.research.unit.pipeline.run_folders import CALM


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is swordfish\n")
    return secret


def test_a_new_folder_and_its_traces_are_for_nobody_else(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        folder = OutputFolder(tmp_path / "runs" / "one")
        with JsonLinesSink(folder.trace(0)):
            pass
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.path, folder.trace(0))]
    assert modes == [0o700, 0o600]


def test_what_leaves_the_folder_is_refused_and_what_stays_is_not(
    tmp_path: Path, secret: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "trace-0.jsonl").touch()
    (run / "trace-1.jsonl").symlink_to("trace-0.jsonl")
    check_entries(run)
    for place in (secret, tmp_path, Path("/etc/hostname"), tmp_path / "absent"):
        link = run / "trace-2.jsonl"
        link.symlink_to(place)
        with pytest.raises(RunEntryError, match=r"trace-2\.jsonl is a link out of"):
            check_entries(run)
        link.unlink()
    os.mkfifo(run / "trace-3.jsonl")
    with pytest.raises(RunEntryError, match=r"trace-3\.jsonl is neither"):
        check_entries(run)


def test_the_command_that_explains_an_event_reads_no_linked_file(
    tmp_path: Path, secret: Path, capfd: Capture
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "trace-0.jsonl").symlink_to(secret)
    code, said = refusal(capfd, "trace", f"{'00' * 16}-1-1", run)
    assert code == 2
    assert "is a link out of the run's folder" in said
    assert "swordfish" not in said


def test_each_default_folder_is_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are made in one second, in one process or several."""
    monkeypatch.chdir(tmp_path)
    made = [dated_folder("compare") for _ in range(5)]
    assert len(set(made)) == len(list((tmp_path / "runs").iterdir())) == 5
    monkeypatch.chdir(Path("/proc"))
    with pytest.raises(OutputError, match="cannot make runs/compare-"):
        dated_folder("compare")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    folder.write_scenario(CALM, "virtual")
    (tmp_path / "summary.json").symlink_to("/dev/full")  # Linux's: as on a full disk
    with pytest.raises(OutputError, match=r"cannot write .*/summary\.json: No space left"):
        folder.write_summary({"events": 1})


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 2**20])
@pytest.mark.parametrize("last", [b"", b"\n"])
def test_lines_are_counted_and_their_ends_are_alike(
    piece: int, last: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a summary says of the traces is their content, whatever system wrote it."""
    monkeypatch.setattr(run_folder, "_PIECE_BYTES", piece)
    plain = b"{}\n" + b'{"a":"\r"}\n' + b"{}" + last
    (tmp_path / "trace-0.jsonl").write_bytes(plain)
    (tmp_path / "trace-1.jsonl").write_bytes(plain.replace(b"\n", b"\r\n"))
    (tmp_path / "trace-2.jsonl").write_bytes(b"")
    (tmp_path / "trace-3.parquet").write_bytes(b"PAR1\r\n")
    found = trace_files(tmp_path)
    assert found["trace-0.jsonl"] == found["trace-1.jsonl"]
    assert found["trace-0.jsonl"].records == 3
    assert found["trace-0.jsonl"].crc32 == f"{zlib.crc32(plain):08x}"
    assert (found["trace-2.jsonl"].records, found["trace-3.parquet"].records) == (0, None)
    assert found["trace-3.parquet"].crc32 == f"{zlib.crc32(b'PAR1' + bytes((13, 10))):08x}"
