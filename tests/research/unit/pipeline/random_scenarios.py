"""Scenarios drawn by seed: whatever may happen to a run, in small."""

from __future__ import annotations

from pathlib import Path
from random import Random

from camcast.research.scenarios.base import Processes
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.virtual import Churn, Crashes, Links, Partition, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic

ROOT, LEFT, RIGHT, BELOW = map(Topic.parse, (".", ".l", ".r", ".l.x"))


def random_scenario(seed: int, folder: Path) -> VirtualScenario:
    """Return a scenario; `folder` gets what the scenario reads.

    Crashes, cuts, late joins, repair and processes in several communities are in some each.
    """
    draw = Random(seed)
    communities = {topic: draw.randint(2, 6) for topic in (ROOT, LEFT, RIGHT, BELOW)}
    if draw.random() < 0.3:
        del communities[draw.choice([ROOT, RIGHT])]
    several = tuple(
        Processes(topics=tuple(draw.sample(list(communities), 2)), count=draw.randint(1, 3))
        for _ in range(draw.choice((0, 0, 1, 2)))
    )
    declared = {}
    if RIGHT in communities and draw.random() < 0.3:
        declared[BELOW] = DeclaredTopic(below=(LEFT, RIGHT))
    duration = draw.uniform(8, 16)
    rate = draw.uniform(1, 3)
    return VirtualScenario(
        name=f"random{seed}",
        seed=seed,
        communities=communities,
        processes=several,
        topics=declared,
        membership=draw.choice(("scamp", "hybrid", "dht")),
        parameters=Parameters(c=draw.choice((0, 1, 3)), p_sel=draw.choice((0.2, 0.5, 1.0))),
        repair=draw.random() < 0.5,
        settle_seconds=draw.uniform(2, 5),
        drain_seconds=draw.choice((0.0, 4.0)),
        duration_seconds=duration,
        links=Links(
            latency=draw.choice(("constant", "lognormal", "uniform")),
            loss=draw.choice((0.0, 0.05, 0.2)),
            duplication=draw.choice((0.0, 0.05)),
            reordering=draw.choice((0.0, 0.1)),
        ),
        workload=Workload(
            topic=draw.choice(list(communities)), events=int(rate * duration / 3) + 1, rate=rate
        ),
        crashes=tuple(
            Crashes(
                at_seconds=draw.uniform(0, duration),
                share=draw.choice((0.1, 0.3)),
                restart_seconds=draw.choice((None, 1.0, 4.0)),
                identity=draw.choice(("same", "new")),
            )
            for _ in range(draw.choice((0, 1, 2)))
        ),
        cuts=tuple(
            Partition(from_seconds=start, until_seconds=start + draw.uniform(1, 4), share=0.4)
            for start in [draw.uniform(0, duration)] * draw.choice((0, 1))
        ),
        churn=_churn(draw, seed, folder) if draw.random() < 0.2 else None,
    )


def _churn(draw: Random, seed: int, folder: Path) -> Churn:
    """Return sessions of which some begin and some end within the run."""
    lines = ["node,up_minute,down_minute"]
    for node in range(20):
        up = draw.choice((0.0, draw.uniform(0.01, 0.2)))
        down = draw.choice((9.0, up + draw.uniform(0.05, 0.2)))
        lines.append(f"n{node},{up:.4f},{down:.4f}")
    file = folder / f"churn{seed}.csv"
    file.write_text("\n".join(lines) + "\n")
    return Churn(file=file, identity=draw.choice(("same", "new")))
