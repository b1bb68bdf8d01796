"""Signed events end to end: who has a certificate is heard, and nobody else."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from camcast import CommunityManager, NotAllowedError, OptionError
from camcast.app import blocking
from camcast.live.profiles.certificate_file import (
    CertificateFileError,
    certificate_text,
    revocations_text,
)
from camcast.security.revocation import REVOCATIONS, RevokedSerial, next_list
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.topics import Topic
from tests.authority import ADA, CLUB, DAY, EVE, MEMBER, ROOT, grant
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox
from tests.library.live.identities import FAR, certify, enrol, known_as
from tests.patience import eventually, live

REVOKED = RevokedSerial((1).to_bytes(8), FAR)  # Ada's certificate
REVOKED_TOO = RevokedSerial((2).to_bytes(8), FAR)  # and the one that she got later


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A root, and Ada and the club with certificates for .soccer, Eve with one for .chess."""
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "ada", ADA, ".soccer")
    enrol(tmp_path, "club", CLUB, ".soccer")
    enrol(tmp_path, "eve", EVE, ".chess")
    return tmp_path


@live
async def test_renewing_goes_on_with_what_the_files_say(files: Path) -> None:
    revoked = files / "root.revoked"
    first = next_list(ROOT.public.raw, (), None, 1_700_000_000)
    revoked.write_text(revocations_text(REVOCATIONS.sign(first, ROOT)))
    async with CommunityManager(**known_as(files, "ada"), revocations=revoked) as ada:
        soccer = await ada.join(".soccer")
        await soccer.publish(b"certified")
        certify(files / "ada.cert", ADA, ".chess")
        ada.renew()
        with pytest.raises(NotAllowedError):
            await soccer.publish(b"not for .soccer any more")
        (files / "ada.cert").write_text("garbage\n")
        with pytest.raises(CertificateFileError, match=r"ada\.cert: line 1"):
            ada.renew()
        certify(files / "ada.cert", ADA, ".soccer", serial=2)
        ada.renew()
        await soccer.publish(b"renewed")
        second = next_list(ROOT.public.raw, [REVOKED], None, 1_700_000_001)
        revoked.write_text(revocations_text(REVOCATIONS.sign(second, ROOT)))
        ada.renew()
        await soccer.publish(b"another serial is revoked")
        certify(files / "ada.cert", ADA, ".soccer")
        with pytest.raises(CertificateFileError, match="is revoked"):
            ada.renew()


@live
async def test_a_restarted_publisher_is_heard_though_its_clock_was_set_back(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its streams had the same numbers again, and its events counted as known everywhere.

    So had its introduction, which nobody believed for an hour.
    """
    settings: dict[str, Any] = {"options": OPTIONS, "parameters": CERTAIN}
    started = time.time()
    monkeypatch.setattr(
        "camcast.app.manager.start_clock", lambda monotonic: Clock(monotonic(), started)
    )
    async with CommunityManager(**known_as(files, "club"), **settings) as club:
        inbox = Inbox()
        (await club.join(".soccer")).subscribe(inbox)
        settings["gateways"] = [club.address]
        sent: list[bytes] = []
        for payload in (b"before", b"after"):
            async with CommunityManager(**known_as(files, "ada"), **settings) as ada:
                soccer = await ada.join(".soccer")
                await soccer.ready()
                await soccer.publish(payload)
                sent.append(payload)
                await eventually(lambda: inbox.payloads == sent)


@live
async def test_a_certificate_that_was_early_is_taken_when_it_is_valid(
    files: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its file does not change any more; the time, or the clock of the machine, does."""
    monkeypatch.setattr("camcast.live.profiles.identity_watch.WATCH_SECONDS", 0.01)
    caplog.set_level(logging.WARNING)
    real, ahead = time.time, 0.0
    monkeypatch.setattr(
        "camcast.live.wall_clock.time", SimpleNamespace(time=lambda: real() + ahead)
    )
    async with CommunityManager(**known_as(files, "ada")) as ada:
        begins = int(real()) + 7200
        early = grant(ROOT, ADA, ".chess", MEMBER, begins, begins + 7200)
        (files / "ada.cert").write_text(certificate_text([early]))
        await eventually(lambda: "not valid yet: it begins 7" in caplog.text)
        assert may_publish(ada)
        ahead = 7200.0
        await eventually(lambda: not may_publish(ada))
    assert caplog.text.count("not valid yet") == 1  # not each time that it is looked at


@live
async def test_files_are_read_again_when_they_change(
    files: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("camcast.live.profiles.identity_watch.WATCH_SECONDS", 0.01)
    revoked = files / "root.revoked"
    first = next_list(ROOT.public.raw, (), None, 1_700_000_000)
    revoked.write_text(revocations_text(REVOCATIONS.sign(first, ROOT)))
    async with CommunityManager(**known_as(files, "ada"), revocations=revoked) as ada:
        soccer = await ada.join(".soccer")
        certify(files / "ada.cert", ADA, ".chess")
        await eventually(lambda: not may_publish(ada))
        certify(files / "ada.cert", ADA, ".soccer", serial=2)
        await eventually(lambda: may_publish(ada))
        (files / "ada.cert").write_text("garbage\n")
        await eventually(lambda: "ada.cert: line 1 is not" in caplog.text)
        await soccer.publish(b"by the certificate from before")
        # Also where the certificate is wrong, the list is taken.
        second = next_list(ROOT.public.raw, [REVOKED_TOO], None, 1_700_000_001)
        revoked.write_text(revocations_text(REVOCATIONS.sign(second, ROOT)))
        await eventually(lambda: not may_publish(ada))


def may_publish(manager: CommunityManager) -> bool:
    assert manager._identity is not None
    return manager._identity.signatures.may_publish(Topic.parse(".soccer"), time.time())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"identity": None}, OptionError, "there is no identity"),
        ({"certificates": (), "trust": ()}, OptionError, "no certificate and no trust"),
        ({"certificates": "club.cert"}, CertificateFileError, r"club\.cert: .* for another key"),
        ({"certificates": "root.pub"}, CertificateFileError, r"root\.pub: line 1 is not"),
        ({"trust": "eve.pub"}, CertificateFileError, r"ada\.cert: .* no trusted root"),
        ({"revocations": "root.list"}, CertificateFileError, r"ada\.cert: .* is revoked"),
        ({"certificates": "old.cert"}, CertificateFileError, r"old\.cert: .* has expired"),
    ],
)
@pytest.mark.parametrize("manager", [CommunityManager, blocking.CommunityManager])
def test_files_that_do_not_fit_are_refused(
    manager: type[Any], changes: dict[str, Any], error: type[Exception], message: str, files: Path
) -> None:
    certify(files / "old.cert", ADA, ".soccer", until=DAY)
    revoked = next_list(ROOT.public.raw, [REVOKED], None, 1_700_000_000)
    (files / "root.list").write_text(revocations_text(REVOCATIONS.sign(revoked, ROOT)))
    named = {
        name: files / value if isinstance(value, str) else value for name, value in changes.items()
    }
    with pytest.raises(error, match=message):
        manager(**known_as(files, "ada") | named)
