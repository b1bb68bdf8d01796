"""Certificates and lists are read again until they can be used, and none spoils the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from camcast.live.profiles import identity_watch
from camcast.live.profiles.certificate_file import (
    CertificateFileError,
    certificate_text,
    revocations_text,
)
from camcast.live.profiles.identity_files import IdentityFiles
from camcast.live.profiles.identity_watch import IdentityWatch
from camcast.live.profiles.key_file import write_key_pair
from camcast.security.certificates import Rights
from tests.authority import ADA, CLUB, DAY, MEMBER, NOW, ROOT, grant, revocations

ISSUER = MEMBER | Rights.ISSUE
OLD = grant(ROOT, ADA, ".old", since=NOW - DAY, until=NOW - 301)
VALID = grant(ROOT, ADA, ".soccer", since=NOW, until=NOW + DAY)
RENEWED = grant(ROOT, ADA, ".soccer", since=NOW, until=NOW + 7 * DAY, serial=2)
EARLY = grant(ROOT, ADA, ".soccer", since=NOW + 302, until=NOW + 7 * DAY, serial=2)


class Watched:
    """A process that looks at its files when it is told to, at a time that the test sets."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = float(NOW)
        self.folder = folder
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(IdentityWatch, "start", lambda _: None)
        for name, key in (("ada", ADA), ("root", ROOT)):
            write_key_pair(folder / f"{name}.key", key)

    def write(self, name: str, *chain: bytes) -> Path:
        path, new = self.folder / name, self.folder / "new"
        new.write_text(certificate_text(chain))
        return new.replace(path)

    def begin(self, *certificates: Path, lists: Sequence[Path] = ()) -> None:
        paths = self.folder / "ada.key", certificates, self.folder / "root.pub", lists
        self.watch = IdentityWatch(IdentityFiles(*paths), lambda: self.watch.read_again(self.now))

    def look(self) -> list[bytes]:
        """Look at the files, and return the certificates in use."""
        self.watch._check()
        return [chain.data[-1] for chain in self.watch.signatures.own]


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(tmp_path, monkeypatch)


def test_an_expired_certificate_harms_no_valid_one(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    soccer, old = watched.write("soccer.cert", VALID), watched.write("old.cert", OLD)
    watched.begin(soccer, old)
    assert watched.look() == [VALID]
    watched.write("soccer.cert", RENEWED)
    assert watched.look() == [RENEWED]
    (warning,) = [line for line in caplog.messages if "old.cert" in line]
    assert "has expired" in warning
    assert "this process goes by its other certificates" in warning
    watched.write("old.cert", grant(ROOT, ADA, ".old", since=NOW, until=NOW + DAY))
    assert len(watched.look()) == 2


@pytest.mark.parametrize("torn", [False, True], ids=["early", "torn"])
def test_a_file_that_is_wrong_spoils_no_other_and_what_it_had_counts_until_its_end(
    watched: Watched, torn: bool, caplog: pytest.LogCaptureFixture
) -> None:
    other = grant(ROOT, ADA, ".other", since=NOW, until=NOW + DAY)
    soccer, path = watched.write("soccer.cert", VALID), watched.write("other.cert", other)
    first, last = (watched.folder / f"{name}.list" for name in ("first", "last"))
    for each in (first, last):
        each.write_text(revocations_text(revocations(9)))
    watched.begin(soccer, path, lists=[first, last])
    if torn:
        path.write_text(path.read_text()[:-40])
        first.write_bytes(b"")
    else:
        watched.write("other.cert", grant(ROOT, ADA, ".other", since=NOW + 302, until=NOW + DAY))
    watched.write("soccer.cert", RENEWED)
    last.write_text(revocations_text(revocations(9, 8, number=2)))
    assert watched.look() == [RENEWED, other]
    known = watched.watch.signatures.known
    (latest,) = known.revocations.latest().values()
    assert len(latest.certificates) == 2
    assert ("goes on with what it had of that" in caplog.text) == torn
    watched.now += DAY + 301
    assert watched.look() == [RENEWED]


def test_with_no_valid_certificate_the_files_are_named(watched: Watched) -> None:
    with pytest.raises(CertificateFileError, match=r"old\.cert: the certificate has expired"):
        watched.begin(watched.write("old.cert", OLD))


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a valid one"])
def test_a_renewal_that_is_early_is_taken_when_its_time_has_come(
    watched: Watched, beside: bool
) -> None:
    path = watched.write("ada.cert", VALID)
    other = grant(ROOT, ADA, ".old", since=NOW, until=NOW + 9 * DAY, serial=3)
    watched.begin(path, *([watched.write("other.cert", other)] if beside else []))
    watched.write("ada.cert", EARLY)
    assert EARLY not in watched.look()
    watched.now += 3
    assert EARLY in watched.look()


def test_a_renewal_that_could_not_be_read_is_read_when_it_can(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = watched.write("ada.cert", VALID)
    watched.begin(path)
    watched.write("ada.cert", RENEWED)
    real_open: Callable[..., int] = os.open
    refuses = PermissionError(13, "Permission denied")  # root may read whatever the mode is

    def refused(opened: Path, *given: int) -> int:
        if opened == path:
            raise refuses
        return real_open(opened, *given)

    with monkeypatch.context() as for_a_while:
        for_a_while.setattr(os, "open", refused)
        assert watched.look() == [VALID]
    os.chmod(path, 0o640)
    assert watched.look() == [RENEWED]


def test_a_changed_mode_is_a_change(watched: Watched) -> None:
    path = watched.write("ada.cert", VALID)
    before = identity_watch._state(path)
    os.chmod(path, 0o600)
    assert identity_watch._state(path) != before


def test_the_list_of_an_issuer_whose_certificate_comes_later_counts_from_then_on(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    path = watched.folder / "club.list"
    path.write_text(revocations_text(revocations(9, by=CLUB)))
    watched.begin(watched.write("ada.cert", VALID), lists=[path])
    assert caplog.text.count("none is known yet") == 1
    watched.look()
    assert caplog.text.count("none is known yet") == 1
    signatures = watched.watch.signatures
    assert signatures.revocations() == []  # nobody is told of it as long as it means nothing
    club = grant(ROOT, CLUB, ".soccer", ISSUER, until=NOW + DAY)
    revoked = grant(CLUB, ADA, ".soccer", until=NOW + DAY, serial=9)
    assert signatures.learn([club, revoked], NOW) == "revoked"
    assert signatures.learn([club, grant(CLUB, ADA, until=NOW + DAY, serial=8)], NOW) == ""
    assert signatures.revocations() == [revocations(9, by=CLUB)]
