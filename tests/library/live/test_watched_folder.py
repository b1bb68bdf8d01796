"""`camcast top`, `events`, `ping`, and the register of a gateway: a folder is watched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from camcast import Received
from camcast.app import blocking
from camcast.cli.events import Followed
from camcast.cli.top import rows_of
from camcast.vocabulary.topics import PROBE
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.library.live.communities import OPTIONS
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.printed_json import checked

Managers = dict[str, blocking.CommunityManager]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for sockets; their paths are short."""
    (tmp_path / "s").mkdir()
    return tmp_path / "s"


@pytest.fixture
def running(folder: Path) -> Iterator[Managers]:
    """A gateway, and processes of a topic, of the one above it, and of another one."""
    with blocking.CommunityManager(options=OPTIONS, control=folder / "gate") as gate:
        gateways: Any = {"options": OPTIONS, "gateways": [gate.address]}
        with (
            blocking.CommunityManager(control=folder / "hall", **gateways) as hall,
            blocking.CommunityManager(control=folder / "plant", **gateways) as plant,
            blocking.CommunityManager(control=folder / "zoo", **gateways) as zoo,
        ):
            plant.join(".plant")
            zoo.join(".zoo")
            hall.join(".plant.hall").ready(0, min_links=1, timeout=PATIENCE_SECONDS)
            yield {"gate": gate, "hall": hall, "plant": plant, "zoo": zoo}


def payload(events: blocking.Subscription[bytes]) -> bytes:
    """Return the payload of the next event."""
    event = events.next(timeout=PATIENCE_SECONDS)
    assert isinstance(event, Received)
    return event.payload


def test_a_probe_comes_through_all_levels_and_no_subscription_gets_it(
    running: Managers, folder: Path, capfd: Capture
) -> None:
    heard = [running[name].community(topic).subscribe() for name, topic in PLACES.items()]
    gate = running["gate"].address
    rows = answer(capfd, "ping", ".plant.hall", folder, "--gateway", gate)
    assert [(row["process"], row["community"], row["has"]) for row in rows] == [
        ("hall", ".plant.hall", True),
        ("plant", ".plant", True),
    ]
    assert all(row["seconds"] >= 0 and row["hops"] >= 1 for row in rows)
    running["hall"].community(".plant.hall").publish(b"an event")
    for events in heard:
        assert payload(events) == b"an event"
        events.close()


PLACES = {"hall": ".plant.hall", "plant": ".plant"}


def test_a_ping_names_who_did_not_get_it(running: Managers, folder: Path, capfd: Capture) -> None:
    (folder / "old").touch()  # no socket: it is no process
    running["plant"].close()
    arguments = ["--within", "0", "--gateway", running["gate"].address, "--json"]
    code = camcast("ping", ".plant.hall", folder / "hall", folder / "plant", *arguments)
    rows = checked(json.loads(capfd.readouterr().out))
    assert code == 1
    row = {row["process"]: row for row in rows}["plant"]
    assert row["has"] is None
    assert "no process listens there" in row["says"]
    said = refusal(capfd, "ping", ".zoo.lions", folder / "hall", "--gateway", arguments[3])[1]
    assert "none of the 1 that were asked" in said
    assert refusal(capfd, "ping", ".plant", folder / "old")[0] == 1


def test_a_gateway_lists_who_announced_himself(
    running: Managers, folder: Path, capfd: Capture
) -> None:
    def announced() -> list[tuple[str, str]]:
        rows = answer(capfd, "status", folder / "gate")["announced"]
        return [(row["topic"], row["address"]) for row in rows]

    topics = {".plant": "plant", ".plant.hall": "hall", ".zoo": "zoo"}
    expected = [(topic, running[name].address) for topic, name in topics.items()]
    wait_until(lambda: announced() == expected)
    assert camcast("status", folder / "gate") == 0
    assert f".zoo          {running['zoo'].address}" in capfd.readouterr().out
    running["zoo"].community(".zoo").leave()
    wait_until(lambda: announced() == expected[:2])
    assert answer(capfd, "status", folder / "hall")["announced"] == []


