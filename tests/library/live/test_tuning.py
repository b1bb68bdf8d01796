"""Parameters and super-topics change in a running process, by its own call or from outside."""

from __future__ import annotations

import asyncio
import json
import socket
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from camcast import CommunityError, CommunityManager, CommunitySettings, Parameters
from camcast.app import blocking
from camcast.observe.trace import ListSink
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.library.live.communities import OPTIONS, Inbox, managers
from tests.patience import PATIENCE_SECONDS, eventually, live

PAPERS = {"c": 5.0, "g": 5.0, "a": 1.0, "z": 3, "tau": 2, "p_sel": None, "as_printed": False}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"g": 0}, "'g' must be > 0"),
    ({"g": "20"}, "g is a number"),
    ({"c": float("nan")}, "c is a finite number"),
    ({"a": float("inf")}, "a is a finite number"),
    ({"z": 2.5}, "z is a whole number"),
    ({"z": 10**6}, "'z' must be <= 1000"),
    ({"z": None}, "z is a whole number"),
    ({"tau": 4}, "tau=4 is larger than z=3"),
    ({"p_sel": 2}, "'p_sel' must be <= 1"),
    ({"as_printed": 1}, "as_printed is True or False"),
    ({"retention_seconds": 1}, "no parameter 'retention_seconds'"),
    ({"self": 1}, "no parameter 'self'"),
    ({"g": 7, "q": 1}, "no parameter 'q'; there is: c, g, a, z"),
]


@pytest.mark.parametrize(("changes", "why"), WRONG, ids=lambda one: str(one)[:30])
def test_a_wrong_change_is_refused_by_name_and_changes_nothing(
    changes: dict[str, Any], why: str
) -> None:
    community = CommunityManager().community(".a")
    with pytest.raises((TypeError, ValueError), match=why):
        community.tune(**changes)
    assert community.parameters == CommunitySettings()


def test_tau_follows_z_unless_it_was_set_apart() -> None:
    manager = CommunityManager()
    community = manager.community(".a")
    community.tune(z=7)
    assert (community.parameters.z, community.parameters.tau) == (7, 6)
    community.tune(z=1)
    assert community.parameters.tau == 0
    other = manager.community(".b", parameters=Parameters(z=5, tau=2))
    other.tune(z=4)
    assert other.parameters.tau == 2


@live
async def test_a_member_is_tuned_and_linked_without_leaving_or_joining() -> None:
    trace, inboxes = ListSink(), [Inbox(), Inbox()]
    async with managers(2, trace=trace) as (above, below):
        for topic, inbox in zip((".l", ".r"), inboxes, strict=True):
            (await above.join(topic)).subscribe(inbox)
        community = await below.join(".l.x")
        await community.ready(0, min_links=1)
        began = len(trace.records)
        assert (await community.publish(b"1")).links == 1
        await eventually(lambda: inboxes[0].payloads == [b"1"])
        community.link(".r")
        assert [one.name for one in community.super_topics] == [".l", ".r"]
        await eventually(lambda: len([one for _, who in community.links for one in who]) == 2)
        community.tune(p_sel=0)
        await community.publish(b"2")
        community.tune(p_sel=None, a=2.0)
        await community.publish(b"3")
        await eventually(lambda: b"3" in inboxes[0].payloads and b"3" in inboxes[1].payloads)
        community.unlink(".r")
        await community.publish(b"4")
        await eventually(lambda: b"4" in inboxes[0].payloads)
        assert b"1" not in inboxes[1].payloads
        assert b"4" not in inboxes[1].payloads
        assert not {one.kind for one in trace.records[began:]} & {"join", "leave"}


