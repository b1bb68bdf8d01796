"""``camcast history``: lists, exports, verifies and repairs the file of an archive."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from camcast.live.archive.archive import FileArchive
from camcast.security.known_chains import KnownChains
from camcast.security.signed_batches import sign_batch
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.topics import Topic
from tests.authority import ADA, EVE, NOW, ROOT, grant
from tests.camcast_command import Capture, answer, camcast, refusal

SOCCER, ITALY = Topic.parse(".soccer"), Topic.parse(".soccer.italy")
CHAIN = (grant(ROOT, ADA, until=NOW + 100 * 24 * 3600),)
AGE_SECONDS = 3000 * 24 * 3600.0


def signed(first: int, *payloads: bytes, signer: object = None) -> Batch:
    stream = stream_id(ADA.public.peer_id, 1)
    batch = make_batch(stream, first, payloads, ITALY, published=1000 * (NOW + first))
    certificate = KnownChains([ROOT.public]).learn(CHAIN, NOW).hash
    return sign_batch(batch, certificate, EVE if signer is EVE else ADA)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an archive of three events, in two communities."""
    monkeypatch.setattr(time, "time", lambda: NOW + 1000.0)
    path = tmp_path / "events.archive"
    archive = FileArchive(path, 10_000_000, AGE_SECONDS)
    for batch in (signed(1, b"Goal!", b"\xff"), signed(3, b"Off")):
        archive.keep(ITALY, batch, CHAIN)
    archive.keep(SOCCER, signed(3, b"Off"), CHAIN)
    archive.close()
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    key = tmp_path / "root.pub"
    key.write_text(f"{ROOT.public.text}\n")
    return key


def test_what_there_is_is_listed_by_community(path: Path, capfd: Capture) -> None:
    above, italy = answer(capfd, "history", path)
    assert (above["topic"], above["events"], above["batches"]) == (".soccer", 1, 1)
    assert (italy["topic"], italy["events"], italy["batches"]) == (".soccer.italy", 3, 2)
    assert (italy["oldest"], italy["newest"]) == (NOW + 1, NOW + 3)
    assert camcast("history", path, "--topic", ".soccer") == 0
    assert ".soccer.italy" not in capfd.readouterr().out


def test_events_are_exported_as_lines_and_as_parquet(
    path: Path, tmp_path: Path, capfd: Capture
) -> None:
    assert camcast("history", path, "--topic", ".soccer.italy", "--export", "-") == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line.get("payload") for line in lines] == ["Goal!", None, "Off"]
    assert [line["community"] for line in lines] == 3 * [".soccer.italy"]
    assert lines[0]["published"] == NOW + 1
    assert camcast("history", path, "--export", tmp_path / "events.jsonl") == 0
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 4
    parquet = pytest.importorskip("pyarrow.parquet")
    assert camcast("history", path, "--export", tmp_path / "events.parquet") == 0
    rows = parquet.read_table(tmp_path / "events.parquet").to_pylist()
    assert sorted(row["payload"] for row in rows) == [b"Goal!", b"Off", b"Off", b"\xff"]


def test_signatures_are_verified_by_the_time_of_publication(
    path: Path, root: Path, capfd: Capture
) -> None:
    verified = answer(capfd, "history", path, "--trust", root)
    assert verified == {"verified": 4, "refused": {}}, "the certificate has ended since"
    archive = FileArchive(path, 10_000_000, AGE_SECONDS)
    archive.keep(ITALY, signed(4, b"forged", signer=EVE), CHAIN)
    archive.close()
    assert camcast("history", path, "--trust", root, "--json") == 1
    assert json.loads(capfd.readouterr().out)["refused"] == {"forged": 1}


def test_a_damaged_file_is_named_and_repaired(path: Path, capfd: Capture) -> None:
    assert answer(capfd, "history", path, "--repair") == {"damaged": False}
    with path.open("r+b") as file:
        file.seek(16)
        file.write(b"\xff" * 80)
    code, said = refusal(capfd, "history", path)
    assert code == 1
    assert "--repair" in said
    outcome = answer(capfd, "history", path, "--repair")
    assert outcome["damaged"]
    assert Path(outcome["kept_as"]).exists()
    assert camcast("history", path) == 0


def test_what_cannot_be_is_refused_in_one_sentence(path: Path, capfd: Capture) -> None:
    assert refusal(capfd, "history", path.with_name("nothing"))[0] == 1
    assert refusal(capfd, "history", path, "--topic", "no topic")[0] == 2
    assert refusal(capfd, "history", path, "--export", "-", "--since", "yesterday")[0] == 2
    assert refusal(capfd, "history", path, "--repair", "--export", "-")[0] == 2
    code, said = refusal(capfd, "history", path, "--export", path / "below")
    assert code == 1
    assert "below" in said
