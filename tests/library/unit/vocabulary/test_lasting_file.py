"""Files that must last: whole, private, through links, no leftovers, one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from camcast.vocabulary import lasting_file
from camcast.vocabulary.lasting_file import (
    locked,
    make_lasting_folder,
    move_lasting,
    write_lasting,
)


def leftover_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.abcd_123.camcast-new")


def test_a_file_takes_the_place_of_another_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.list"
    for content in (b"one", b"two" * 100_000, b""):
        write_lasting(path, content, 0o644)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", ["file", "link", "dangling link", "folder"])
def test_a_new_file_replaces_nothing(tmp_path: Path, there: str) -> None:
    path, other = tmp_path / "a.key", tmp_path / "other"
    match there:
        case "file":
            path.write_text("precious")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(other)
    if there == "link":
        other.write_text("precious")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(FileExistsError):
        write_lasting(path, b"new", 0o600, replace=False)
    assert sorted(os.listdir(tmp_path)) == before


def test_the_mode_is_the_given_one_whatever_the_umask_and_never_wider_than_before(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    before = os.umask(0o777)
    try:
        write_lasting(path, b"1", 0o644)
        assert path.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
    path.chmod(0o640)
    write_lasting(path, b"2", 0o644)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o666)
    write_lasting(path, b"3", 0o644)
    assert path.stat().st_mode & 0o777 == 0o644


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    link, target = tmp_path / "a.list", tmp_path / "safe" / "b.list"
    link.symlink_to("safe/b.list")
    for content in (b"made", b"replaced"):
        write_lasting(link, content, 0o644)
        assert link.is_symlink()
        assert target.read_bytes() == content


def test_what_is_no_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    write_lasting(Path("/dev/null"), b"gone", 0o644)
    assert not Path("/dev/null").is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_lasting(pipe, b"through", 0o644)
    assert os.read(reader, 99) == b"through"
    os.close(reader)


def test_what_a_kill_left_is_removed_but_nothing_that_is_held_or_another_s(tmp_path: Path) -> None:
    path, kept = tmp_path / "a.key", [tmp_path / ".a.key.bak", leftover_of(tmp_path / "b.key")]
    left = leftover_of(path)
    for each in (left, *kept):
        each.write_text("secret")
    with left.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # its writer lives
        write_lasting(path, b"1", 0o600)
    assert left.exists()
    write_lasting(path, b"2", 0o600)
    assert sorted(tmp_path.iterdir()) == sorted([path, *kept])


def test_a_link_in_a_leftover_s_place_is_not_followed(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "a.key", tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    leftover_of(path).symlink_to(elsewhere)
    write_lasting(path, b"1", 0o600)
    assert elsewhere.read_text() == "precious"


def test_a_disk_that_keeps_something_else_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"otherwise")
    with pytest.raises(OSError, match="does not read back"):
        write_lasting(tmp_path / "a", b"so", 0o600)


def test_the_name_of_a_folder_is_on_the_disk_in_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever finds the folder there need not sync, so that a file in it is as cheap."""
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    make_lasting_folder(tmp_path / "plant/members", 0o700)
    assert synced == [tmp_path.stat().st_ino, (tmp_path / "plant").stat().st_ino]
    assert (tmp_path / "plant/members").stat().st_mode & 0o777 == 0o700
    synced.clear()
    make_lasting_folder(tmp_path / "plant/members")
    assert synced == []
    move_lasting(tmp_path / "plant/members", tmp_path / "aside")
    assert synced == [tmp_path.stat().st_ino, (tmp_path / "plant").stat().st_ino]
    (tmp_path / "plant/members").write_text("a file")
    with pytest.raises(FileExistsError):
        make_lasting_folder(tmp_path / "plant/members")


def test_folders_that_cannot_be_synced_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def of_files(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EINVAL, "as some file systems in user space answer")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", of_files)
    write_lasting(tmp_path / "a", b"so", 0o600)
    assert (tmp_path / "a").read_bytes() == b"so"


def test_a_lock_is_one_folder_s_and_a_holder_that_keeps_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting_file, "LOCK_SECONDS", 0.0)
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with locked(tmp_path / "a"), locked(other / "a"):
        for path in ("a", "b", "link"):
            with (
                pytest.raises(OSError, match="another process has locked this folder") as caught,
                locked(tmp_path / path),
            ):
                raise AssertionError("two hold it")
            assert caught.value.errno == errno.EAGAIN
        write_lasting(tmp_path / "a", b"within", 0o600)
    with locked(tmp_path / "a"):
        pass


def test_without_locks_the_log_says_what_must_not_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_locks(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with locked(tmp_path / "a"):
        write_lasting(tmp_path / "a", b"so", 0o600)
    assert "let no two processes write there at once" in caplog.text


def test_an_error_names_the_file_that_was_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And neither the temporary file nor its folder."""
    monkeypatch.chdir(tmp_path)
    given = Path("none/p.toml")
    with pytest.raises(OSError, match=r"No such file or directory: 'none/p\.toml'"):
        write_lasting(given, b"content", 0o600)
    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(OSError, match=r"No space left on device: 'p\.toml'"):
        write_lasting(Path("p.toml"), b"content", 0o600)


def _full(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
