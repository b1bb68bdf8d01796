"""What an authority keeps beside its key: no copy, loss or damage of it takes a revocation back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from camcast.live.profiles.certificate_file import CertificateFileError, read_revocations
from camcast.live.profiles.issuer_register import opened
from camcast.security.certificates import CERTIFICATE, Certificate
from camcast.security.revocation import RevocationList
from camcast.security.sealed import seal_hash
from tests.authority import CLUB, DAY, EVE, NOW, ROOT, grant

YEAR = 365 * DAY


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "root.key"


def issue(key: Path, serial: int, now: int = NOW, until: int = NOW + YEAR) -> Certificate:
    signed = grant(ROOT, EVE, since=now, until=until, serial=serial)
    with opened(key, ROOT, now) as register:
        register.add(signed, now)
    return CERTIFICATE.read(signed)


def revoke(
    key: Path, *certificates: Certificate, known: Path | None = None, now: int = NOW
) -> set[int]:
    """Sign a list, and return the serials in the one that is kept."""
    given = [] if known is None else [read_revocations(known)]
    with opened(key, ROOT, now) as register:
        register.revoke(certificates, given, now, DAY)
    return serials(kept(key))


def kept(key: Path) -> RevocationList:
    return read_revocations(key.with_suffix(".revoked"))[0]


def serials(value: RevocationList) -> set[int]:
    return {int.from_bytes(entry.serial) for entry in value.certificates}


def test_lists_grow_by_number_and_each_names_the_one_before(key: Path) -> None:
    first, second = issue(key, 1), issue(key, 2)
    assert revoke(key, first) == {1}
    before, data = read_revocations(key.with_suffix(".revoked"))
    assert before.predecessor == b""
    assert revoke(key, second) == {1, 2}
    assert kept(key).number == before.number + 1
    assert kept(key).predecessor == seal_hash(data)


def damage_register(issued: Path, _revoked: Path) -> None:
    issued.write_bytes(issued.read_bytes()[:-50])


def empty_register(issued: Path, _revoked: Path) -> None:
    issued.write_bytes(b"")


def lose_register(issued: Path, _revoked: Path) -> None:
    issued.unlink()


def zeros_in_the_register(issued: Path, _revoked: Path) -> None:
    issued.write_bytes(issued.read_bytes()[:-50] + b"\0" * 50)


def join_two_registers(issued: Path, _revoked: Path) -> None:
    issued.write_bytes(issued.read_bytes() * 2)


def damage_list(_issued: Path, revoked: Path) -> None:
    revoked.write_bytes(revoked.read_bytes()[:-50])


def empty_list(_issued: Path, revoked: Path) -> None:
    revoked.write_bytes(b"")


def lose_list(_issued: Path, revoked: Path) -> None:
    revoked.unlink()


@pytest.mark.parametrize(
    "damage",
    [
        *(damage_register, empty_register, lose_register, zeros_in_the_register),
        *(join_two_registers, damage_list, empty_list, lose_list),
    ],
)
def test_damage_to_one_file_is_told_and_takes_nothing_back(
    key: Path, damage: Callable[[Path, Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = issue(key, 1), issue(key, 2)
    revoke(key, first)
    revoke(key, second)
    number = kept(key).number
    damage(key.with_suffix(".issued"), key.with_suffix(".revoked"))
    caplog.clear()
    assert revoke(key) == {1, 2}
    assert kept(key).number > number
    assert "root." in caplog.text
    caplog.clear()
    assert revoke(key) == {1, 2}
    assert not caplog.text  # it was told, and is mended


@pytest.mark.parametrize("file", ["root.issued", "root.revoked"])
def test_an_older_copy_of_one_file_takes_nothing_back(
    key: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = issue(key, 1), issue(key, 2)
    revoke(key, first)
    path = key.with_name(file)
    copy = path.read_bytes()
    revoke(key, second)
    path.write_bytes(copy)
    assert revoke(key) == {1, 2}
    assert f"{path} is an older copy than" in caplog.text


def test_a_list_that_was_handed_out_gives_back_what_older_copies_of_both_files_lack(
    key: Path, tmp_path: Path
) -> None:
    first, second = issue(key, 1), issue(key, 2)
    revoke(key, first)
    paths = [key.with_suffix(".issued"), key.with_suffix(".revoked")]
    copies = [path.read_bytes() for path in paths]
    revoke(key, second)
    handed_out = tmp_path / "friday.list"
    handed_out.write_bytes(paths[1].read_bytes())
    for path, copy in zip(paths, copies, strict=True):
        path.write_bytes(copy)
    assert revoke(key, known=handed_out) == {1, 2}
    assert kept(key).number > read_revocations(handed_out)[0].number


def test_all_that_was_ever_revoked_is_kept_and_long_expired_certificates_are_not(key: Path) -> None:
    short = issue(key, 1, until=NOW + DAY)
    issue(key, 2)
    revoke(key, short)
    later = NOW + 40 * DAY
    assert revoke(key, now=later) == set()  # it has expired
    text = key.with_suffix(".issued").read_text()
    assert "serial 0000000000000001" not in text
    assert "camcast-revoked-1 0000000000000001" in text
    assert "serial 0000000000000002" in text


def test_a_clock_far_from_what_was_signed_last_is_refused_with_both_times(key: Path) -> None:
    issue(key, 1)
    for now in (NOW - 301, NOW + 401 * DAY):
        with pytest.raises(CertificateFileError, match="set the clock right") as caught:
            revoke(key, now=now)
        assert "2027-01-15 08:00 UTC" in str(caught.value)  # that of NOW
    with opened(key, ROOT, NOW - 301, clock_is_right=True) as register:
        register.revoke((), (), NOW - 301, DAY)
    issue(key, 2, now=NOW + 399 * DAY, until=NOW + 400 * DAY)


def test_the_first_list_of_a_key_is_told(key: Path, caplog: pytest.LogCaptureFixture) -> None:
    revoke(key)
    assert "this is taken for the first" in caplog.text
    caplog.clear()
    revoke(key)
    assert not caplog.text


def test_a_flipped_bit_of_a_certificate_is_found_before_it_is_revoked(key: Path) -> None:
    serial = issue(key, 1).serial
    path = key.with_suffix(".issued")
    note, line, rest = path.read_text().split("\n", 2)
    path.write_text(f"{note}\n{line[:-8]}{'A' if line[-8] != 'A' else 'B'}{line[-7:]}\n{rest}")
    with opened(key, ROOT, NOW) as register, pytest.raises(CertificateFileError, match="damaged"):
        register.find(serial)


def test_another_key_s_list_is_refused(key: Path, tmp_path: Path) -> None:
    revoke(key)
    os.rename(key.with_suffix(".revoked"), tmp_path / "club.revoked")
    with (
        pytest.raises(CertificateFileError, match="the list of another key than that in"),
        opened(tmp_path / "club.key", CLUB, NOW),
    ):
        pass


def test_the_files_are_where_the_key_is_whichever_link_is_given(key: Path, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    real = tmp_path / "stick" / "root.key"
    real.touch()
    key.symlink_to(real)
    first = issue(key, 1)
    revoke(real, first)
    assert sorted(os.listdir(real.parent)) == ["root.issued", "root.key", "root.revoked"]
    assert sorted(os.listdir(tmp_path)) == ["root.key", "stick"]


def test_processes_that_revoke_at_once_lose_nothing(key: Path) -> None:
    issued = [issue(key, number) for number in range(1, 9)]
    children = []
    for certificate in issued:
        if not (child := os.fork()):
            try:
                revoke(key, certificate)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert serials(kept(key)) == set(range(1, 9))
