"""`camcast system`: a folder whose members get all that they need, and no more than they may."""

from __future__ import annotations

import errno
import tomllib
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from camcast.live.profiles import system_folder
from camcast.live.profiles.certificate_file import read_chain, read_revocations
from camcast.live.profiles.identity_files import IdentityFiles
from camcast.live.profiles.key_file import read_public_key, write_key_pair
from camcast.security.chains import Chain, verify_chain
from camcast.security.keys import SecretKey
from camcast.vocabulary.lasting_file import write_lasting
from tests.camcast_command import Capture, answer, camcast, refusal

GATE = "tcp://192.0.2.1:7000"
MEMBERS = Path("members")


@pytest.fixture(autouse=True)
def _system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    answer(capfd, "system", "init", ".")


def admit(capfd: Capture, name: str, *options: object) -> Any:
    return answer(capfd, "system", "admit", name, *options)


def chain(name: str, folder: Path = MEMBERS) -> Chain:
    return verify_chain(
        read_chain(folder / name / f"{name}.cert"), [read_public_key(Path("root.pub"))]
    )


def revoked(path: str = "root.revoked") -> list[bytes]:
    return [entry.serial for entry in read_revocations(Path(path))[0].certificates]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def configuration(name: str) -> dict[str, Any]:
    return tomllib.loads((MEMBERS / name / "camcast.toml").read_text())


def states(capfd: Capture) -> dict[str, str]:
    return {row["name"]: row["state"] for row in answer(capfd, "system", "show")}


