"""Every call of the blocking face in every place, as the table of docs/blocking.md says."""

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from camcast.app import blocking
from tests.python_process import output_of

SCRIPT: Final = Path(__file__).with_name("blocking_places.py")
PAGE: Final = Path(__file__).parents[3] / "docs" / "blocking.md"
READING: Final = {
    "Subscription.next",
    "Subscription.__next__",
    "Subscription.batches",
    "Subscription.until_quiet",
    "Changes.next",
}
ENDING: Final = {"Community.leave", "Community.unsubscribe", "Community.stop_publishing"}
FEEDS_CLOSE: Final = {"Subscription.close", "Changes.close"}
COMMUNITY_FACTS: Final = {
    *(f"Community.{name}" for name in ("state", "peers", "links", "size", "unsent")),
    "Subscription.stats",
    "Subscription.position",
    "Subscription.ack",
}
MANAGER_FACTS: Final = {
    *("contact", "address", "gateway", "counters", "stats", "peers", "Community.latest"),
}
REMEMBERED: Final = {
    *(f"Community.{name}" for name in ("topic", "super_topics", "parameters")),
    *(f"Subscription.{name}" for name in ("missed", "errors", "closed")),
    "discovery_state",
}
COLUMNS: Final[list[set[str] | None]] = [
    {"start"},
    None,  # all others
    READING,
    ENDING,
    FEEDS_CLOSE,
    {"close"},
    COMMUNITY_FACTS,
    MANAGER_FACTS,
]


def table() -> dict[str, list[str]]:
    """Return the rows of the page's table, by place."""
    [_, text] = PAGE.read_text().split("| in | `start` ")
    text = text.replace("done (3.12: refused)", "done" if threads_start_at_exit() else "refused")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in text.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows if len(row) > 2}


@cache
def threads_start_at_exit() -> bool:
    """Say whether this Python starts threads in functions of `atexit`, which 3.12.1 does not."""
    # Nobody waits for such a thread: without the `join` it may print nothing.
    tried = """
import atexit, threading
thread = threading.Thread(target=print)
atexit.register(lambda: (thread.start(), thread.join()))
"""
    return output_of("-c", tried) != ""


def column(call: str) -> int | None:
    """Return the column of a call; None for what is only remembered."""
    if call in REMEMBERED:
        return None
    found = [place for place, calls in enumerate(COLUMNS) if calls is not None and call in calls]
    return found[0] if found else 1


@cache
def outcomes() -> dict[str, dict[str, str]]:
    """Return what became of each call, by place: all in one process, which a hang ends in 20 s."""
    found: dict[str, dict[str, str]] = {}
    for line in output_of("-W", "ignore::DeprecationWarning", SCRIPT).splitlines():
        one = json.loads(line)
        found.setdefault(one["place"], {})[one["call"]] = one["became"]
    return found


def test_the_page_names_the_places_that_were_tried() -> None:
    assert table().keys() == outcomes().keys()


@pytest.mark.parametrize("place", table())
def test_every_call_does_in_a_place_what_the_page_says(place: str) -> None:
    cells = table()[place]
    wanted = {
        call: "done" if (at := column(call)) is None else cells[at] for call in outcomes()[place]
    }
    assert outcomes()[place] == wanted


def test_every_call_of_the_interface_was_tried() -> None:
    tried: set[str] = set(outcomes()["another thread"])
    for cls in (blocking.CommunityManager, blocking.Community, blocking.Subscription):
        prefix = "" if cls is blocking.CommunityManager else f"{cls.__name__}."
        assert {prefix + name for name in public(cls)} <= tried


def public(cls: type[Any]) -> set[str]:
    names = {name for name, _ in inspect.getmembers(cls) if not name.startswith("_")}
    return names - {"renew", "keep_rest"}  # which needs an identity; which the loop calls


def test_a_place_that_the_table_lacks_would_be_seen() -> None:
    assert len(table()) == 11
    assert all(len(row) == len(COLUMNS) for row in table().values())
