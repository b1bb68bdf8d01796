"""What `camcast subscribe` refuses before a process starts, and the lines that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.cli.event_lines import Format, json_of, seconds_of
from camcast.inbox.position import Position
from camcast.inbox.received import Received
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic
from tests.camcast_command import Capture, camcast, refusal


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--retention", value) for value in ("-1", "nan", "600.5", "inf")),
        *(("--hold", value) for value in ("0", "nan", "600.5", "soon")),
    ],
)
def test_seconds_out_of_range_are_refused_by_the_name_of_their_option(
    option: str, value: str, capfd: Capture
) -> None:
    assert camcast("subscribe", ".a", option, value) == 2
    printed, error = capfd.readouterr()
    assert printed == ""
    assert f"Invalid value for '{option}'" in error


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--for", "30"), "such as 500ms, 30s"),
        (("--for", "0s"), "above 0"),
        (("--for", "-1s"), "above 0"),
        (("--for", "inf"), "above 0"),
        (("--format", "{nothing}"), "{nothing}"),
        (("--format", "{topic.__class__}"), "{topic.__class__}"),
        (("--format", "{topic!r}"), "--format takes {published}"),
        (("--format", "{hops:>9999999999}"), "--format takes {published}"),
        (("--format", "{"), "write {{ for a brace"),
        (("--format", "{topic}", "--json"), "two forms"),
        (("--hold", "2", "--order", "arrival"), "goes with the order fifo"),
        (("--hold", "2", "--no-repair"), "and with repair"),
    ],
)
def test_a_form_or_a_duration_that_is_none_is_refused_in_a_sentence(
    arguments: tuple[str, ...], word: str, capfd: Capture
) -> None:
    code, error = refusal(capfd, "subscribe", ".a", *arguments)
    assert code == 2
    assert word in error


def test_a_position_file_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, capfd: Capture
) -> None:
    wrong, other = tmp_path / "wrong", tmp_path / "other"
    wrong.write_bytes(b"garbage")
    other.write_bytes(Position(Topic.parse(".b").group, 1.0).encode())
    for arguments, word in (
        ((wrong,), "no position"),
        ((other,), "another topic"),
        ((tmp_path,), "directory"),
        ((tmp_path / "no" / "file",), "no such folder"),
        ((tmp_path / "new", "--durable", "me", "--archive", tmp_path / "a"), "give one"),
        ((tmp_path / "new", "--latest"), "--latest begins"),
    ):
        code, error = refusal(capfd, "subscribe", ".a", "--position", *map(str, arguments))
        assert code == 2
        assert word in error
    assert not (tmp_path / "new").exists()


def event(payload: bytes) -> Received[bytes]:
    topic = Topic.parse(".a")
    return Received(StreamId(b"p" * 24), 3, topic, payload, payload, 2, 1_000_000_000.0, False)


def test_a_line_has_the_fields_that_its_format_names_and_stays_one_line() -> None:
    form = Format.parse("{published} {topic} {hops} {{}} {payload}")
    assert form.line(event(b"one\ntwo")) == "2001-09-09T01:46:40+00:00 .a 2 {} one\\ntwo"
    assert Format.parse("{payload}").line(event(b"\xff")) == "/w=="
    assert Format.parse("{id}").line(event(b"")) == json_of(event(b""))["id"]


def test_durations_have_units() -> None:
    assert [seconds_of(one, "--for") for one in ("500ms", "30s", "1.5min", "2h")] == [
        *(0.5, 30.0, 90.0, 7200.0)
    ]
