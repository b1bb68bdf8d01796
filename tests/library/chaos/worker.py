"""A process of a chaos run: nodes over the public interface, told what to do on standard input.

`python -m tests.library.chaos.worker SETUP`, where SETUP is a `Setup` in JSON. The process ends
with its standard input, so that none outlives the driver.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from attrs import asdict, define, field

from camcast import (
    Change,
    Community,
    CommunityError,
    CommunityManager,
    CommunitySettings,
    JsonLinesSink,
    Lagged,
    Missed,
    ReceivedBatch,
    Subscription,
    open_pipes,
)
from camcast.research.experiment.brief_authority import BriefAuthority
from tests.library.chaos import records
from tests.library.chaos.commands import (
    AnyCommand,
    Burst,
    Close,
    NodeSpec,
    Publish,
    Reply,
    Setup,
    Start,
    StopPublishing,
)

_FLUSH_SECONDS = 0.1  # chosen: what kill -9 may take from the records of a killed process
_SAMPLE_SECONDS = 1.0  # chosen: a soak of 10 minutes has 600 samples
_VIEW_SAMPLES = 5  # chosen: every fifth sample has the views, which are long
_SLOW_SECONDS = 1.0  # chosen: 100 times as slow as the events come
_LINE_BYTES_MAX = 1 << 20  # chosen: a command that starts 50 nodes has 10 kB


class _Log:
    """The file of records; a line is in it when the process is killed, if `flush` was called."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # as long as the process
        self._lines: list[bytes] = []
        self._encode = msgspec.json.Encoder().encode

    def add(self, *new: records.AnyRecord) -> None:
        self._lines += map(self._encode, new)

    def flush(self) -> None:
        if self._lines:
            self._file.write(b"\n".join(self._lines) + b"\n")
            self._lines.clear()


@define
class _Node:
    manager: CommunityManager
    community: Community | None = None
    tasks: list[asyncio.Task[None]] = field(factory=list)
    given_up: int = 0
    """How often its topic table dropped a peer that seemed dead."""

    def note(self, change: Change) -> None:
        self.given_up += change.kind == "peer_gone" and change.silent


