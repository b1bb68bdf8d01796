"""Metrics over HTTP, read by Prometheus's own parser, against the snapshot they are made of."""

import asyncio
import os
import re
import signal
import socket
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from camcast import BindError, CommunityManager, Parameters
from camcast.app import blocking
from camcast.live.transports import open_pipes
from camcast.observe.counters import PipeCounters
from camcast.observe.stats import Stats
from camcast.ops.health import serve
from camcast.ops.metrics import Collector
from camcast.research.experiment.progress import Progress
from camcast.research.experiment.run import run_experiment
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.live import Scenario, chain
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.topics import ROOT
from tests.camcast_command import Capture, refusal
from tests.library.live.communities import Inbox, free_address, join_all, managers
from tests.library.live.running_command import Running
from tests.patience import PATIENCE_SECONDS, eventually, live
from tests.python_process import output_of

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
# The times are told as one, `start_time_seconds`; the number of the process by whoever started it;
# what ended subscriptions have missed counts, too, in the number of the community.
NO_METRIC: Final = (
    *("taken", "up_seconds", "process"),
    *("communities.subscriptions.missed", "communities.subscriptions.errors"),
)

OPERATING: Final = (Path(__file__).parents[3] / "docs/operating.md").read_text()


def scrape(url: str) -> Samples:
    """Ask for the metrics as Prometheus does; every value by its name and labels."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE_SECONDS) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scrape_from_afar(url: str) -> Samples:
    return await asyncio.get_running_loop().run_in_executor(None, scrape, url)


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"camcast_{name}", frozenset(labels.items())]


def numbers(part: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of a snapshot by its path."""
    for field in attrs.fields(type(part)):
        inside, path = getattr(part, field.name), f"{prefix}{field.name}"
        if attrs.has(type(inside)):
            yield from numbers(inside, f"{path}.")
        elif isinstance(inside, tuple):
            for one in inside:
                yield from numbers(one, f"{path}.")
        elif isinstance(inside, int | float):
            yield path, float(inside)


@live
async def test_what_prometheus_reads_is_what_the_snapshot_says() -> None:
    async with managers(2) as (first, second):
        near, far = await join_all(".a", [first, second])
        quick, slow = Inbox(), far.subscribe(queue_length=2)
        far.subscribe(quick)
        for number in range(5):
            await near.publish(b"%d" % number)
        await eventually(lambda: len(quick.payloads) == 5)
        with serve(second) as url:
            samples, stats = await scrape_from_afar(url), second.stats()
        assert value(samples, "events_received_total") == 5
        assert value(samples, "community_events_delivered_total", topic=".a") == 5
        assert value(samples, "community_events_lagged_total", topic=".a") == 3
        assert value(samples, "queued_events", topic=".a") == 2
        assert value(samples, "queued_bytes", topic=".a") == 2
        assert value(samples, "community_peers", topic=".a") == 1
        assert value(samples, "community_state", topic=".a", state="member") == 1
        assert value(samples, "community_state", topic=".a", state="alone") == 0
        assert value(samples, "gateway_answers", gateway=first.address) == 1
        assert value(samples, "link_contacts", topic=".a", super_topic=".") == 0
        assert value(samples, "start_time_seconds") == pytest.approx(
            stats.taken - stats.up_seconds, abs=1.0
        )
        assert samples["process_cpu_seconds_total", frozenset()] > 0
        slow.close()


@live
async def test_every_number_of_the_snapshot_is_a_metric() -> None:
    """Each gets a value of its own, and that value has to come out again."""
    async with managers(2) as (first, second):
        near, _ = await join_all(".a", [first, second])
        near.subscribe(Inbox())
        stats = first.stats()
        own = iter(range(1000, 10_000))

        def numbered(part: Any) -> Any:
            changes: dict[str, Any] = {}
            for field in attrs.fields(type(part)):
                inside = getattr(part, field.name)
                if attrs.has(type(inside)):
                    changes[field.name] = numbered(inside)
                elif isinstance(inside, tuple):
                    changes[field.name] = tuple(map(numbered, inside))
                elif isinstance(inside, int | float) and not isinstance(inside, bool):
                    changes[field.name] = next(own)
            return attrs.evolve(part, **changes)

        changed: Stats = numbered(stats)

        class Fake(blocking.CommunityManager):
            def stats(self) -> Stats:
                return changed

        registry = CollectorRegistry()
        registry.register(Collector(Fake()))
        exported = {s.value for family in registry.collect() for s in family.samples}
        told = {path: number in exported for path, number in numbers(changed) if number >= 1000}
        for name in attrs.fields_dict(PipeCounters):  # an input counts some, outputs the others
            assert told.pop(f"counters.input.{name}") | told.pop(f"counters.outputs.{name}"), name
        assert [path for path, is_told in told.items() if not is_told] == list(NO_METRIC)


