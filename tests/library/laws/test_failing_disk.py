"""A kill, a full disk, an error of it or a power cut at any step: no fresh state, nothing undone.

Each operation on a file that must last is made to fail at each of its calls, one after the other,
in each of the ways; then the next operations are done on what is left.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from camcast.cli.position_file import PositionFile
from camcast.inbox.position import Position
from camcast.live.profiles.certificate_file import read_revocations
from camcast.live.profiles.heard_lists import HeardLists
from camcast.live.profiles.issuer_register import opened
from camcast.live.profiles.key_file import (
    KeyFileError,
    read_public_key,
    read_secret_key,
    write_key_pair,
    write_public_key,
)
from camcast.live.profiles.stream_numbers import StreamNumbers
from camcast.live.profiles.system_folder import (
    SystemFolderError,
    create,
    members,
    without_folder,
)
from camcast.live.profiles.system_folder import (
    authority as at_work,
)
from camcast.security.known_chains import KnownChains
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.topics import Topic
from overlays.remembered import recall, remember
from tests.authority import ADA, DAY, EVE, MEMBER, NOW, ROOT, grant, revocations
from tests.library.laws.failing_disk import FAULTS, outcomes

pytestmark = pytest.mark.parametrize("fault", FAULTS)

YEAR = 365 * DAY


@pytest.fixture(autouse=True)
def _nothing_waits_for_the_real_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


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


def test_a_list_that_was_heard_of_is_heard_of_after_a_restart(tmp_path: Path, fault: str) -> None:
    def kept(*lists: bytes) -> KnownChains:
        known = KnownChains([ROOT.public])
        for data in lists:
            known.keep_revocations(data, NOW, heard=True)
        return known

    first, second = revocations(5), revocations(5, 6, number=2)

    def make(folder: Path) -> Path:
        HeardLists(folder / "ada.key").keep(kept(first), NOW)
        return folder / "ada.key"

    def keep(key: Path) -> bytes:
        HeardLists(key).keep(kept(second), NOW)
        return b"kept"

    for key, done, _ in outcomes(make, keep, fault, tmp_path):
        known = kept()
        HeardLists(key).take_into(known, NOW)
        failing = fault.startswith("E")  # it is logged then, and the process goes on
        assert known.lists() in ([[second]] if done and not failing else [[first], [second]])
        HeardLists(key).keep(kept(second), NOW)
        assert not leftovers(key.parent)


def test_remembered_contacts_are_the_old_ones_or_the_new_ones(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = {("192.0.2.1", 7000): ""}, {("192.0.2.2", 7001): ADA.public.text}

    def make(folder: Path) -> Path:
        assert remember(folder / "contacts", old)
        return folder / "contacts"

    def write(path: Path) -> bytes:
        return b"done" if remember(path, new) else b""

    for path, _, said in outcomes(make, write, fault, tmp_path):
        assert recall(path) in ((new,) if said else (old, new))
    assert not caplog.records


def test_a_position_is_the_old_one_or_the_new_one(tmp_path: Path, fault: str) -> None:
    topic = Topic.parse(".a")
    old, new = (Position(topic.group, float(time)).encode() for time in (NOW, NOW + 9))

    def make(folder: Path) -> Path:
        PositionFile(folder / "read", topic).move(old)
        return folder / "read"

    def move(path: Path) -> bytes:
        PositionFile(path, topic).move(new)
        return b"moved"

    for path, done, _ in outcomes(make, move, fault, tmp_path):
        assert PositionFile(path, topic).begins_at in ((new,) if done else (old, new))


def admit(folder: Path, name: str) -> bytes:
    with at_work(folder, NOW) as root:
        root.admit(name, Topic.parse(".soccer"), MEMBER, NOW + YEAR)
    return b"admitted"


def names_in(folder: Path, *, revoked: bool = False) -> set[str]:
    return {member.name for member in members(folder) if member.revoked is revoked}


def systems(folder: Path) -> Callable[[Path], Path]:
    """Return what puts a copy of one system into a folder."""
    create(folder / "system", NOW)
    admit(folder / "system", "ada")
    admit(folder / "system", "bob")
    return lambda place: Path(shutil.copytree(folder / "system", place / "system"))


@pytest.mark.slow
def test_who_is_admitted_is_a_member_or_can_be_admitted_again(tmp_path: Path, fault: str) -> None:
    """And revoked; of a key that was lost with its folder the certificate is shown."""
    for folder, done, _ in outcomes(
        systems(tmp_path), lambda folder: admit(folder, "eve"), fault, tmp_path
    ):
        there = names_in(folder)
        assert there >= ({"ada", "bob", "eve"} if done else {"ada", "bob"})
        while "eve" not in names_in(folder):
            try:
                admit(folder, "eve")
            except KeyFileError as error:  # as the sentence asks for
                Path(str(error).partition(": not a key file: it is empty")[0]).unlink()
        with at_work(folder, NOW) as root:
            root.revoke(["eve"])
        assert names_in(folder) == {"ada", "bob"}
        assert names_in(folder, revoked=True) == {"eve"}
        if fault != "names lost":
            assert not without_folder(folder, NOW)


@pytest.mark.slow
def test_a_member_that_is_revoked_stays_revoked(tmp_path: Path, fault: str) -> None:
    def revoke_member(folder: Path) -> bytes:
        with at_work(folder, NOW) as root:
            root.revoke(["bob"])
        return b"revoked"

    for folder, done, _ in outcomes(systems(tmp_path), revoke_member, fault, tmp_path):
        listed, number = revoked(folder / "root.key")
        assert "ada" in names_in(folder)
        if done:
            assert names_in(folder, revoked=True) == {"bob"}
        with suppress(SystemFolderError):  # of one whose folder is put aside already
            revoke_member(folder)
        after, next_number = revoked(folder / "root.key")
        assert after >= listed
        assert next_number >= number
        assert names_in(folder) == {"ada"}
        assert not without_folder(folder, NOW)
