"""A restart forgets no revocation, and one process with a key loses none of another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.live.profiles.certificate_file import certificate_text
from camcast.live.profiles.heard_lists import HeardLists
from camcast.live.profiles.identity_files import IdentityFiles
from camcast.live.profiles.identity_watch import IdentityWatch
from camcast.live.profiles.key_file import write_key_pair
from camcast.security.certificates import Rights
from camcast.security.event_signatures import EventSignatures
from tests.authority import ADA, CLUB, EVE, MEMBER, NOW, ROOT, grant, revocations

EVES = grant(ROOT, EVE, serial=5)
CLUBS = grant(ROOT, CLUB, rights=MEMBER | Rights.ISSUE)
BELOW = grant(CLUB, EVE, serial=6)


class Home:
    """The files of Ada's process, and its starts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, key in (("ada", ADA), ("root", ROOT)):
            write_key_pair(folder / f"{name}.key", key)
        own = grant(ROOT, ADA, since=NOW - 5000)
        (folder / "ada.cert").write_text(certificate_text([own]))
        names = ("ada.key", "ada.cert", "root.pub")
        self._files = IdentityFiles(*(folder / name for name in names))
        self.lists = folder / "ada.lists"
        monkeypatch.setattr("time.time", lambda: float(NOW))
        monkeypatch.setattr(IdentityWatch, "start", lambda _: None)

    def start(self) -> IdentityWatch:
        return IdentityWatch(self._files, lambda: None)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def hear(process: IdentityWatch, news: bytes) -> None:
    assert process.signatures.take_revocations(news, NOW) == ""


def believes(signatures: EventSignatures, *chain: bytes) -> bool:
    return signatures.learn(chain, NOW) == ""


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_revoked_before_a_restart_is_so_after_it(home: Home, killed: bool) -> None:
    """A revoked Eve was believed by each process that had started again."""
    process = home.start()
    assert believes(process.signatures, EVES)
    assert believes(process.signatures, CLUBS, BELOW)
    hear(process, revocations(5))
    hear(process, revocations(6, by=CLUB))
    process._check() if killed else process.stop()
    assert home.lists.stat().st_mode & 0o777 == 0o600
    for _ in range(2):  # the second start has heard nothing of the club between
        process = home.start()
        assert not believes(process.signatures, EVES)
        process.stop()
    assert not believes(home.start().signatures, CLUBS, BELOW)


def test_two_processes_with_a_key_keep_the_lists_of_both(home: Home) -> None:
    one, other = home.start(), home.start()
    assert believes(one.signatures, CLUBS, BELOW)
    hear(one, revocations(6, by=CLUB))
    hear(other, revocations(5))
    one.stop()
    other.stop()
    last = home.start().signatures
    assert not believes(last, EVES)
    assert not believes(last, CLUBS, BELOW)


def test_a_list_that_a_wrong_clock_refuses_is_kept_for_when_the_clock_is_right(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = home.start()
    hear(process, revocations(5))
    process.stop()
    monkeypatch.setattr("time.time", lambda: NOW - 1000.0)
    process = home.start()
    news = revocations(7, since=NOW - 1000)
    assert process.signatures.take_revocations(news, NOW - 1000) == ""
    process.stop()
    monkeypatch.setattr("time.time", lambda: float(NOW))
    assert not believes(home.start().signatures, EVES)


@pytest.mark.parametrize("damage", [b"", b"no list\n", b"\xff\0"])
def test_a_file_without_lists_keeps_nothing_from_starting(
    home: Home, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    home.lists.write_bytes(damage)
    process = home.start()
    assert bool(damage) is ("ada.lists" in caplog.text)
    hear(process, revocations(5))
    process.stop()
    assert not believes(home.start().signatures, EVES)


def test_an_altered_list_is_left_out_and_told(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    process = home.start()
    hear(process, revocations(5))
    process.stop()
    kind, data = home.lists.read_text().splitlines()[-1].split()
    home.lists.write_text(f"{kind} {data[:-8]}AAAA{data[-4:]}\n")
    assert believes(home.start().signatures, EVES)
    assert "ada.lists" in caplog.text


def test_where_nothing_can_be_written_the_process_goes_on(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("camcast.live.profiles.heard_lists.write_lasting", refuse)
    process = home.start()
    hear(process, revocations(5))
    for _ in range(2):
        process._check()
    assert caplog.text.count("Read-only file system") == 1


def test_the_name_follows_the_key_s() -> None:
    assert HeardLists(Path("ada.key"))._path == Path("ada.lists")
