"""Cyclon and HyParView over real sockets: everybody is reached, who leaves is forgotten, who is
killed costs nothing that repair does not bring."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from camcast import Received
from camcast.research.experiment.run import run_experiment
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.live.communities import managers
from tests.patience import eventually, live

QUICK = {
    "cyclon": {"shuffle_seconds": 0.2},
    "hyparview": {"heartbeat_seconds": 0.2, "suspect_after": 50},
}
TOPIC = Topic.parse(".a")


@pytest.mark.parametrize("membership", QUICK)
@live
async def test_eight_processes_deliver_and_forget_who_leaves(membership: str) -> None:
    quick: dict[str, Any] = {"membership": membership, "options": QUICK[membership]}
    async with managers(8, parameters=Parameters(), **quick) as processes:
        communities = [await manager.join(TOPIC) for manager in processes]
        got: list[list[bytes]] = [[] for _ in communities]
        for community, inbox in zip(communities, got, strict=True):

            def take(received: Received, inbox: list[bytes] = inbox) -> None:
                inbox.append(received.payload)

            community.subscribe(take)
        for number, community in enumerate(communities):
            await community.publish(b"%d" % number)
        everything = [b"%d" % number for number in range(8)]
        await eventually(lambda: all(sorted(inbox) == everything for inbox in got))
        gone = processes[3].contact.peer
        await communities[3].leave()
        others = [*communities[:3], *communities[4:]]
        await eventually(lambda: not any(peer.peer == gone for c in others for peer in c.peers))
        assert all(community.peers for community in others)


@pytest.mark.slow
@pytest.mark.parametrize("membership", QUICK)
def test_kill_minus_9_of_two_processes_of_five(
    membership: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scenario = Scenario(
        communities={ROOT: 10, TOPIC: 30},
        workload=Workload(topic=TOPIC, events=520, rate=20),  # 13 s before and 13 s after
        parameters=Parameters(a=3, z=3),
        membership=membership,
        workers=5,
        kill=0.4,
    )
    folder = OutputFolder(tmp_path_factory.mktemp("kill") / "out")
    outcome = asyncio.run(run_experiment(scenario, folder, lambda _progress: None))
    assert outcome.kill is not None
    assert outcome.kill["nodes_killed"] == outcome.summary.crashed == 16
    assert outcome.kill["reception_after"] == {str(TOPIC): 1.0, str(ROOT): 1.0}
    assert outcome.parasites == 0
