"""A process that is attacked, honest traffic beside the attack, and what strangers send."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from camcast import Community, CommunityManager
from camcast.live.wire.zmtp.codec import GREETING, frame_head, ready
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import (
    FRAME_BYTES_MAX,
    FRAME_HEADER,
    Kind,
    control_head,
    encode_control,
)

TOPIC = Topic.parse(".hostile")
ATTACKED = Topic.parse(".attacked")
EVENTS_MIN = 50
GROWTH_MEGABYTES_MAX = 32  # [docs/security.md] under any of these attacks

PUSH = GREETING + ready({"Socket-Type": b"PUSH"})
PULL = GREETING + ready({"Socket-Type": b"PULL"})

_VICTIM = """
import asyncio, json, resource, sys
from camcast import CommunitySettings
from camcast.research.experiment.node import manager_of

async def main(settings, descriptors):
    if descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    async with manager_of(**settings) as manager:
        # The honest events that are kept for repair are not the attack's: little is kept of them.
        settings = CommunitySettings(retention_seconds=5)
        community = await manager.join(".hostile", parameters=settings)
        payloads = set()
        await manager.join(".attacked")
        async def take(event):
            payloads.add(event.payload)
        community.subscribe(take)
        print(json.dumps([manager.address, manager.contact.peer.hex()]), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            for number in range(int(line)):
                await community.publish(b"%d" % number)
                await asyncio.sleep(0.01)
            counters = manager.counters
            print(json.dumps({
                "received": len(payloads),
                "peers": len(community.peers),
                "pipes_refused": counters.outputs.pipes_refused,
                "frames_failed": counters.input.frames_failed,
                "controls": counters.controls,
                "bytes_out": counters.outputs.bytes_sent + manager.pipes._waiting,
                "records_out": counters.outputs.records_sent + counters.outputs.records_dropped,
            }), flush=True)

asyncio.run(main(json.loads(sys.argv[1]), int(sys.argv[2])))
"""


class Victim:
    """A process in the community `.hostile`, which has honest traffic, and in `.attacked`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.address, peer = self._answer()
        self.peer = PeerId(bytes.fromhex(peer))

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    async def look(self, publish: int = 0) -> dict[str, int]:
        """Let the process publish so many events, 100 a second; return what it says of itself."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{publish}\n")
        self.process.stdin.flush()
        said: dict[str, int] = await asyncio.to_thread(self._answer)
        return said

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def megabytes(self) -> float:
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


@contextmanager
def victim(descriptors: int = 0, **settings: Any) -> Iterator[Victim]:
    """Start a process; `descriptors` is its limit of open files, 0 for that of this one."""
    command = [sys.executable, "-c", _VICTIM, json.dumps(settings), str(descriptors)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Victim(process)
        finally:
            process.kill()


class Honest:
    """A process that publishes as long as an attack lasts, about 200 events a second."""

    def __init__(self, manager: CommunityManager, community: Community) -> None:
        self.manager = manager
        self.community = community
        self.published = 0
        self._task: asyncio.Task[None] | None = None

    async def _publish(self) -> None:
        while True:
            while not (await self.community.publish(b"honest %d" % self.published)).accepted:
                pass
            self.published += 1
            await asyncio.sleep(0.005)

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[None]:
        self._task = asyncio.create_task(self._publish())
        try:
            yield
            while self.published < EVENTS_MIN:  # some attacks are over at once
                await asyncio.sleep(0.005)
        finally:
            self._task.cancel()
            await asyncio.wait([self._task])


@asynccontextmanager
async def honest_beside(attacked: Victim, **settings: Any) -> AsyncIterator[Honest]:
    """A second process of the community, which knows the victim and is known to it."""
    async with CommunityManager(gateways=[attacked.address], **settings) as manager:
        community = await manager.join(TOPIC)
        await community.ready()
        while not (await attacked.look())["peers"]:
            await asyncio.sleep(0.01)
        yield Honest(manager, community)


async def survives(attacked: Victim, honest: Honest, before: float) -> None:
    """Assert that the attack did nothing: no end, no growth, nothing of the honest traffic lost."""
    while (said := await attacked.look())["received"] < honest.published:
        assert attacked.alive
    assert not said["frames_failed"]
    assert attacked.megabytes() - before < GROWTH_MEGABYTES_MAX


# -- what strangers send


def connect(attacked: Victim) -> socket.socket:
    stranger = socket.create_connection(("127.0.0.1", attacked.port))
    stranger.setblocking(False)
    return stranger


def reset(stranger: socket.socket) -> None:
    """Close a connection so that its end arrives as an error."""
    stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stranger.close()


async def send(stranger: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(stranger, data)


def control(
    kind: Kind, message: Message, sender: PeerId, address: str, group: GroupId = ATTACKED.group
) -> bytes:
    """Return a control record in the name of any sender."""
    return encode_control(control_head(kind, group, sender, address), encode(message))


def frames(records: Iterable[bytes], bytes_max: int = FRAME_BYTES_MAX) -> Iterator[bytes]:
    """Join records into frames as they go over the wire, each as large as it may be."""
    joined = FRAME_HEADER
    for record in records:
        if len(joined) + len(record) > bytes_max:
            yield frame_head(len(joined)) + joined
            joined = FRAME_HEADER
        joined += record
    yield frame_head(len(joined)) + joined