def test_a_members_folder_has_all_that_its_machine_needs_and_no_secret_of_others(
    capfd: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    gate = admit(capfd, "gate", "--may", "serve", "--at", GATE)
    ada = admit(capfd, "ada", "--topic", ".plant")
    assert ada["folder"] == "members/ada"
    own = ["ada.cert", "ada.key", "ada.pub", "camcast.toml", "root.list", "root.pub"]
    assert files(MEMBERS / "ada") == own
    assert (MEMBERS / "ada").stat().st_mode & 0o77 == 0
    assert configuration("ada")["gateway"] == [f"{GATE}#{gate['key']}"]
    assert configuration("gate")["bind"] == GATE
    assert configuration("gate")["gateway"] == []
    last = chain("ada").last
    assert (last.rights.names, last.prefix) == (("join", "publish"), ".plant")
    folder = MEMBERS / "ada"
    files_read = IdentityFiles(
        folder / "ada.key", folder / "ada.cert", folder / "root.pub", folder / "root.list"
    )
    assert files_read.read(last.not_before).public.text == ada["key"]
    assert caplog.text == ""


def test_a_gateway_that_comes_later_is_in_the_folders_of_all(capfd: Capture) -> None:
    admit(capfd, "ada")
    assert configuration("ada")["gateway"] == []
    gate = admit(capfd, "gate", "--may", "serve", "--at", GATE)
    assert configuration("ada")["gateway"] == [f"{GATE}#{gate['key']}"]
    answer(capfd, "system", "revoke", "gate")
    assert configuration("ada")["gateway"] == []


def test_a_secret_that_was_made_elsewhere_stays_there(tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "machine").mkdir()
    secret = SecretKey(b"eve".ljust(32))
    public = write_key_pair(tmp_path / "machine/eve.key", secret)
    assert admit(capfd, "eve", "--for", public)["key"] == secret.public.text
    assert "eve.key" not in files(MEMBERS / "eve")
    assert "is the key of eve" in refusal(capfd, "system", "admit", "bob", "--for", public)[1]
    assert not (MEMBERS / "bob").exists()


def test_renewing_keeps_key_rights_topic_and_address(capfd: Capture) -> None:
    admit(capfd, "gate", "--may", "serve", "--at", GATE)
    admit(capfd, "ada", "--topic", ".plant", "--days", 2)
    before, gate = chain("ada"), chain("gate")
    (row,) = answer(capfd, "system", "renew", "ada", "--days", 9)
    after = chain("ada")
    assert (after.subject, after.last.prefix) == (before.subject, ".plant")
    assert after.last.rights == before.last.rights
    assert row["not_after"] - row["not_before"] == 9 * 86_400
    assert chain("gate") == gate
    assert len(answer(capfd, "system", "renew")) == 2
    assert chain("ada").last.not_after - chain("ada").last.not_before == 9 * 86_400
    assert configuration("gate")["bind"] == GATE


def test_renewing_keeps_the_rate(capfd: Capture) -> None:
    admit(capfd, "ada", "--events-a-second", 10)
    assert chain("ada").rate == (10, 0)
    answer(capfd, "system", "renew", "ada")
    assert chain("ada").rate == (10, 0)


def test_who_is_revoked_is_revoked_with_all_earlier_certificates(capfd: Capture) -> None:
    admit(capfd, "bob")
    admit(capfd, "ada")
    answer(capfd, "system", "renew")
    serials = {chain("ada").last.serial}
    answer(capfd, "system", "renew", "ada")
    answer(capfd, "system", "renew", "ada")
    serials |= {chain("ada").last.serial}
    (row,) = answer(capfd, "system", "revoke", "ada")
    assert len(revoked()) == 4
    assert serials <= {*revoked()}
    assert revoked() == revoked("members/bob/root.list")
    assert states(capfd) == {"bob": "valid", "ada": "revoked"}
    key = Path(row["folder"]) / "ada.pub"
    assert "was revoked as ada" in refusal(capfd, "system", "admit", "ada", "--for", key)[1]
    admit(capfd, "ada")
    assert chain("ada").last.serial not in revoked()
    assert len(answer(capfd, "system", "renew")) == 2


def test_who_was_renewed_since_stays_a_member(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ada", "bob", "eve"):
        admit(capfd, name)
    before, now = chain("bob").last, chain("ada").last.not_before + 60
    monkeypatch.setattr("time.time", lambda: float(now))
    answer(capfd, "system", "renew", "bob")
    monkeypatch.setattr("time.time", lambda: float(now + 1))
    given = ["system", "revoke", "--issued-before", "1"]
    assert [row["name"] for row in answer(capfd, *given, "ada", "bob")] == ["ada"]
    assert [row["name"] for row in answer(capfd, *given, "--all")] == ["eve"]
    assert states(capfd) == {"bob": "valid", "ada": "revoked", "eve": "revoked"}
    handed_out = read_revocations(MEMBERS / "bob/root.list")[0]
    assert handed_out.names(before)
    assert not handed_out.names(chain("bob").last)
    assert answer(capfd, *given, "bob") == []


def test_the_state_is_told(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    admit(capfd, "ada", "--days", 10)
    now = chain("ada").last.not_before
    for days, state in ((1, "valid"), (9, "ends"), (10, "expired")):
        monkeypatch.setattr("time.time", lambda days=days: now + days * 86_400.0)
        assert states(capfd) == {"ada": state}
    assert camcast("system", "show") == 0
    assert "expired" in capfd.readouterr().out


def test_who_may_act_and_has_no_folder_is_shown_and_can_be_revoked(
    capfd: Capture, tmp_path: Path
) -> None:
    """As after an older copy of the members' folders: their keys are not forgotten."""
    admit(capfd, "ada")
    eve = admit(capfd, "eve")
    rmtree(MEMBERS / "eve")
    ada, lost = answer(capfd, "system", "show")
    assert ada["name"] == "ada"
    assert lost == {**eve, "name": "", "folder": "", "address": ""}
    assert camcast("system", "show") == 0
    assert eve["key"] in capfd.readouterr().out
    answer(capfd, "revoke", "--with", "root.key", "--issued-before", "0", eve["key"])
    assert states(capfd) == {"ada": "valid"}
    answer(capfd, "system", "renew")
    assert read_revocations(MEMBERS / "ada/root.list")[0].issued_before


def test_a_copy_without_empty_folders_is_a_system(capfd: Capture) -> None:
    MEMBERS.rmdir()
    admit(capfd, "ada")
    assert states(capfd) == {"ada": "valid"}


def test_the_next_list_is_due_when_the_last_certificate_ends(capfd: Capture) -> None:
    admit(capfd, "ada", "--days", 10)
    admit(capfd, "bob", "--days", 3)
    due = read_revocations(MEMBERS / "bob/root.list")[0].next_update
    assert due == chain("ada").last.not_after


@pytest.mark.parametrize("command", [["admit", "eve"], ["renew"], ["revoke", "ada"]])
def test_a_command_that_was_cut_short_is_given_again(
    command: list[str], capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever write fails, nobody who was revoked is a member, and the second try ends well."""
    admit(capfd, "gate", "--may", "serve", "--at", GATE)
    admit(capfd, "ada")
    serial = chain("ada").last.serial
    writes = 0

    def write(path: Path, *arguments: Any, **options: Any) -> None:
        nonlocal writes
        if not writes:
            raise OSError(errno.ENOSPC, "no space", str(path))
        writes -= 1
        write_lasting(path, *arguments, **options)

    with monkeypatch.context() as patched:
        for module in ("system_folder", "issuer_register", "key_file"):
            patched.setattr(f"camcast.live.profiles.{module}.write_lasting", write)
        tries = 0
        while (writes := tries) <= 40 and camcast("system", *command):
            assert "no space" in capfd.readouterr().err
            assert configuration("gate")["bind"] == GATE
            tries += 1
    assert tries > 3
    capfd.readouterr()
    listed = states(capfd)
    if command[0] == "revoke":
        assert listed == {"gate": "valid", "ada": "revoked"}
        assert serial in revoked("members/gate/root.list")
    else:
        assert {*listed.values()} == {"valid"}
        assert {path.name for path in MEMBERS.iterdir()} == {*listed}
    assert system_folder.members(Path())


REFUSALS = [
    (["admit", "ada"], "ada is a member"),
    (["admit", "../eve"], "is no name of a member"),
    (["admit", "root"], "is no name of a member"),
    (["admit", "eve", "--may", "serve"], "others have to find who may serve"),
    (["admit", "eve", "--may", "serve", "--at", "tcp://0.0.0.0:7000"], "others have to find"),
    (["admit", "eve", "--may", "serve", "--at", "tcp://192.0.2.1:0"], "others have to find"),
    (["admit", "eve", "--at", "nowhere"], "nowhere"),
    (["admit", "eve", "--may", "serve", "--at", GATE], "gate listens at tcp://192.0.2.1:7000"),
    (["admit", "eve", "--at", GATE], "gate listens at tcp://192.0.2.1:7000"),
    (["admit", "eve", "--may", "rule"], "no right is called 'rule'"),
    (["admit", "eve", "--may", "issue"], "issue nothing"),
    (["admit", "eve", "--days", "0"], "less than a second"),
    (["admit", "eve", "--may", "join", "--bytes-a-second", "9"], "go with --may publish"),
    (["admit", "eve", "--topic", "plant"], "plant"),
    (["admit", "eve", "--for", "none.pub"], "none.pub: No such file"),
    (["renew", "eve"], "has no member eve"),
    (["renew", "--days", "-1"], "less than a second"),
    (["revoke", "eve"], "has no member eve"),
    (["revoke"], "give the members to be revoked"),
    (["revoke", "--all"], "--all goes with --issued-before"),
    (["revoke", "--issued-before", "0"], "--issued-before takes members, or --all"),
    (["revoke", "--issued-before", "0", "--all", "ada"], "not both"),
    (["revoke", "--issued-before", "0", "eve"], "has no member eve"),
    (["revoke", "--issued-before", "2100-01-01", "--all"], "is not yet"),
    (["revoke", "--issued-before", "1999-01-01", "--all"], "a time after 2025"),
    (["show", "--in", "elsewhere"], "elsewhere is no folder of a system"),
    (["init", "."], "root.key exists"),
]


def test_what_cannot_be_is_said_in_a_sentence(capfd: Capture) -> None:
    admit(capfd, "ada")
    admit(capfd, "gate", "--may", "serve", "--at", GATE)
    for arguments, said in REFUSALS:
        code, error = refusal(capfd, "system", *arguments)
        assert code == 2
        assert said in error
        assert not (MEMBERS / "eve").exists()
    assert states(capfd) == {"ada": "valid", "gate": "valid"}


@pytest.mark.parametrize("arguments", [["init", ""], ["show", "--in", " "]])
def test_an_empty_text_is_no_folder_and_not_the_one_at_hand(
    arguments: list[str], capfd: Capture
) -> None:
    assert camcast("system", *arguments) == 2
    assert "names no file and no folder" in capfd.readouterr().err


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garble(path: Path) -> None:
    path.write_bytes(b"\xff\xfe what is this?\n")


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [
    remove,
    *(pytest.param(damage, marks=pytest.mark.slow) for damage in (empty, garble, become_a_folder)),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_whatever_file_is_damaged_a_command_works_or_says_which_file(
    damage: Callable[[Path], None], tmp_path: Path, capfd: Capture
) -> None:
    """And who was revoked stays revoked."""
    admit(capfd, "gate", "--may", "serve", "--at", GATE)
    admit(capfd, "ada")
    answer(capfd, "system", "revoke", "ada")
    (serial,) = revoked()
    whole = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(whole) > 10
    for number, path in enumerate(whole):
        copy = tmp_path.parent / f"{damage.__name__}-{number}"
        copytree(tmp_path, copy)
        damage(copy / path)
        for command in (["show"], ["admit", "eve"], ["revoke", "gate"]):
            code = camcast("system", *command, "--in", copy)
            said = capfd.readouterr().err
            assert (code == 0) is (said == ""), (path, command, said)
            assert said.count("\n") <= 1
            assert code == 0 or path.name in said, (path, command, said)
            if command != ["show"] and code == 0:
                assert serial in revoked(f"{copy}/root.revoked"), (path, command)