def test_what_happens_to_all_is_one_stream_and_each_thing_comes_once(
    running: Managers, folder: Path, capfd: Capture
) -> None:
    assert camcast("events", folder, "--json") == 0
    rows = [checked(json.loads(line)) for line in capfd.readouterr().out.splitlines()]
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    joined = {(row["process"], row["topic"]) for row in rows if row["kind"] == "joined"}
    assert joined == {("hall", ".plant.hall"), ("plant", ".plant"), ("zoo", ".zoo")}
    assert camcast("events", folder / "zoo") == 0
    assert " zoo joined: joined .zoo\n" in capfd.readouterr().out

    assert camcast("events", folder / "zoo", folder / "nobody") == 1  # a script would not notice
    assert "nobody no_answer: " in capfd.readouterr().out
    (folder / "empty").mkdir()
    code, error = refusal(capfd, "events", folder / "empty")
    assert code == 1
    assert "empty has no control sockets" in error

    followed = Followed(folder / "hall")
    assert [*followed.look()]
    assert [*followed.look()] == []
    running["hall"].join(".lions")
    kinds = [row["kind"] for row in followed.look()]
    assert kinds.count("joined") == 1
    running["hall"].close()
    assert [row["kind"] for row in followed.look()] == ["no_answer"]
    assert [*followed.look()] == []


def test_conditions_begin_and_end_in_the_stream() -> None:
    followed = Followed(Path("ada"))
    one = {"name": "deaf", "about": "", "says": "hears nothing", "do": "look", "since": 5.0}

    def seen(*conditions: dict[str, Any]) -> list[tuple[float, str]]:
        return [(row["at"], row["says"]) for row in followed._conditions(list(conditions))]

    assert seen(one | {"stage": "beginning", "seen": 5.0}) == []
    assert seen(one | {"stage": "lasting", "seen": 9.0}) == [(5.0, "hears nothing; look")]
    assert seen(one | {"stage": "lasting", "seen": 14.0}) == []
    assert seen(one | {"stage": "over", "seen": 14.0}) == [(14.0, "is over")]
    assert seen(one | {"stage": "over", "seen": 14.0}) == []
    two = one | {"since": 20.0, "seen": 22.0, "stage": "over"}  # between two looks
    expected = [(20.0, "hears nothing"), (22.0, "is over")]
    assert seen(two, one | {"stage": "over", "seen": 14.0}) == expected


def test_the_busiest_stand_first_and_rates_are_of_the_time_between(
    running: Managers, folder: Path, capfd: Capture
) -> None:
    (rows,) = [answer(capfd, "top", folder, "--count", 1)]
    assert {row["process"] for row in rows} == {*running}
    before = {folder / name: running[name].stats().as_dict() for name in ("hall", "zoo")}
    after = json.loads(json.dumps({path.name: one for path, one in before.items()}))
    for one, events in (("hall", 10), ("zoo", 30)):
        after[one]["up_seconds"] += 2.0
        after[one]["counters"]["events"] += events
    found = rows_of({folder / name: one for name, one in after.items()}, before)
    assert [row["process"] for row in found] == ["zoo", "hall"]
    assert [row["received_a_second"] for row in found] == pytest.approx([15.0, 5.0])
    again = rows_of({folder / "hall": after["hall"] | {"process": 1, "up_seconds": 5.0}}, before)
    assert again[0]["received_a_second"] == pytest.approx(after["hall"]["counters"]["events"] / 5)
    running["zoo"].close()
    (folder / "zoo").unlink(missing_ok=True)
    assert camcast("top", folder / "zoo", "--count", 1) == 0
    assert "no answer" in capfd.readouterr().out


def test_the_topic_of_a_probe_is_below_any_topic(running: Managers) -> None:
    """An event of the application's own on such a topic is a probe, too."""
    plant = running["plant"].community(".plant").subscribe()
    running["hall"].join(f".plant.hall.{PROBE}").publish(b"never seen")
    running["hall"].community(".plant.hall").publish(b"seen")
    assert payload(plant) == b"seen"
    plant.close()
