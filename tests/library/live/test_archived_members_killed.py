"""Real processes with archives are killed, one after another or all: nothing of theirs is lost."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from camcast.live.archive.reading import ArchiveReader
from tests.library.live.archived_member import STOP
from tests.library.live.running_command import Running
from tests.patience import wait_until

DIED_WITH = 30  # chosen: a second's, by the count of a process that may have been kept from running


class Members:
    """The processes of a test: each has a name, an archive, and lives that end by kill -9."""

    def __init__(self, folder: Path, gateway: str) -> None:
        self._folder, self._gateway = folder, gateway
        self._lives = itertools.count(1)
        self._running: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
        self.ended: dict[str, None] = {}
        """The lives that are over."""

    def start(self, name: str, rate: float, *more: str) -> None:
        life = f"{name}.{next(self._lives)}"
        module = ("-m", "tests.library.live.archived_member")
        given = (str(self.archive(name)), self._gateway, life, f"{rate}", *more)
        self._running[name] = subprocess.Popen([sys.executable, *module, *given]), life

    def kill(self, name: str) -> None:
        process, life = self._running.pop(name)
        process.kill()
        process.wait()
        self.ended[life] = None

    def kill_all(self) -> None:
        for name in [*self._running]:
            self.kill(name)

    def archive(self, name: str) -> Path:
        return self._folder / f"{name}.archive"

    def lines(self, name: str, word: str) -> list[list[str]]:
        """Return what the lives of a member have written under this word, the last whole line."""
        path = self.archive(name).with_suffix(".log")
        text = path.read_text() if path.exists() else ""
        lines = (line.split(" ") for line in text.splitlines())
        return [line[1:] for line in lines if line[0] == word]

    def published(self, names: list[str]) -> set[str]:
        """Return the events that were accepted, but for the last of each life that was ended."""
        lives: dict[str, list[str]] = {}
        for name in names:
            for event, *_ in self.lines(name, "published"):
                lives.setdefault(event.rpartition("-")[0], []).append(event)
        return {
            event
            for life, events in lives.items()
            for event in (events[:-DIED_WITH] if life in self.ended else events)
        }

    def publishes(self, name: str) -> bool:
        """Say whether a member has published in its present life."""
        published, life = self.lines(name, "published"), self._running[name][1]
        return bool(published) and published[-1][0].startswith(f"{life}-")

    def archived(self, name: str) -> set[str]:
        with closing(ArchiveReader(self.archive(name))) as reader:
            return {
                payload.decode() for one in reader.batches() for payload in one.batch.payloads()
            }

    def stop_publishing(self) -> None:
        (self._folder / STOP).touch()


def wait_patiently(holds: Callable[[], bool]) -> None:
    """Wait for what is found in files, which takes its time."""

    def look() -> bool:
        time.sleep(1.0)
        return holds()

    wait_until(look)


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    with Running("gateway", "--bind", "tcp://127.0.0.1:0", "--json") as gateway:
        found = Members(tmp_path, gateway.read()["address"])
        yield found
        found.kill_all()


@pytest.mark.slow
def test_six_processes_are_killed_in_turn_and_a_durable_subscriber_has_all_of_theirs_once(
    members: Members,
) -> None:
    """Every two seconds for five minutes; the subscriber is one of the six.

    None is killed before the last one publishes again, since what a process publishes while all
    others are down may die with it.
    """
    names, random = ["durable", "b", "c", "d", "e", "f"], Random(1)
    rate = 200 / len(names)

    def start(name: str) -> None:
        members.start(name, rate, *(["durable"] if name == "durable" else []))

    for name in names:
        start(name)
    wait_patiently(lambda: all(members.lines(name, "published") for name in names))
    began = time.monotonic()
    while time.monotonic() < began + 300.0:
        time.sleep(1.0)
        name = random.choice(names)
        members.kill(name)
        start(name)
        wait_patiently(partial(members.publishes, name))
    members.stop_publishing()
    due = members.published(names)

    def took() -> list[str]:
        return [event for [event] in members.lines("durable", "took")]

    wait_patiently(lambda: due <= {*took()})
    members.kill_all()
    everywhere = set().union(*map(members.archived, names))
    taken = Counter(took())
    lives = len(members.lines("durable", "began"))
    again = taken.total() - len(taken)
    kills = len(members.ended) - len(names)
    print(f"{len(due):,} due, {len(taken):,} taken, {again} again; {kills} kills, {lives} lives")
    assert everywhere <= {*taken}, "what any archive has"
    assert again < lives, "but for the one that was taken and not done with at each kill"
    assert max(taken.values()) <= 2
    assert len(due) > 300 * rate, "as many as one that is never killed publishes"


@pytest.mark.slow
def test_all_ten_processes_stop_for_200_seconds_and_each_has_the_whole_history_again(
    members: Members,
) -> None:
    names = [f"m{number}" for number in range(10)]
    for name in names:
        members.start(name, 5.0)
    wait_patiently(lambda: all(len(members.lines(name, "published")) > 20 for name in names))
    early = names[:2]
    for name in early:  # their archives lack what follows
        members.kill(name)
    count = len(members.lines(names[2], "published"))
    wait_patiently(lambda: len(members.lines(names[2], "published")) > count + 50)
    members.stop_publishing()
    due = members.published(names)
    wait_patiently(lambda: all(due <= members.archived(name) for name in names[2:]))
    members.kill_all()
    assert not any(due <= members.archived(name) for name in early)
    time.sleep(200)  # longer than anything is remembered in memory
    for name in names:
        members.start(name, 0.0, *(["durable"] if name == names[0] else []))
    wait_patiently(lambda: all(due <= members.archived(name) for name in names))
    wait_patiently(lambda: due <= {event for [event] in members.lines(names[0], "took")})
    assert Counter(event for [event] in members.lines(names[0], "took")).most_common(1)[0][1] == 1
