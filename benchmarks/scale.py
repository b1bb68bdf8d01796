"""What a process costs in a community of many: processor time, records, bytes and memory.

The shipped code in the virtual network, in one thread: processes join, settle, are quiet for a
while, and then publish. A second below is one of virtual time, a CPU second is one of this machine.

Example: python benchmarks/scale.py --nodes 10000 --membership scamp
"""

from __future__ import annotations

import json
import random
import time
from functools import partial
from typing import Annotated

import typer
from fleet_worker import memory_bytes

from camcast.doors.plugs import find_backend, find_protocol
from camcast.engine.node import Node
from camcast.engine.settings import Parts, Settings
from camcast.engine.store import Store
from camcast.research.simulation.run_context import collector_off
from camcast.virtual.census import Census
from camcast.virtual.climate import Climate, LogNormal
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now, super_topics=())


def main(
    nodes: Annotated[int, typer.Option(help="How many processes join every topic.")] = 100,
    topics: Annotated[int, typer.Option(help="How many communities they share.")] = 1,
    membership: Annotated[str, typer.Option(help="The backend.")] = "scamp",
    joins: Annotated[float, typer.Option(help="How many processes join a second.")] = 100.0,
    settle: Annotated[float, typer.Option(help="Seconds after the last join.")] = 60.0,
    seconds: Annotated[float, typer.Option(help="Of quiet, and then of publishing.")] = 20.0,
    rate: Annotated[float, typer.Option(help="Events a second, of 256 bytes.")] = 1.0,
) -> None:
    """Measure, and print one line of JSON."""
    with collector_off():
        base = memory_bytes()
        started = time.process_time()
        network = VirtualNetwork(1, Climate(latency=LogNormal()))
        settings = Settings(
            backend=find_backend(membership),
            discovery=Census(stream(1, "network", "census")).discovery,
            parameters=Parameters(),
            protocol=find_protocol("camcast"),
        )
        parts = Parts(store=Store())
        names = [Topic.parse(f".t{number}") for number in range(topics)]
        members: list[Process] = []
        for _ in range(nodes):
            process = network.start(settings, parts=parts)
            for topic in names:
                network.do(process, partial(_join, topic))
            members.append(process)
            network.run(1 / joins)
        network.run(settle)
        row: dict[str, float | str] = {"membership": membership, "nodes": nodes, "topics": topics}
        row["cpu_ms_a_join"] = (time.process_time() - started) / nodes * 1e3
        row["memory_kb_a_process"] = (memory_bytes() - base) / nodes / 1e3
        tables = [
            (part.membership.peers(), part.membership.size())
            for process in members
            for part in process.node.local_groups
        ]
        row["table"] = sum(len(peers) for peers, _ in tables) / len(tables)
        sizes = sorted(size for _, size in tables)
        row["size_p5"], row["size_p50"], row["size_p95"] = (
            sizes[int(share * (len(sizes) - 1))] for share in (0.05, 0.5, 0.95)
        )
        row["heartbeat_peers"] = sum(len(p.node.liveness.entries) for p in members) / nodes
        delivered = 0

        def count(_process: Process, delivery: Deliver) -> None:
            nonlocal delivered
            delivered += delivery.batch.count

        network.on_delivery = count
        rng = random.Random(1)
        for phase, events in (("quiet", 0), ("events", round(rate * seconds))):
            began = time.process_time()
            messages, sent = network.messages, network.bytes
            for _ in range(events):
                network.do(
                    rng.choice(members),
                    lambda node, now: node.publish(rng.choice(names), bytes(256), now),
                )
                network.run(1 / rate)
            if not events:
                network.run(seconds)
            per = nodes * seconds
            row[f"{phase}_cpu_ms_a_second"] = (time.process_time() - began) / per * 1e3
            row[f"{phase}_records_a_second"] = (network.messages - messages) / per
            row[f"{phase}_bytes_a_second"] = (network.bytes - sent) / per
        network.run(5.0)
        row["missed"] = round(rate * seconds) * nodes - delivered
        row["cpu_seconds"] = time.process_time() - started
        row["memory_mb"] = memory_bytes() / 1e6
    print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}))


if __name__ == "__main__":
    typer.run(main)
