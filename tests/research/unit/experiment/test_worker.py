"""A worker: its last word has what its nodes got, and its nodes meet those of its run alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast import CamcastError, CommunityManager
from camcast.protocols.camcast import Camcast
from camcast.research.experiment import worker
from camcast.research.experiment.run import new_system
from camcast.research.experiment.worker import Worker
from camcast.research.experiment.worker_messages import (
    Bye,
    Join,
    Publication,
    Publish,
    Report,
    SetUp,
    Status,
)
from camcast.research.scenarios.live import Scenario
from camcast.vocabulary.topics import ROOT
from tests.patience import eventually, live


@live
async def test_the_last_word_has_what_came_after_the_last_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine 740 of 1,000 events were counted: a report waited for its turn."""
    monkeypatch.setattr(worker, "STATUS_SECONDS", 3600.0)
    said: list[Report] = []
    scenario = Scenario(communities={ROOT: 1}).as_json()
    async with CommunityManager() as gateway:
        setup = SetUp(0, scenario, gateway.gateway, str(tmp_path / "trace-0.jsonl"))
        host = Worker(setup, said.append)
        await host.set_up()
        host.carry_out(Join([(0, ".")]))
        await eventually(lambda: len(said) == 3)  # ready, one report, joined
        host.carry_out(Publish([Publication(0.0, 0, ".", b"x")]))
        await eventually(lambda: host._published == 1)
        await host.leave()
    bye = said[-1]
    assert isinstance(bye, Bye)
    assert bye.delivered == 1
    assert len(said) == 4


@live
async def test_it_reports_that_copies_leave_later_than_they_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "STATUS_SECONDS", 0.02)
    monkeypatch.setattr(Camcast, "sends_later", True)
    said: list[Report] = []
    scenario = Scenario(communities={ROOT: 1}).as_json()
    async with CommunityManager() as gateway:
        host = Worker(
            SetUp(0, scenario, gateway.gateway, str(tmp_path / "trace-0.jsonl")), said.append
        )
        await host.set_up()
        host.carry_out(Join([(0, ".")]))
        await eventually(lambda: host._communities)
        host.carry_out(Publish([Publication(0.0, 0, ".", b"x")]))
        await eventually(
            lambda: [one for one in said if isinstance(one, Status) and one.sends_later]
        )
        await host.leave()
    published = [one.published for one in said if isinstance(one, Status) and not one.sends_later]
    assert max(published) == 0  # from its first event on


@live
async def test_what_is_left_of_another_run_is_refused(tmp_path: Path) -> None:
    """Ports are used again within a second: events of one run were in the traces of the next."""
    scenario = Scenario(communities={ROOT: 1}).as_json()
    async with CommunityManager(system="run b") as gateway:
        setup = SetUp(0, scenario, gateway.gateway, str(tmp_path / "trace-0.jsonl"), "run b")
        host = Worker(setup, lambda _report: None)
        await host.set_up()
        [node] = host._managers.values()
        async with CommunityManager(gateways=[node.gateway], system="run a") as other:
            with pytest.raises(CamcastError, match="it is of the system 'run b'"):
                await other.join(ROOT, timeout=1.0)
        await host.leave()


def test_each_run_has_a_name_of_its_own_where_the_transport_says_one() -> None:
    assert len({new_system("zmtp"), new_system("zmtp"), new_system("tcp"), ""}) == 4
    assert new_system("zmq") == ""
