"""Every example runs as it stands, finishes by itself, and prints what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.python_process import python

EXAMPLES = Path(__file__).parents[3] / "examples"

PRINTS = {
    "ten_lines.py": [
        "left for 0 peers and 1 super-process",
        ".soccer.italy: b'Roma 3, Lazio 2', after 1 hop",
    ],
    "typed_events.py": [
        "Goal is .MatchEvent.Goal, Card is .MatchEvent.Card",
        "fan: Goal(match='Roma-Lazio', minute=12, scorer='Totti')",
        "newspaper: Card(match='Roma-Lazio', minute=30, player='Nesta', red=True)",
        "newspaper: Goal(match='Roma-Lazio', minute=12, scorer='Totti')",
    ],
    "blocking_script.py": [
        *(
            f".house.{name}: b'{name} {degrees} degrees'"
            for name in ("cellar", "kitchen")
            for degrees in (20, 21, 22)
        ),
        "all sensors have left",
    ],
    "event_sourced.py": [
        *("booked 10", "booked 20", "booked 30", "booked 40", "booked 50", "total 150"),
        *("total 60", "was booked already: 30"),
    ],
    "sensor_states.py": [
        "known: cellar roof",
        "state: cellar 11.0",
        "state: cellar 12.5",
        "state: roof 21.5",
    ],
    "chat.py": [
        "[Ada in .chat.music] Ben: Does anybody play the oud?",
        "[Ada in .chat.music] Cem: I do, a little.",
        "[Ada in .chat] Ada: Nobody below hears what I say up here.",
        "[Ben in .chat.music] Ben: Does anybody play the oud?",
        "[Ben in .chat.music] Cem: I do, a little.",
        "[Cem in .chat.music] Ben: Does anybody play the oud?",
        "[Cem in .chat.music] Cem: I do, a little.",
        "in .chat.music: Ben, Cem",
    ],
}


CHAT = ("-W", "error", EXAMPLES / "chat.py")


@pytest.mark.parametrize("example", sorted(PRINTS))
def test_an_example_prints_what_it_says(example: str) -> None:
    done = python("-W", "error", EXAMPLES / example)
    assert (done.returncode, done.stderr) == (0, "")
    # Sorted, because two processes' events may overtake each other.
    assert sorted(done.stdout.splitlines()) == sorted(PRINTS[example])


def test_the_chat_takes_lines_and_finds_others_through_a_gateway() -> None:
    with subprocess.Popen(
        [sys.executable, *CHAT, "Ada", ".chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as ada:
        try:
            assert ada.stdout is not None
            assert ada.stdin is not None
            address = ada.stdout.readline().split()[-1]
            ben = python(*CHAT, "Ben", ".chat", "--gateway", address, stdin="Hello\x1b[31m\n")
            assert ben.returncode == 0
            assert "[Ben in .chat] Ben: Hello\ufffd[31m\n" in ben.stdout
            assert sorted(ada.stdout.readline() for _ in range(3)) == [
                "[Ada in .chat] Ben: Hello\ufffd[31m\n",
                "[Ada] Ben has left\n",
                "[Ada] Ben is here\n",
            ]
            ada.stdin.close()
            assert ada.wait(PATIENCE_SECONDS) == 0
        finally:
            ada.kill()


def test_the_chat_says_what_was_wrong() -> None:
    for arguments in (["Ada"], ["Ada", "chat"]):
        done = python(*CHAT, *arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "topic" in done.stderr.lower()


def test_every_example_is_tested() -> None:
    beside = (Path(__file__).parent / "test_examples_beside.py").read_text()
    found = {path.name for path in EXAMPLES.glob("*.py")}
    assert found - set(PRINTS) == {name for name in found if f'"{name}"' in beside}
