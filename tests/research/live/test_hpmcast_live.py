"""hpmcast and pmcast as live processes: small ones always, a hundred with `slow`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from camcast import Community, CommunityManager, Received, Subscription
from camcast.doors.options import OptionError
from camcast.research.cli import experiment
from camcast.research.experiment.node import manager_of
from camcast.research.experiment.progress import Progress
from camcast.research.experiment.run import Outcome, run_experiment
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.research.systems.hpmcast.membership import HpmcastMembership
from camcast.vocabulary.topics import Topic
from tests.camcast_command import Capture, camcast
from tests.patience import PATIENCE_SECONDS, eventually, live
from tests.research.live.worker_logs import said_by_workers

NEWS, SPORT, REST = ".news", ".news.sport", ".rest"


def _scenario(protocol: str, sizes: Mapping[str, int], **given: object) -> Scenario:
    workload = Workload(topic=Topic.parse(SPORT), events=20, rate=5.0)
    return Scenario(
        communities={Topic.parse(topic): size for topic, size in sizes.items()},
        workload=workload,
        protocol=protocol,
        **given,  # type: ignore[arg-type]  # each test gives what is there
    )


def _run(scenario: Scenario, path: Path) -> Outcome:
    def ignore(_progress: Progress) -> None:
        pass

    return asyncio.run(run_experiment(scenario, OutputFolder(path / "out"), ignore))


@pytest.mark.parametrize("protocol", ["hpmcast", pytest.param("pmcast", marks=pytest.mark.slow)])
def test_everybody_interested_receives_through_one_gateway(protocol: str, tmp_path: Path) -> None:
    # to all of a view in the first round: later ones depend on how busy the machine is
    options = {"fan_out": 18, "period_seconds": 0.05}
    scenario = _scenario(
        protocol,
        {NEWS: 4, SPORT: 6, REST: 8},
        workers=2,
        protocol_options=options,
        settle_seconds=PATIENCE_SECONDS,
    )
    outcome = _run(scenario, tmp_path)
    news, rest, sport = outcome.summary.communities
    assert (news.topic, rest.topic, sport.topic) == (NEWS, REST, SPORT)
    assert min(news.reception or 0, sport.reception or 0) > 0.95
    assert rest.deliveries == 0
    assert outcome.parasites == rest.parasites
    assert (outcome.parasites > 0) == (protocol == "hpmcast")
    assert news.view_mean == pytest.approx(news.view_law, rel=0.3)
    assert said_by_workers(tmp_path / "out") == []


@live
async def test_processes_join_leave_and_leave_no_task_behind() -> None:
    got: list[Received] = []
    options = {"fan_out": 4, "period_seconds": 0.02, "arity": 2}

    def manager(gateway: str | None) -> CommunityManager:
        return manager_of(
            gateways=[gateway] if gateway else (),
            protocol="hpmcast",
            protocol_options=options,
            options={"gossip_seconds": 0.1},
        )

    async def take(received: Received) -> None:
        got.append(received)

    async with manager(None) as first:
        here = await first.join(NEWS)
        async with manager(first.address) as second, manager(first.address) as third:
            there, sport = second.community(NEWS), third.community(SPORT)
            there.subscribe(take)
            await sport.join()
            await there.ready(2)
            await sport.ready(2)
            await here.ready(2)
            receipt = await sport.publish(b"goal")
            assert receipt.peers > 0
            await eventually(lambda: got)
        await eventually(lambda: not here.peers)
    assert [received.payload for received in got] == [b"goal"]


@pytest.mark.parametrize("protocol", ["hpmcast", "pmcast"])
def test_the_command_runs_it_without_further_options(
    protocol: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper's scenario has an option for SCAMP, which these two do not run on."""

    async def with_few(scenario: Scenario, *given: Any, **named: Any) -> Outcome:
        few = dict.fromkeys(scenario.communities, 3)
        return await run_experiment(attrs.evolve(scenario, communities=few), *given, **named)

    monkeypatch.setattr(experiment, "run_experiment", with_few)
    path = tmp_path / "out"
    given = ("--protocol", protocol, "--events", 5, "--output", path, "--json")
    assert camcast("run", *given) == 0
    assert json.loads(capfd.readouterr().out)["events"] == 5
    assert json.loads((path / "scenario.json").read_text())["scenario"]["options"] == {}