@live
async def test_a_topic_that_was_left_takes_other_settings() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".l.x")
        other: dict[str, Any] = {"parameters": Parameters(g=50), "super_topics": [".l", ".r"]}
        for name, value in other.items():
            with pytest.raises(CommunityError, match=r"\.l\.x exists already, with other"):
                manager.community(".l.x", **{name: value})
        await community.leave()
        assert await manager.join(".l.x", **other) is community
        assert community.parameters.g == 50
        assert len(community.links) == 2
        await community.leave()
        community.tune(g=60)
        community.unlink(".l")
        await community.join()
        assert community.parameters.g == 60
        assert [one.name for one, _ in community.links] == [".r"]


def test_what_cannot_be_linked_is_refused_by_name() -> None:
    community = CommunityManager().community(".a.b")
    with pytest.raises(CommunityError, match=r"\.a\.b cannot be its own super-topic"):
        community.link(".a.b")
    with pytest.raises(CommunityError, match=r"\.a\.b\.c is below \.a\.b"):
        community.link(".a.b.c")
    with pytest.raises(CommunityError, match=r"not linked to \.r, but to \.a"):
        community.unlink(".r")
    with pytest.raises(ValueError, match="must start with"):
        community.link("r")
    community.link(".a")
    assert [one.name for one in community.super_topics] == [".a"]


def test_scripts_and_threads_have_the_same_calls() -> None:
    with blocking.CommunityManager(options=OPTIONS) as manager:
        community = manager.join(".a.b")
        community.tune(g=20)
        community.link(".r")
        community.unlink(".a")
        assert community.parameters.g == 20
        assert [topic.name for topic, _ in community.links] == [".r"]


def test_the_command_tunes_a_running_process(tmp_path: Path, capfd: Capture) -> None:
    control = tmp_path / "control"
    with blocking.CommunityManager(options=OPTIONS, control=control) as manager:
        community = manager.join(".a")
        assert answer(capfd, "tune", control, ".a") == {"topic": ".a", **PAPERS}
        assert camcast("tune", control, ".a", "g=20", "z=5", "p_sel=0.5", "as_printed=true") == 0
        assert capfd.readouterr().out == (".a: c=5 g=20 a=1 z=5 tau=4 p_sel=0.5 as_printed=true\n")
        assert camcast("tune", control, ".a", "p_sel=none", "as_printed=false") == 0
        capfd.readouterr()
        tuned = Parameters(g=20, z=5)
        assert attrs.asdict(community.parameters).items() >= attrs.asdict(tuned).items()
        for arguments, why in (
            ([".a", "g=many"], "g is a number, and not 'many'"),
            ([".a", "g=-1"], "'g' must be > 0"),
            ([".a", "q=1"], "no parameter 'q'"),
            ([".a", "g"], "takes NAME=VALUE, not 'g'"),
            ([".b", "g=1"], "the process is not in .b; its communities: .a"),
            (["a", "g=1"], "must start with '.'"),
        ):
            code, said = refusal(capfd, "tune", control, *arguments)
            assert code in (1, 2)
            assert why in said
        for changes in ("[1]", "null", '"g"', '{"g": [1]}', '{"self": 1}'):
            question = f'{{"ask": "tune", "topic": ".a", "changes": {changes}}}\n'
            assert "error" in _answered(control, question), changes
        assert attrs.asdict(community.parameters).items() >= attrs.asdict(tuned).items()


def _answered(control: Path, question: str) -> Any:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(PATIENCE_SECONDS)
        asking.connect(str(control))
        asking.sendall(question.encode())
        return json.loads(asking.makefile().readline())


@live
async def test_a_change_in_a_closed_manager_counts_from_the_next_start() -> None:
    manager = CommunityManager(options=OPTIONS)
    async with manager:
        community = await manager.join(".a")
    community.tune(g=8)
    async with manager:
        await community.join()
        assert community.parameters.g == 8
        thread = asyncio.get_running_loop().run_in_executor
        for change in (partial(community.tune, g=9), partial(community.link, ".r")):
            with pytest.raises(CommunityError, match="another event loop"):
                await thread(None, change)
        assert (community.parameters.g, len(community.super_topics)) == (8, 1)
