"""`camcast keys`, `certify` and `revoke` as a small authority uses them: files, output, errors."""

from __future__ import annotations

import os
import shutil
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from camcast.live.profiles.certificate_file import read_chain, read_revocations
from camcast.live.profiles.key_file import (
    read_passphrase,
    read_public_key,
    read_secret_key,
    write_key_pair,
)
from camcast.security.certificates import Rights
from camcast.security.chains import Chain, verify_chain
from camcast.security.keys import PublicKey, SecretKey
from camcast.security.passphrase import check_passphrase
from camcast.security.refusals import Reason, RefusedError
from camcast.security.revocation import Revocations
from camcast.vocabulary.topics import Topic
from tests.authority import anybody
from tests.camcast_command import Capture, answer, camcast, refusal

ITALY = Topic.parse(".soccer.italy")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pairs of key files; what makes them is tested below and waits for the disk."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("root", "club", "ada"):
        write_key_pair(folder / f"{name}.key", SecretKey(name.ljust(32).encode()))
    return folder


@pytest.fixture(autouse=True)
def _keys(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def output(capfd: Capture, *arguments: object) -> str:
    assert camcast(*arguments) == 0
    printed, error = capfd.readouterr()
    assert error == ""
    return printed


def warned(capfd: Capture, caplog: pytest.LogCaptureFixture, *arguments: object) -> str:
    """Run a command that ends well, and return its warnings."""
    caplog.clear()
    assert camcast(*arguments) == 0
    capfd.readouterr()
    return caplog.text


def serials(path: Path) -> list[str]:
    """Return what a list revokes."""
    return [entry.serial.hex() for entry in read_revocations(path)[0].certificates]


def certify(capfd: Capture, to: str, *options: object, by: str = "root") -> Path:
    """Run ``camcast certify … --output TO.cert``."""
    path = Path(f"{to}.cert")
    arguments = ["certify", "--with", f"{by}.key", "--for", f"{to}.pub", *options]
    assert output(capfd, *arguments, "--output", path) == ""
    return path


def member(capfd: Capture, name: str = "ada") -> tuple[Path, str]:
    """Certify a key; return its certificate and the serial of that."""
    path = certify(capfd, name, "--topic", ".soccer", "--may", "join", "--days", 365)
    return path, chain(path).last.serial.hex()


def chain(path: Path) -> Chain:
    return verify_chain(read_chain(path), [read_public_key(Path("root.pub"))])


def test_a_new_key_is_in_its_files(capfd: Capture) -> None:
    printed = answer(capfd, "keys", "new", "eve.key")
    secret = read_secret_key(Path("eve.key"))
    assert printed == {
        "key": secret.public.text,
        "peer": secret.public.peer_id.hex(),
        "secret_file": "eve.key",
        "public_file": "eve.pub",
    }
    assert read_public_key(Path("eve.pub")) == secret.public
    assert output(capfd, "keys", "new", "bob.key") == output(capfd, "keys", "show", "bob.pub")
    assert read_secret_key(Path("bob.key")) != secret


def test_a_new_passphrase_is_printed_or_in_a_file_of_its_owner(capfd: Capture) -> None:
    printed = output(capfd, "keys", "passphrase").removesuffix("\n")
    assert check_passphrase(printed) == printed
    assert output(capfd, "keys", "passphrase", "group.pass") == ""
    assert Path("group.pass").stat().st_mode & 0o777 == 0o600
    assert read_passphrase(Path("group.pass")) not in ("", printed)
    assert "exists" in refusal(capfd, "keys", "passphrase", "group.pass")[1]


@pytest.mark.parametrize("file", ["ada.key", "ada.pub"])
def test_the_public_half_is_shown(file: str, capfd: Capture) -> None:
    secret = read_secret_key(Path("ada.key"))
    assert output(capfd, "keys", "show", file) == f"{secret.public}\n"
    printed = answer(capfd, "keys", "show", file)
    assert printed == {"key": secret.public.text, "peer": secret.public.peer_id.hex()}
    assert PublicKey.parse(printed["key"]) == secret.public


def test_a_certificate_grants_what_was_said(capfd: Capture) -> None:
    path = certify(capfd, "ada", "--topic", ".soccer", "--may", "join,publish", "--days", 2)
    granted, now = chain(path), time.time()
    assert granted.subject == read_public_key(Path("ada.pub"))
    assert granted.last.rights == Rights.JOIN | Rights.PUBLISH
    assert granted.last.not_after - granted.last.not_before == 2 * 86_400
    granted.check(Rights.PUBLISH, ITALY, now, Revocations().revoked)
    with pytest.raises(RefusedError):
        granted.check(Rights.SERVE, ITALY, now, Revocations().revoked)
    assert f"# {granted.subject} may join, publish in .soccer from" in path.read_text()


def test_a_certificate_for_programs(capfd: Capture) -> None:
    arguments = ["--with", "root.key", "--for", "ada.pub", "--topic", ".soccer", "--may", "serve"]
    printed = answer(capfd, "certify", *arguments)
    (signed,) = [b64decode(each) for each in printed.pop("certificates")]
    last = verify_chain([signed], [read_public_key(Path("root.pub"))]).last
    assert printed == {
        "serial": last.serial.hex(),
        "issuer": read_public_key(Path("root.pub")).text,
        "subject": read_public_key(Path("ada.pub")).text,
        "topic": ".soccer",
        "may": ["serve"],
        "not_before": last.not_before,
        "not_after": last.not_before + 7 * 86_400,
        "depth": 0,
        "events_a_second": 0,
        "bytes_a_second": 0,
    }


def test_a_certificate_bounds_what_is_published_with_it(capfd: Capture) -> None:
    given = ["certify", "--with", "root.key", "--for", "ada.pub", "--topic", ".soccer"]
    rate = ["--events-a-second", 10, "--bytes-a-second", 5000]
    printed = answer(capfd, *given, "--may", "publish", *rate)
    assert (printed["events_a_second"], printed["bytes_a_second"]) == (10, 5000)
    path = certify(capfd, "ada", "--topic", ".soccer", "--may", "publish", *rate)
    assert chain(path).rate == (10, 5000)
    assert "at most 10 events a second and 5,000 bytes a second" in path.read_text()
    code, said = refusal(capfd, *given, "--may", "join", *rate)
    assert (code, "go with --may publish" in said) == (2, True)
    for wrong in ("-1", "4294967296", "many", "0.5"):
        assert camcast(*given, "--may", "publish", "--events-a-second", wrong) == 2
        assert "--events-a-second" in capfd.readouterr().err


def test_who_may_issue_hands_its_rights_on(capfd: Capture) -> None:
    club = certify(capfd, "club", "--topic", ".soccer", "--may", "join,issue", "--days", 30)
    ada = certify(
        *(capfd, "ada", "--topic", ".soccer.italy", "--may", "join", "--certificate", club),
        by="club",
    )
    granted = chain(ada)
    assert [link.depth for link in granted.certificates] == [1, 0]
    granted.check(Rights.JOIN, ITALY, time.time(), Revocations().revoked)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--topic", ".chess", "--may", "join"], "more than the one above it: topic"),
        (["--topic", ".soccer", "--may", "publish"], "more than the one above it: rights"),
        (["--topic", ".soccer", "--may", "join", "--days", 31], "the one above it: time"),
        (["--topic", ".soccer", "--may", "join,issue"], "the one above it: depth"),
        (["--topic", ".", "--may", "publish", "--days", 31], "it: topic, rights, time"),
    ],
)
def test_nobody_hands_on_more_than_he_has(options: list[str], fault: str, capfd: Capture) -> None:
    club = certify(capfd, "club", "--topic", ".soccer", "--may", "join,issue", "--days", 30)
    given = ["--with", "club.key", "--for", "ada.pub", "--certificate", club, *options]
    code, said = refusal(capfd, "certify", *given)
    assert code == 2
    assert fault in said
    assert not Path("club.issued").exists()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"--may": "join,read"}, "--may: no right is called 'read'; there are join, publish"),
        ({"--may": ""}, "no right is called ''"),
        ({"--topic": "soccer"}, "try '.soccer'"),
        ({"--days": 0}, "ends after it begins"),
        ({"--days": 1e9}, "--days 1e+09 is no time that ends before the year 2106"),
        ({"--depth": 2}, "--depth goes with --may issue"),
        ({"--may": "issue", "--depth": 4}, "would not be valid"),
        ({"--with": "none.key"}, "none.key: No such file"),
        ({"--for": "ada.key"}, "ada.key: this is the secret key; name ada.pub instead"),
        ({"--certificate": "root.pub"}, "root.pub: line 1 is not camcast-certificate-1"),
    ],
)
def test_a_wrong_certificate_is_refused(
    changes: dict[str, Any], fault: str, capfd: Capture
) -> None:
    given = {"--with": "root.key", "--for": "ada.pub", "--topic": ".soccer", "--may": "join"}
    code, said = refusal(
        capfd, "certify", *(word for pair in (given | changes).items() for word in pair)
    )
    assert (code, fault in said) == (2, True), said
    assert not Path("root.issued").exists()


