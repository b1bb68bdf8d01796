"""A worker's last word has what its nodes got, however late its reports are."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast import CommunityManager
from camcast.research.experiment import worker
from camcast.research.experiment.worker import Worker
from camcast.research.experiment.worker_messages import (
    Bye,
    Join,
    Publication,
    Publish,
    Report,
    SetUp,
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
