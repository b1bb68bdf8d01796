"""A kill, a full disk, an error of it or a power cut at any step: no fresh state, nothing undone.

Each operation on a file that must last is made to fail at each of its calls, one after the other,
in each of the ways; then the next operations are done on what is left.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from camcast.live.profiles.certificate_file import read_revocations
from camcast.live.profiles.issuer_register import opened
from camcast.live.profiles.key_file import (
    KeyFileError,
    read_public_key,
    read_secret_key,
    write_key_pair,
    write_public_key,
)
from camcast.live.profiles.stream_numbers import StreamNumbers
from camcast.vocabulary.lasting_file import write_lasting
from tests.authority import ADA, DAY, EVE, NOW, ROOT, grant
from tests.library.laws.failing_disk import FAULTS, outcomes

pytestmark = pytest.mark.parametrize("fault", FAULTS)

YEAR = 365 * DAY


def certificate(serial: int) -> bytes:
    return grant(ROOT, EVE, until=NOW + YEAR, serial=serial)


def issue(key: Path, serial: int) -> bytes:
    with opened(key, ROOT, NOW) as register:
        register.add(certificate(serial), NOW)
    return b"issued"


def revoke(key: Path, *by_serial: int) -> bytes:
    """Revoke what the register has, and return the list as it is handed out."""
    with opened(key, ROOT, NOW) as register:
        named = [register.find(serial.to_bytes(8)) for serial in by_serial]
        return register.revoke(named, (), NOW, DAY)[1]


def revoked(key: Path) -> tuple[set[int], int]:
    value = read_revocations(key.with_suffix(".revoked"))[0]
    return {int.from_bytes(entry.serial) for entry in value.certificates}, value.number


def authority(folder: Path) -> Path:
    key = folder / "root.key"
    issue(key, 1)
    issue(key, 2)
    revoke(key, 1)
    return key


def leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path, fault: str) -> None:
    def make(folder: Path) -> Path:
        write_lasting(folder / "a", b"old", 0o600)
        return folder / "a"

    def write(path: Path) -> bytes:
        write_lasting(path, b"new", 0o600)
        return b"done"

    for path, done, _ in outcomes(make, write, fault, tmp_path):
        assert path.read_bytes() in ((b"new",) if done else (b"old", b"new"))
        write_lasting(path, b"next", 0o600)
        assert os.listdir(path.parent) == ["a"]


@pytest.mark.slow  # 1 s
def test_a_key_is_whole_or_is_named_and_no_second_copy_of_it_stays(
    tmp_path: Path, fault: str
) -> None:
    def make(folder: Path) -> Path:
        return folder / "ada.key"

    def write(path: Path) -> bytes:
        write_key_pair(path, ADA)
        return ADA.public.text.encode()

    for path, done, said in outcomes(make, write, fault, tmp_path):
        if not path.exists() or not path.stat().st_size:
            with pytest.raises(KeyFileError, match=r"it is empty|No such file"):
                read_secret_key(path)
            assert (done, said) == (False, b"")
            path.unlink(missing_ok=True)
            path.with_suffix(".pub").unlink(missing_ok=True)
            write_key_pair(path, ADA)
        else:
            assert read_secret_key(path) == ADA
            if path.with_suffix(".pub").exists() and not path.with_suffix(".pub").stat().st_size:
                with pytest.raises(KeyFileError, match="it is empty"):
                    read_public_key(path.with_suffix(".pub"))
                path.with_suffix(".pub").unlink()
            assert read_public_key(write_public_key(path)) == ADA.public
        assert not [name for name in leftovers(path.parent) if name.startswith(".ada.key")]


@pytest.mark.slow  # 1 s
def test_what_was_issued_can_be_revoked(tmp_path: Path, fault: str) -> None:
    for key, done, _ in outcomes(authority, lambda key: issue(key, 3), fault, tmp_path):
        issue(key, 4)
        revoke(key, 2, 4, *([3] if done else []))
        assert revoked(key)[0] == {1, 2, 4} | ({3} if done else set())
        assert not leftovers(key.parent)


@pytest.mark.slow  # 1 s
def test_what_was_revoked_stays_revoked_and_no_number_comes_again(
    tmp_path: Path, fault: str
) -> None:
    for key, done, said in outcomes(authority, lambda key: revoke(key, 2), fault, tmp_path):
        before, number = revoked(key)
        assert before >= {1}
        if done:
            assert before == {1, 2}
            assert read_revocations(key.with_suffix(".revoked"))[1] == said
        revoke(key)
        after, next_number = revoked(key)
        assert after >= before
        assert next_number > number
        assert not leftovers(key.parent)


def test_no_number_of_a_stream_is_used_twice(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    def make(folder: Path) -> Path:
        StreamNumbers(folder / "ada.key").reserve(5_000, 10)
        return folder / "ada.key"

    def reserve(key: Path) -> bytes:
        numbers = StreamNumbers(key)
        # The clock was set back; without a file that can be written it would serve alone.
        first = numbers.reserve(0 if not fault.startswith("E") else 6_000, 10)
        return b"%d" % first

    caplog.set_level(logging.WARNING)
    for key, _, said in outcomes(make, reserve, fault, tmp_path):
        later = StreamNumbers(key).reserve(0 if not fault.startswith("E") else 6_010, 10)
        assert later >= 5_010
        if said:
            assert later >= int(said) + 10
        assert not leftovers(key.parent)
