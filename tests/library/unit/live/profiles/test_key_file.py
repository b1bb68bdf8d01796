from __future__ import annotations

import os
import tempfile
import unicodedata
from pathlib import Path

import pytest

from camcast.live.profiles.key_file import (
    KeyFileError,
    beside,
    read_passphrase,
    read_public_key,
    read_root,
    read_secret_key,
    write_key_pair,
    write_public_key,
)
from camcast.security.keys import SecretKey
from camcast.security.passphrase import check_passphrase

KEY = SecretKey(bytes(range(32)))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_pair_is_read_as_it_was_written(tmp_path: Path) -> None:
    public = write_key_pair(tmp_path / "ada.key", KEY)
    assert read_secret_key(tmp_path / "ada.key") == KEY
    assert read_public_key(public) == KEY.public
    assert sorted(os.listdir(tmp_path)) == ["ada.key", "ada.pub"]


def test_the_secret_is_its_owner_s_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = write_key_pair(tmp_path / "ada.key", KEY)
    finally:
        os.umask(before)
    assert (mode(tmp_path / "ada.key"), mode(public)) == (0o600, 0o644)
    assert KEY.text not in public.read_text()


@pytest.mark.parametrize("readable", [0o604, 0o640, 0o660, 0o610, 0o602])
def test_a_secret_that_others_may_read_or_write_is_refused(tmp_path: Path, readable: int) -> None:
    path = tmp_path / "ada.key"
    write_key_pair(path, KEY)
    path.chmod(readable)
    with pytest.raises(KeyFileError, match=rf"mode {readable:04o}.*chmod 600 {path}"):
        read_secret_key(path)


