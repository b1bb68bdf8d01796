"""Runs a plug in two processes with two hash seeds, which have to do the same to the byte.

What differs between two such runs came from a clock, from randomness of the plug's own, or from the
order of a set.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final
from zlib import crc32

from camcast.testing.town import Town
from camcast.testing.world import World
from camcast.vocabulary.topics import ROOT

HASH_SEEDS: Final = ("1", "2")
CROWD: Final = 40  # chosen: more than a view, of which Cyclon's is the largest with 20


def digests(kind: str, plug: str, *options: Mapping[str, object]) -> list[str]:
    """Return what two processes made of a plug; the second takes the last of `options`.

    `kind` is membership, discovery or protocol. The two are different in nothing but the hash seed,
    and the time of the day.
    """
    return [
        _run(kind, plug, options[number * (len(options) - 1)] if options else {}, seed)
        for number, seed in enumerate(HASH_SEEDS)
    ]


def _run(kind: str, plug: str, options: Mapping[str, object], hash_seed: str) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "camcast.testing.replay",
            kind,
            plug,
            json.dumps(options, default=str),
        ],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def _membership(plug: str, options: Mapping[str, object]) -> object:
    """Run a busy world: joins, a crash, a leave, a newcomer."""
    return _busy(World(membership=plug, options=options))


def _protocol(plug: str, options: Mapping[str, object]) -> object:
    return _busy(World(protocol=plug, protocol_options=options, topics=(ROOT,)), members=12)


def _busy(world: World, members: int = CROWD) -> object:
    for _ in range(members):
        world.join(ROOT, gap=0.1)
    world.run(5.0)
    world.kill(world.nodes[3])
    world.leave(world.nodes[5], ROOT)
    world.publish(world.nodes[1], ROOT, b"replayed")
    world.join(ROOT, gap=5.0)
    return world.virtual.checksum, len(world.delivered)


def _discovery(plug: str, options: Mapping[str, object]) -> object:
    """Run a busy town: announcements, seeks, a withdrawal, a crash."""
    with Town(plug, options=options) as town:
        people = [town.add() for _ in range(12)]
        town.announce(*people[:8])
        for person in people:
            town.start_seek(person, wanted=3)
        town.run(10.0)
        town.withdraw(people[0])
        town.crash(people[1])
        town.run(70.0)
        town.seek_all(people[2:])
        findings = [person.findings for person in people]
    return crc32(repr(findings).encode())


if __name__ == "__main__":
    _kind, _plug, _options = sys.argv[1:]
    _runs = {"membership": _membership, "discovery": _discovery, "protocol": _protocol}
    print(_runs[_kind](_plug, json.loads(_options)))