class _Worker:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._log = _Log(setup.log)
        self._random = Random(f"{setup.seed} {setup.process}")
        shared = setup.share_pipes and setup.authority is None
        self._pipes = open_pipes(setup.transport) if shared else None
        self._nodes: dict[str, _Node] = {}
        self._publishing: asyncio.Task[None] | None = None
        self._closed_parasites = 0
        self._closed_forgotten = 0
        self._disks = ExitStack()

    # -- commands ----------------------------------------------------------------------------

    async def handle(self, command: AnyCommand) -> Reply:
        """Do what a command says."""
        if isinstance(command, Start):
            await asyncio.gather(*(self._start(spec, command.seconds) for spec in command.nodes))
        elif isinstance(command, Publish):
            self._publishing = asyncio.create_task(self._publish(command.rate, command.size))
        elif isinstance(command, StopPublishing):
            if self._publishing is not None:
                self._publishing.cancel()
                self._publishing = None
        elif isinstance(command, Burst):
            for _ in range(command.count):
                await self._publish_one(command.node, bytes(command.size))
        elif isinstance(command, Close):
            await asyncio.gather(*map(self._close, command.nodes))
        self._log.flush()
        return Reply(command.number)

    async def _start(self, spec: NodeSpec, seconds: float) -> None:
        self._log.add(records.Started(time.monotonic(), spec.name))
        manager = CommunityManager(
            self._setup.membership,
            gateways=spec.gateways,
            bind=spec.bind,
            reachable=spec.reachable,
            insecure=True,
            order=self._setup.order,
            parameters=CommunitySettings(spread=self._setup.spread),
            trace=None if spec.trace_bytes is None else self._disk(spec.trace_bytes),
            transport=self._setup.transport if self._pipes is None else None,
            pipes=self._pipes,
            **self._identity(spec),
        )
        await manager.start()
        node = self._nodes[spec.name] = _Node(manager)
        if spec.topic is not None:
            await self._join(node, spec, spec.topic, seconds)

    def _identity(self, spec: NodeSpec) -> dict[str, Any]:
        if self._setup.authority is None or spec.identity is None:
            return {}
        return BriefAuthority(Path(self._setup.authority)).files(spec.identity)

    async def _join(self, node: _Node, spec: NodeSpec, topic: str, seconds: float) -> None:
        """Join and wait for a peer and a link, as a user does who wants all events."""
        try:
            async with asyncio.timeout(seconds):
                node.community = await node.manager.join(topic, timeout=None, retry=True)
                node.community.changes(node.note)
                subscription = node.community.subscribe()
                await node.community.ready(timeout=None, min_links=len(node.community.super_topics))
        except (CommunityError, TimeoutError) as error:
            self._log.add(records.NotReady(time.monotonic(), spec.name, repr(error)))
            return
        node.tasks.append(asyncio.create_task(self._read(spec.name, subscription)))
        for number, pace in enumerate(spec.paces):
            name = f"{spec.name}/{pace}{number}"
            if pace == "slow":
                slow = node.community.subscribe()
                node.tasks.append(asyncio.create_task(self._read(name, slow, _SLOW_SECONDS)))
            elif pace == "hanging":
                node.community.subscribe(_hang)
            else:
                node.community.subscribe(_raise)
        self._log.add(records.Joined(time.monotonic(), spec.name, topic))

    def _disk(self, size: int) -> JsonLinesSink:
        """Mount a disk of this size, in the mount namespace that `ip netns exec` made."""
        folder = self._disks.enter_context(tempfile.TemporaryDirectory(prefix="chaos-disk"))
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder]
        subprocess.run(mount, check=True, capture_output=True)
        self._disks.callback(subprocess.run, ["umount", folder], check=False)
        return JsonLinesSink(Path(folder) / "trace.jsonl")

    async def _close(self, name: str) -> None:
        node = self._nodes.pop(name)
        self._closed_parasites += node.manager.counters.parasites
        self._closed_forgotten += node.given_up
        self._log.add(records.Ended(time.monotonic(), name, killed=False))
        await node.manager.close()
        for task in node.tasks:
            task.cancel()

    # -- events ------------------------------------------------------------------------------

    async def _read(self, name: str, subscription: Subscription, pause: float = 0.0) -> None:
        add = self._log.add
        async for item in subscription.batches():
            now = time.monotonic()
            if isinstance(item, ReceivedBatch):
                stream, topic = item.stream.hex(), str(item.topic)
                for first, count in _runs(item.sequences):
                    add(records.Delivered(now, name, topic, stream, first, count, item.late))
            elif isinstance(item, Lagged):
                add(records.Lagged(now, name, item.missed))
            elif isinstance(item, Missed):
                add(records.Missed(now, name, item.stream.hex(), item.first, item.last))
            if pause:
                await asyncio.sleep(pause)

    async def _publish(self, rate: float, size: int) -> None:
        """Publish from random nodes, at this rate in the mean, as a Poisson process.

        From the first node alone where all events spread along trees.
        """
        while True:
            await asyncio.sleep(self._random.expovariate(rate))
            members = [name for name, node in self._nodes.items() if node.community is not None]
            if self._setup.spread == "tree":
                del members[1:]
            if members:
                await self._publish_one(self._random.choice(members), bytes(size))
                self._log.flush()  # before the event leaves: that is at the end of the loop's turn

    async def _publish_one(self, name: str, payload: bytes) -> None:
        node = self._nodes[name]
        assert node.community is not None
        try:
            receipt = await node.community.publish(payload)
        except CommunityError as error:
            self._log.add(records.Refused(time.monotonic(), name, repr(error)))
            return
        now = time.monotonic()
        if not receipt.accepted:
            self._log.add(records.Refused(now, name, "dropped"))
            return
        stream, sequence = receipt.id.stream.hex(), receipt.id.sequence
        topic = str(node.community.topic)
        self._log.add(
            records.Published(now, name, topic, stream, sequence, receipt.peers, receipt.links)
        )

    # -- what goes on by itself --------------------------------------------------------------

    async def keep_log(self) -> None:
        """Write records to the file, and a sample now and then."""
        due, number = 0.0, 0
        while True:
            now = time.monotonic()
            if now >= due:
                due, number = now + _SAMPLE_SECONDS, number + 1
                self._log.add(self._sample(now))
                if number % _VIEW_SAMPLES == 1:
                    self._log.add(*self._views(now))
            self._log.flush()
            await asyncio.sleep(_FLUSH_SECONDS)

    def _sample(self, now: float) -> records.Sample:
        counted: dict[str, int] = {}
        for node in self._nodes.values():
            numbers = asdict(node.manager.counters)
            outputs = numbers.pop("outputs")
            for name, value in numbers.items():
                if isinstance(value, int):
                    counted[name] = counted.get(name, 0) + value
            of_all = {f"outputs.{name}": value for name, value in outputs.items() if value}
            counted |= {name: value for name, value in of_all.items() if isinstance(value, int)}
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return records.Sample(
            now,
            self._setup.process,
            pages * resource.getpagesize(),
            len(os.listdir("/proc/self/fd")),
            counted.get("parasites", 0) + self._closed_parasites,
            sum(node.given_up for node in self._nodes.values()) + self._closed_forgotten,
            {name: value for name, value in counted.items() if value},
        )

    def _views(self, now: float) -> Iterable[records.View]:
        for name, node in self._nodes.items():
            if node.community is not None:
                peers = [peer.address for peer in node.community.peers]
                links = {
                    str(topic): [contact.address for contact in contacts]
                    for topic, contacts in node.community.links
                }
                state = node.community.state
                yield records.View(now, name, node.manager.address, state, peers, links)

    def failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Record an exception that nobody caught; stderr has where it was raised."""
        loop.default_exception_handler(context)
        self._log.add(records.Failed(time.monotonic(), self._setup.process, repr(context)))


def _runs(sequences: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as runs of consecutive ones: the first, and how many."""
    if isinstance(sequences, range) and sequences.step == 1:
        return [(sequences.start, len(sequences))]
    runs: list[tuple[int, int]] = []
    for number in sequences:
        if runs and sum(runs[-1]) == number:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs


def _hang(_event: object) -> None:
    threading.Event().wait()


def _raise(_event: object) -> None:
    raise ValueError("a subscriber of the chaos suite, which always raises")


async def _main(setup: Setup) -> None:
    worker = _Worker(setup)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(worker.failed)
    reader = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = {asyncio.create_task(worker.keep_log())}
    decoder = msgspec.json.Decoder(AnyCommand)

    def reply(answer: Reply) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()

    async def handle(command: AnyCommand) -> None:
        try:
            reply(await worker.handle(command))
        except Exception as error:
            logging.exception("a command failed: %s", command)
            reply(Reply(command.number, error=repr(error)))

    reply(Reply(0))
    while line := await reader.readline():
        task = asyncio.create_task(handle(decoder.decode(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    os._exit(0)  # what the process was for is over: nobody reads its records any more


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    _setup = msgspec.json.decode(sys.argv[1], type=Setup)
    if _setup.descriptors is not None:
        _hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (_setup.descriptors, _hard))
    asyncio.run(_main(_setup))