@pytest.mark.parametrize("there", ["ada.key", "ada.pub"])
def test_no_file_is_written_over(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("precious")
    with pytest.raises(KeyFileError, match=f"{there} exists"):
        write_key_pair(tmp_path / "ada.key", KEY)
    assert os.listdir(tmp_path) == [there]
    assert (tmp_path / there).read_text() == "precious"


@pytest.mark.parametrize("name", ["", "a" * 300], ids=["none", "too long"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    with pytest.raises(KeyFileError, match=r"is no name of a file|too long"):
        write_key_pair(Path(name), KEY)


def test_no_link_of_others_is_followed(tmp_path: Path) -> None:
    (tmp_path / "ada.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFileError, match=r"ada\.key exists"):
        write_key_pair(tmp_path / "ada.key", KEY)
    assert os.listdir(tmp_path) == ["ada.key"]


def test_a_lost_public_file_is_made_again_and_another_s_stays(tmp_path: Path) -> None:
    public = write_key_pair(tmp_path / "ada.key", KEY)
    whole = public.read_text()
    public.unlink()
    assert write_public_key(tmp_path / "ada.key") == public
    assert (public.read_text(), mode(public)) == (whole, 0o644)
    write_public_key(tmp_path / "ada.key")
    public.write_text(f"{SecretKey(bytes(32)).public}\n")
    with pytest.raises(KeyFileError, match="another key than that of"):
        write_public_key(tmp_path / "ada.key")


@pytest.mark.parametrize("form", ["{}", "{}\r\n", "\ufeffcamcast-public-key-1 {}", "  {}  "])
def test_a_public_key_is_read_as_it_was_printed_or_saved(tmp_path: Path, form: str) -> None:
    path = tmp_path / "ada.pub"
    path.write_text(form.format(KEY.public))
    assert read_public_key(path) == KEY.public


@pytest.mark.parametrize("readable", [0o440, 0o400])
def test_a_secret_as_containers_mount_it_is_taken_with_a_warning(
    tmp_path: Path, readable: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "ada.key"
    write_key_pair(path, KEY)
    path.chmod(readable)
    assert read_secret_key(path) == KEY
    assert ("it is taken, since secrets of containers" in caplog.text) == (readable == 0o440)


@pytest.mark.skipif(os.getuid() != 0, reason="only root has files that others run with")
@pytest.mark.parametrize(("readable", "taken"), [(0o640, True), (0o444, True), (0o660, False)])
def test_root_s_file_may_be_readable_for_the_process_that_it_is_for(
    readable: int, taken: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # above which all folders are everybody's
        os.chmod(folder, 0o755)
        path = Path(folder, "ada.key")
        write_key_pair(path, KEY)
        path.chmod(readable)
        os.chown(path, 0, 65534)
        if not (child := os.fork()):
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            try:
                os._exit(0 if read_secret_key(path) == KEY else 2)
            except KeyFileError:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if taken else 1)


def test_a_root_that_others_may_write_is_refused(tmp_path: Path) -> None:
    public = write_key_pair(tmp_path / "ada.key", KEY)
    assert read_root(public) == KEY.public
    for writable in (0o664, 0o646):
        public.chmod(writable)
        with pytest.raises(KeyFileError, match=rf"mode {writable:04o}.* chmod go-w {public}"):
            read_root(public)


PASSPHRASE = "five words that nobody else h\xe0s"


@pytest.mark.parametrize(
    "saved",
    [
        PASSPHRASE.encode(),
        f"{PASSPHRASE}\n".encode(),
        f"{PASSPHRASE}\r\n".encode(),
        f"\ufeff{PASSPHRASE}\r\n".encode(),
        f" {PASSPHRASE} \t\n\n".encode(),
        unicodedata.normalize("NFD", PASSPHRASE).encode(),
    ],
)
def test_a_passphrase_is_one_key_however_an_editor_saved_it(tmp_path: Path, saved: bytes) -> None:
    path = tmp_path / "group.pass"
    path.write_bytes(saved)
    path.chmod(0o600)
    by_shell = saved.decode().rstrip("\n")  # CAMCAST_PASSPHRASE="$(cat group.pass)"
    assert check_passphrase(read_passphrase(path)) == PASSPHRASE
    assert check_passphrase(by_shell) == PASSPHRASE


@pytest.mark.parametrize(
    "saved",
    [
        PASSPHRASE.encode("latin-1"),  # two of these must not become one by a replaced letter
        PASSPHRASE.encode("utf-16"),
        f"{PASSPHRASE}\nand a line".encode(),
        b"",
        b"\n",
    ],
)
def test_what_is_no_line_of_text_is_no_passphrase(tmp_path: Path, saved: bytes) -> None:
    path = tmp_path / "group.pass"
    path.write_bytes(saved)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match=f"{path}: not a passphrase"):
        read_passphrase(path)


def test_the_public_file_s_name() -> None:
    names = {"ada.key": "ada.pub", "ada": "ada.pub", "ada.v1": "ada.v1.pub", "d.key/ada": "ada.pub"}
    assert {name: beside(Path(name), ".pub").name for name in names} == names


def test_the_other_file_of_a_pair_is_named(tmp_path: Path) -> None:
    public = write_key_pair(tmp_path / "ada.key", KEY)
    with pytest.raises(KeyFileError, match=rf"the secret key; name .*{public.name}"):
        read_public_key(tmp_path / "ada.key")
    with pytest.raises(KeyFileError, match="the public key; name the file of the secret one"):
        read_secret_key(public)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "not a key file"),
        ("# only a comment\n", "not a key file"),
        (f"{KEY.text}\n", "not a key file"),
        (f"camcast-secret-key-2 {KEY.text}\n", "not a key file"),
        (f"camcast-secret-key-1 {KEY.text}\n" * 2, "not a key file"),
        (f"camcast-secret-key-1 {KEY.text} ada\n", "not a key file"),
        (f"camcast-secret-key-1 {KEY.text}\n" + "#" * 4096, "not a key file"),
        ("camcast-secret-key-1 abc\n", "has 56 characters, this text has 3"),
        (f"camcast-secret-key-1 {KEY.public.text}\n", "this is a public key"),
        (f"camcast-secret-key-1 {KEY.text[:-1]}\u00e9\n", "is made of the letters"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "ada.key"
    path.touch(0o600)
    path.write_text(content)
    with pytest.raises(KeyFileError, match=fault) as caught:
        read_secret_key(path)
    assert str(caught.value).startswith(str(path))
    assert KEY.text[:-1] not in str(caught.value)


def test_what_the_system_says_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"ada\.pub: No such file"):
        read_public_key(tmp_path / "ada.pub")
    with pytest.raises(KeyFileError, match=r"ada\.key: No such file"):
        write_key_pair(tmp_path / "none" / "ada.key", KEY)