@pytest.mark.parametrize(("protocol", "options"), [("hpmcast", {"depth": 1}), ("pmcast", {})])
@live
async def test_what_subscribers_want_of_attributes_is_known_to_others_as_it_changes(
    protocol: str, options: dict[str, object]
) -> None:
    """In one level, for in several the lines depend on the random identities.

    Nobody ever wants a magnitude of 1: an event is gossiped for some periods, also to who wants it
    only since then.
    """

    def manager(gateway: str | None) -> CommunityManager:
        return manager_of(
            gateways=[gateway] if gateway else (),
            protocol=protocol,
            protocol_options={"fan_out": 4, "period_seconds": 0.02} | options,
            options={"gossip_seconds": 0.1},
        )

    async def known(here: Community, *wanted: str) -> None:
        """Wait until a process, and the third, which passes events on, knows what everybody wants,
        itself included."""
        for community in (here, third.community(NEWS)):
            membership = community._local_group and community._local_group.membership
            assert isinstance(membership, HpmcastMembership)
            table = membership.table
            await eventually(
                lambda table=table: (
                    sorted(str(line.interest) for line in table(1)) == sorted(wanted)
                )
            )

    async def got(subscription: Subscription, wanted: int) -> list[int]:
        return [json.loads((await anext(subscription)).payload)["mag"] for _ in range(wanted)]  # type: ignore[union-attr]  # nothing is missed

    async with manager(None) as first:
        here = await first.join(NEWS)
        async with manager(first.address) as second, manager(first.address) as third:
            strong = second.community(NEWS).subscribe(where="mag >= 5")
            some = third.community(NEWS).subscribe(where="mag >= 2")
            await second.community(NEWS).ready(2)
            await third.community(NEWS).ready(2)
            await known(here, NEWS, ".news and mag >= 5", ".news and mag >= 2")
            for mag in (1, 3, 6):
                await here.publish(json.dumps({"mag": mag}).encode())
            assert sorted(await got(some, 2)) == [3, 6]
            assert await got(strong, 1) == [6]
            assert (second.counters.parasites, third.counters.parasites) == (0, 0)
            assert (second.counters.events, third.counters.events) == (1, 2)
            weak = second.community(NEWS).subscribe(where="mag < 1")
            await known(here, NEWS, ".news and mag < 1 or .news and mag >= 5", ".news and mag >= 2")
            strong.close()
            await known(here, NEWS, ".news and mag < 1", ".news and mag >= 2")
            for mag in (0, 3, 6):
                await here.publish(json.dumps({"mag": mag}).encode())
            assert await got(weak, 1) == [0]
            assert sorted(await got(some, 2)) == [3, 6]
            assert (second.counters.events, third.counters.events) == (2, 4)
            everything = second.community(NEWS).subscribe()
            await known(here, NEWS, NEWS, ".news and mag >= 2")
            everything.close()


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(OptionError, match="'arity' must be <= 4096"):
        manager_of("hpmcast", {"arity": 5000})


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["hpmcast", "pmcast"])
def test_a_hundred_live_processes_of_which_a_fifth_is_killed(protocol: str, tmp_path: Path) -> None:
    """As the model says: with a = 10, l = 2, R = 3, F = 3 and a fifth dead in the views 99.0 % are
    reached, with a standard deviation of 2.9 % from one draw of the dead to the next
    [camcast.research.systems.hpmcast.tree_population, 400 runs]; 0.9 is 3.1 of them below."""
    scenario = _scenario(
        protocol, {NEWS: 10, SPORT: 30, REST: 60}, workers=10, kill=0.2, settle_seconds=30.0
    )
    outcome = _run(scenario, tmp_path)
    summary = outcome.summary
    assert not outcome.interrupted
    assert summary.crashed == 20
    assert summary.lines_torn <= 2  # a process that is killed may be writing its last one
    interested = [community for community in summary.communities if community.topic != REST]
    delivered = sum(community.deliveries for community in interested)
    assert delivered / (delivered + sum(community.lost for community in interested)) > 0.9
    assert said_by_workers(tmp_path / "out") == []