@live
async def test_names_and_units_follow_the_conventions() -> None:
    async with managers(2) as (first, second):
        near, _ = await join_all(".a", [first, second])
        near.subscribe(Inbox())
        families = list(Collector(first).collect())
        assert len({family.name for family in families}) == len(families) > 60
        for family in families:
            assert re.fullmatch(r"camcast(_[a-z]+)+", family.name), family.name
            assert family.documentation.endswith(".")
            assert len(family.documentation) > 10
            names = {sample.name for sample in family.samples}
            counts = family.type == "counter"
            assert names == {family.name + ("_total" if counts else "")}
            # A unit, if there is one, stands last.
            assert not re.search(r"(bytes|seconds)_(?!total)", family.name), family.name
            assert all(sample.value >= 0 for sample in family.samples)
            row = f"| `{next(iter(names))}` | {family.type} | {family.documentation[:-1]} |"
            assert row in OPERATING.splitlines(), family.name


@live
async def test_several_managers_are_told_apart_by_their_names() -> None:
    pipes = open_pipes()
    async with (
        CommunityManager(pipes=pipes) as one,
        CommunityManager(pipes=pipes, gateways=[one.address]) as two,
    ):
        await join_all(".a", [one, two])
        with serve({"one": one, "two": two}) as url:
            samples = await scrape_from_afar(url)
        for node in ("one", "two"):
            assert value(samples, "community_peers", topic=".a", node=node) == 1
    pipes.close()


@live
async def test_asking_inside_the_loop_and_after_the_end_hangs_nowhere() -> None:
    async with managers(1) as (manager,):
        collector = Collector(manager)
        assert list(collector.collect())
    assert list(collector.collect()) == []
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(list(collector.collect())))
    asking.start()
    await eventually(lambda: not asking.is_alive())
    assert answers == [[]]


def test_a_loop_that_has_ended_has_no_metrics(caplog: pytest.LogCaptureFixture) -> None:
    async def make() -> Collector:
        return Collector(CommunityManager())

    assert list(asyncio.run(make()).collect()) == []
    assert "the event loop does not answer" in caplog.text


def test_scripts_are_asked_in_the_same_way() -> None:
    with blocking.CommunityManager(parameters=Parameters()) as manager, serve(manager) as url:
        manager.join(".a").publish(b"x")
        assert value(scrape(url), "events_published_total") == 1


@live
async def test_a_port_that_is_taken_is_said_in_a_sentence() -> None:
    async with managers(1) as (manager,):
        with serve(manager) as url:
            port = int(url.rpartition(":")[2])
            with pytest.raises(BindError, match="choose another port"), serve(manager, port=port):
                pass


def test_a_command_serves_its_health_until_it_ends() -> None:
    address = free_address().removeprefix("tcp://")
    health = ("--health", address.partition(":")[2])
    with Running("gateway", "--bind", "tcp://127.0.0.1:0", *health) as running:
        assert running.process.stderr is not None
        said = running.process.stderr.readline().decode()
        url = f"http://{address}"
        assert said == f"camcast: health at {url}/livez and /readyz, metrics at {url}/metrics\n"
        assert value(scrape(url), "connections") == 0
        assert running.end(signal.SIGTERM) == (0, "")


@pytest.mark.parametrize("address", ["nowhere", "localhost:port", "127.0.0.1:70000", "127.0.0.1:"])
def test_what_is_no_address_is_refused(address: str, capfd: Capture) -> None:
    code, said = refusal(capfd, "gateway", "--bind", "tcp://127.0.0.1:0", "--health", address)
    assert code == 2
    assert "[HOST:]PORT" in said


def test_each_process_of_a_run_serves_the_metrics_of_its_nodes(tmp_path: Path) -> None:
    port = next(
        port
        for port in range(20_000 + os.getpid() % 10_000, 40_000)
        if all(is_free(one) for one in (port, port + 1))
    )
    scenario = Scenario(communities=chain([4]), workload=Workload(topic=ROOT, events=5), workers=2)
    nodes: list[dict[str, str]] = []

    def look(progress: Progress) -> None:
        if progress.phase == "settling tables" and not nodes:
            for one in (port, port + 1):
                samples = scrape(f"http://127.0.0.1:{one}")
                nodes.extend(
                    dict(labels) for name, labels in samples if name == "camcast_community_peers"
                )

    folder = OutputFolder(tmp_path)
    asyncio.run(run_experiment(scenario, folder, look, health=("127.0.0.1", port)))
    assert sorted(labels["node"] for labels in nodes) == ["0", "1", "2", "3"]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_run_needs_a_port_for_each_process(capfd: Capture) -> None:
    code, said = refusal(capfd, "run", "--sizes", "2", "--health", "0")
    assert code == 2
    assert "a port for each of" in said


def test_metrics_off_import_nothing() -> None:
    output_of("-c", "import sys, camcast.cli.app; sys.exit('prometheus_client' in sys.modules)")
