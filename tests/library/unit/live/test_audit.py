"""The audit file names who was refused, is bounded, and costs a flood a line a second."""

from __future__ import annotations

import asyncio
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from camcast import CommunityManager
from camcast.engine.node import Node
from camcast.live import audit
from camcast.live.audit import AGAIN_MAX, AGAIN_SECONDS, AuditError, AuditFile
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.authority import EVE, revocations
from tests.library.hostile.test_issuer_lies import forged_by
from tests.signed_world import SOCCER, certificate, key

ADA, BOB = PeerId(b"a" * 16), PeerId(b"b" * 16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def opened(path: Path) -> AuditFile:
    return AuditFile(path, lambda now: 1e9 + now, lambda peer: f"key of {peer[:1].decode()}")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_names_peer_key_reason_and_time_and_only_the_owner_reads_it(path: Path) -> None:
    opened(path).note("refused", "event_forged", 5.0, ADA)
    opened(path).note("cut_off", "what it sends is forged", 6.0, address="192.0.2.1")
    assert path.stat().st_mode & 0o777 == 0o600
    assert lines(path) == [
        {
            "time": 1e9 + 5,
            "what": "refused",
            "reason": "event_forged",
            "peer": ADA.hex(),
            "key": "key of a",
        },
        {
            "time": 1e9 + 6,
            "what": "cut_off",
            "reason": "what it sends is forged",
            "address": "192.0.2.1",
        },
    ]


def test_a_flood_takes_a_line_a_second_and_each_refusal_is_counted_once(path: Path) -> None:
    file = opened(path)
    for number in range(1000):
        file.note("refused", "malformed", number * AGAIN_SECONDS / 100, ADA)
    file.note("refused", "malformed", 5.0, BOB)
    file.close(10.0)
    counts = [line.get("count", 1) for line in lines(path) if line["peer"] == ADA.hex()]
    assert len(counts) <= 12
    assert sum(counts) == 1000


def test_what_many_do_in_turn_is_counted_and_remembered_up_to_a_bound(path: Path) -> None:
    file = opened(path)
    for _ in range(2):
        for number in range(AGAIN_MAX + 50):
            file.note("refused", "malformed", 0.0, PeerId(number.to_bytes(16)))
    assert len(file._again) == AGAIN_MAX
    file.close(0.0)
    assert sum(line.get("count", 1) for line in lines(path)) == 2 * (AGAIN_MAX + 50)


def test_a_full_file_makes_way_for_a_new_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "FILE_BYTES_MAX", 1000)
    file = opened(path)
    for number in range(100):
        file.note("refused", "malformed", 2.0 * number, ADA)
    before = path.with_name("audit.jsonl.1")
    assert {one.name for one in path.parent.iterdir()} == {path.name, before.name}
    assert max(path.stat().st_size, before.stat().st_size) <= 1000
    assert [line["time"] for line in (*lines(before), *lines(path))][-1] == 1e9 + 198


def test_a_file_that_cannot_be_written_is_logged_and_stops_nobody(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.mkdir()
    opened(path).note("refused", "malformed", 0.0, ADA)
    assert f"{path} cannot be written" in caplog.text


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "nowhere"])
def test_no_process_starts_whose_audit_file_cannot_be_written(path: Path, kind: str) -> None:
    """Nor does it wait for a reader of a pipe."""
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(path.with_name("elsewhere"))
        case "nowhere":
            path = path.with_name("none") / path.name
    with pytest.raises(AuditError, match=f"{path} cannot be written"):
        asyncio.run(CommunityManager(audit=path).start())


def test_a_process_tells_of_forgeries_of_the_bar_and_of_revocations(path: Path) -> None:
    world = AdmittedWorld()
    victim, eve = world.member(key(20), SOCCER), EVE.public.peer_id
    watched(victim, path)
    said = record(Kind.SECURITY, introduction(EVE, THERE, certificate(EVE)), eve)
    victim.receive(FRAME_HEADER + said, world.now, eve)
    for _ in range(4):
        for forged in forged_by(EVE):
            victim.receive(FRAME_HEADER + forged, world.now, eve)
    assert victim.signing is not None
    signatures = victim.signing._signatures
    assert signatures.take_revocations(revocations(1, since=0, until=2**32 - 1), world.now) == ""
    world.do(victim, partial(note_revoked))
    told = {(line["what"], line["reason"], line["peer"]) for line in lines(path)}
    assert ("barred", "faults", eve.hex()) in told
    assert ("refused", "introduction_forged", eve.hex()) in told
    assert ("revoked", "its_certificate", eve.hex()) in told


def watched(node: Node, path: Path) -> None:
    node.guard.audit = AuditFile(path, lambda now: now, lambda _peer: "").note


def note_revoked(node: Node, now: float) -> None:
    assert node.signing is not None
    node.signing._note_put_out(now)
