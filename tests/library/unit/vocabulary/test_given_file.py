"""A pipe where a file is expected stops no process: it is read for a while, or refused by name."""

from __future__ import annotations

import errno
import os
import shlex
import threading
from pathlib import Path

import pytest

from camcast.vocabulary import given_file
from camcast.vocabulary.given_file import open_regular, open_to_write, read_given, read_regular
from tests.authority import ADA, ROOT
from tests.camcast_command import Capture, camcast, refusal
from tests.library.live.identities import enrol


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(given_file, "PIPE_SECONDS", 0.05)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_file_is_read_up_to_one_byte_more_than_it_may_have(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for size, read in ((0, 0), (100_000, 100_000), (100_001, 100_001), (200_000, 100_001)):
        path.write_bytes(b"x" * size)
        data, found = read_given(path, 100_000)
        assert (len(data), found.st_size) == (read, size)
        assert read_regular(path, 100_000) == data


@pytest.mark.parametrize("name", ["a\0b", "a\ud8ff"])
def test_what_cannot_be_a_path_is_an_error_as_a_missing_file_is(name: str) -> None:
    for opened in (
        lambda: read_given(Path(name), 10),
        lambda: read_regular(Path(name), 10),
        lambda: open_regular(Path(name), os.O_RDWR | os.O_CREAT, 0o600),
        lambda: open_to_write(Path(name), os.O_WRONLY | os.O_CREAT, 0o600),
    ):
        with pytest.raises(OSError, match="it cannot be a path: ") as raised:
            opened()
        assert raised.value.errno == errno.EINVAL


def test_a_pipe_is_read_whole_also_if_its_writer_comes_later(
    pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_file, "PIPE_SECONDS", 60.0)
    content = os.urandom(200_000)  # more than a pipe holds
    writer = threading.Timer(0.05, pipe.write_bytes, [content])
    writer.start()
    assert read_given(pipe, 2**20)[0] == content
    writer.join()


def test_a_pipe_without_another_end_is_an_error(pipe: Path) -> None:
    with pytest.raises(OSError, match="nobody has written") as raised:
        read_given(pipe, 100)
    assert raised.value.errno == errno.ETIMEDOUT
    with pytest.raises(OSError, match="nobody reads"):
        open_to_write(pipe, os.O_WRONLY | os.O_APPEND, 0o600)


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "/dev/null"])
def test_what_is_read_twice_is_no_pipe_and_no_device(path: str, pipe: Path) -> None:
    with pytest.raises(OSError, match="and no file"):
        read_regular(Path(path), 100)
    with pytest.raises(OSError, match="and no file"):
        open_regular(Path(path), os.O_RDWR, 0o600)


def test_writes_to_a_pipe_wait_for_its_reader(pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = open_to_write(pipe, os.O_WRONLY, 0o600)
    assert os.get_blocking(writer)
    os.close(writer)
    os.close(reader)


SIGNED = "--identity ada.key --certificate ada.cert --trust root.pub"


@pytest.mark.parametrize(
    "command",
    [
        "subscribe .a --config pipe",
        "subscribe .a --gateways pipe",
        "subscribe .a --passphrase-file pipe",
        "subscribe .a --position pipe",
        "subscribe .a --archive pipe",
        "subscribe .a --audit pipe",
        "subscribe .a --control pipe",
        f"subscribe .a {SIGNED.replace('ada.key', 'pipe')}",
        f"subscribe .a {SIGNED.replace('ada.cert', 'pipe')}",
        f"subscribe .a {SIGNED.replace('root.pub', 'pipe')}",
        f"subscribe .a {SIGNED} --revocations pipe",
        "history pipe",
        "keys show pipe",
        "certify --with pipe --for ada.pub --topic .a --may join",
        "certify --with root.key --for ada.pub --topic .a --may join --output pipe",
        "revoke --with root.key --known pipe",
    ],
)
def test_a_pipe_in_place_of_a_file_is_said_in_one_sentence(
    command: str, pipe: Path, capfd: Capture
) -> None:
    """And not waited for: a service that hangs at its start says nothing at all."""
    enrol(Path(), "root", ROOT)
    enrol(Path(), "ada", ADA, ".")
    _, error = refusal(capfd, *shlex.split(command))
    assert "pipe" in error


def test_contacts_are_not_remembered_in_a_pipe(
    pipe: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that forgets contacts lives on: it says so, and starts."""
    dht = ("--membership", "dht", "--remember", pipe)
    assert camcast("subscribe", ".a", "--for", "0.1s", *dht) == 3  # nothing came
    assert f"cannot read the remembered contacts in {pipe}: it is a pipe" in caplog.text
