from __future__ import annotations

import os
from pathlib import Path

import pytest

from camcast.live.profiles.key_file import (
    KeyFileError,
    beside,
    read_public_key,
    read_secret_key,
    write_key_pair,
)
from camcast.security.keys import SecretKey

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


def test_a_link_of_others_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    (tmp_path / f".ada.key.{os.getpid()}.new").symlink_to(elsewhere)
    write_key_pair(tmp_path / "ada.key", KEY)
    assert elsewhere.read_text() == "precious"
    assert read_secret_key(tmp_path / "ada.key") == KEY


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