def test_a_certificate_is_revoked_by_its_serial(capfd: Capture) -> None:
    granted = chain(certify(capfd, "ada", "--topic", ".soccer", "--may", "join"))
    other = chain(certify(capfd, "ada", "--topic", ".chess", "--may", "join"))
    Path("root.list").write_text(
        output(capfd, "revoke", "--with", "root.key", granted.last.serial.hex())
    )
    known = Revocations()
    for path in ("root.list", "root.revoked"):
        known.take(read_revocations(Path(path))[1], time.time(), anybody)
    other.check(Rights.JOIN, Topic.parse(".chess"), time.time(), known.revoked)
    with pytest.raises(RefusedError) as caught:
        granted.check(Rights.JOIN, ITALY, time.time(), known.revoked)
    assert caught.value.reason is Reason.REVOKED


def test_what_a_key_got_before_a_time_is_revoked_and_what_it_gets_later_counts(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = time.time()
    grants = ["--topic", ".soccer", "--may", "join"]
    old, other = (chain(certify(capfd, name, *grants)) for name in ("ada", "club"))
    os.remove("root.issued")  # revoked though its serial is noted nowhere
    given = ["revoke", "--with", "root.key"]
    monkeypatch.setattr(time, "time", lambda: begun + 60)
    first = answer(capfd, *given, "--issued-before", "30s", "ada.pub")
    assert [*first["issued_before"].values()] == [int(begun) + 30]
    assert not first["revoked"]
    new = chain(certify(capfd, "ada", *grants))
    assert answer(capfd, *given)["issued_before"] == first["issued_before"]
    text = Path("root.revoked").read_text()
    assert "# those of the key with the hash" in text

    def counts(granted: Chain) -> bool:
        known = Revocations()
        known.take(read_revocations(Path("root.revoked"))[1], time.time(), anybody)
        return not known.revoked(granted.last)

    assert [counts(one) for one in (old, other, new)] == [False, True, True]
    second = answer(capfd, *given, "--issued-before", "0", "--all")
    assert second["issued_before"] == {"all": int(begun) + 60}
    # Issued in this very second: named, and what is issued from now on counts.
    assert second["revoked"] == [new.last.serial.hex()]
    last = chain(certify(capfd, "ada", *grants))
    assert [counts(one) for one in (old, other, new, last)] == [False, False, False, True]


BY_TIME_REFUSED = [
    (["--all"], "--all goes with --issued-before"),
    (["--issued-before", "0"], "--issued-before takes public keys, or --all"),
    (["--issued-before", "0", "--all", "ada.pub"], "or --all, not both"),
    (["--issued-before", "soon", "--all"], "--issued-before takes seconds such as 30"),
    (["--issued-before", "2100-01-01", "--all"], "is not yet"),
    (["--issued-before", "1999-01-01", "--all"], "a time after 2025"),
    (["--issued-before", "inf", "--all"], "a time after 2025"),
    (["--issued-before", "nan", "--all"], "--issued-before takes seconds such as 30"),
    (["--issued-before", "0", "none.pub"], "'none.pub' is no public key, nor a file with one"),
    (["--issued-before", "0", "root.key"], "root.key"),
]


@pytest.mark.parametrize(("options", "fault"), BY_TIME_REFUSED)
def test_what_cannot_be_revoked_by_time_is_said(
    options: list[str], fault: str, capfd: Capture
) -> None:
    code, said = refusal(capfd, "revoke", "--with", "root.key", *options)
    assert (code, fault in said) == (2, True), said
    assert not Path("root.revoked").exists()


def test_a_list_grows_and_is_renewed(capfd: Capture) -> None:
    first = chain(certify(capfd, "ada", "--topic", ".a", "--may", "join"))
    second = certify(capfd, "club", "--topic", ".b", "--may", "join")
    os.remove("root.issued")  # then the certificate itself names it
    lists = [answer(capfd, "revoke", "--with", "root.key", second)]
    lists.append(answer(capfd, "revoke", "--with", "root.key", "ada.cert", "club.cert"))
    lists.append(answer(capfd, "revoke", "--with", "root.key", "--hours", 1))
    serials = [chain(second).last.serial.hex(), first.last.serial.hex()]
    assert [each["revoked"] for each in lists] == [serials[:1], sorted(serials), sorted(serials)]
    numbers = [each["number"] for each in lists]
    assert numbers == sorted(set(numbers))
    assert [each["next_update"] - each["issued"] for each in lists] == [86_400, 86_400, 3_600]
    assert b64decode(lists[-1]["list"]) == read_revocations(Path("root.revoked"))[1]


def test_what_was_not_issued_is_not_revoked(capfd: Capture) -> None:
    certify(capfd, "ada", "--topic", ".a", "--may", "join")
    for what, fault in (
        ("0" * 16, "root.issued has no certificate 0000000000000000"),
        ("abc", "'abc' is no serial"),
        ("root.pub", "root.pub: line 1 is not camcast-certificate-1"),
    ):
        assert fault in refusal(capfd, "revoke", "--with", "root.key", what)[1]
    said = refusal(capfd, "revoke", "--with", "club.key", "ada.cert")[1]
    assert "ada.cert: this certificate was not issued with club.key" in said
    assert not Path("root.revoked").exists()
    assert (
        "next list is due after" in refusal(capfd, "revoke", "--with", "root.key", "--hours", 0)[1]
    )
    for hours in ("-1e9", "1e9", "1e300"):
        said = refusal(capfd, "revoke", "--with", "root.key", "--hours", hours)[1]
        assert f"--hours {float(hours):g} is no time that ends before the year 2106" in said
    assert not Path("root.revoked").exists()


def test_a_list_of_another_key_is_not_continued(capfd: Capture) -> None:
    output(capfd, "revoke", "--with", "root.key")
    os.rename("root.revoked", "club.revoked")
    said = refusal(capfd, "revoke", "--with", "club.key")[1]
    assert "club.revoked: the list of another key than that in club.key" in said
    text = Path("club.revoked").read_text()
    Path("club.revoked").write_text(
        text.replace("camcast-revocations-1 lgH", "camcast-revocations-1 lgA")
    )
    assert "club.revoked: it " in refusal(capfd, "revoke", "--with", "club.key")[1]


def test_what_fails_leaves_the_certificate_in_use(capfd: Capture) -> None:
    path, _ = member(capfd)
    before = path.read_bytes()
    given = ["certify", "--with", "root.key", "--for", "ada.pub", "--topic", ".soccer"]
    refusal(capfd, *given, "--may", "jion", "--output", path)
    assert path.read_bytes() == before
    said = refusal(capfd, *given, "--may", "join", "--output", "none/ada.cert")[1]
    assert "--output none/ada.cert: No such file" in said
    printed = answer(capfd, *given, "--may", "join", "--output", path)
    assert [b64decode(each) for each in printed["certificates"]] == read_chain(path)


def test_a_list_is_written_to_a_file_through_a_link(capfd: Capture) -> None:
    certificate, serial = member(capfd)
    Path("backup").mkdir()
    Path("root.revoked").symlink_to("backup/root.revoked")
    for what in (serial, certificate):
        assert output(capfd, "revoke", "--with", "root.key", what, "--output", "a.list") == ""
        assert serials(Path("a.list")) == serials(Path("backup/root.revoked")) == [serial]
    assert Path("root.revoked").is_symlink()


def test_a_lost_or_older_list_is_told_and_takes_nothing_back(
    capfd: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, serial = member(capfd)
    assert "taken for the first" in warned(capfd, caplog, "revoke", "--with", "root.key")
    older = Path("root.revoked").read_bytes()
    assert not warned(capfd, caplog, "revoke", "--with", "root.key", certificate)
    Path("root.revoked").write_bytes(older)
    assert "is an older copy than" in warned(capfd, caplog, "revoke", "--with", "root.key")
    assert serials(Path("root.revoked")) == [serial]
    os.remove("root.revoked")
    assert "root.revoked is not there" in warned(capfd, caplog, "revoke", "--with", "root.key")
    assert serials(Path("root.revoked")) == [serial]


def test_a_list_from_elsewhere_counts_if_it_is_the_key_s(capfd: Capture) -> None:
    certificate, serial = member(capfd)
    shutil.copytree(".", "copy")
    output(capfd, "revoke", "--with", "root.key", certificate, "--output", "friday.list")
    given = ["revoke", "--with", "copy/root.key", "--known", "friday.list"]
    assert answer(capfd, *given)["revoked"] == [serial]
    said = refusal(capfd, "revoke", "--with", "club.key", "--known", "friday.list")[1]
    assert "friday.list: the list of another key than that in club.key" in said


def test_a_clock_that_is_far_off_is_refused(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, serial = member(capfd)
    certify_again = ["certify", "--with", "root.key", "--for", "ada.pub", "--topic", ".a"]
    right = time.time()
    for wrong in (0.0, right - 3600, right + 500 * 86_400):
        monkeypatch.setattr(time, "time", lambda wrong=wrong: wrong)
        for command in (
            ["revoke", "--with", "root.key", serial],
            [*certify_again, "--may", "join"],
        ):
            said = refusal(capfd, *command)[1]
            assert said.count(" UTC") == 2
            assert "set the clock right, or, if it is right, give --clock-is-right" in said
    output(capfd, "revoke", "--with", "root.key", serial, "--clock-is-right")


def test_a_lost_public_file_is_made_again(capfd: Capture) -> None:
    public = Path("ada.pub").read_text()
    os.remove("ada.pub")
    shown = output(capfd, "keys", "show", "ada.key")
    assert output(capfd, "keys", "public", "ada.key") == shown
    assert Path("ada.pub").read_text() == public
    Path("ada.pub").write_text(shown)  # as `keys show` prints it
    printed = answer(capfd, "keys", "public", "ada.key")
    assert (printed["key"], printed["public_file"]) == (shown.strip(), "ada.pub")
    member(capfd)
    assert "this is the public key" in refusal(capfd, "keys", "public", "root.pub")[1]
