"""`publish` waits for peers that take events, and for no others: no first hop loses anything."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from camcast import Community, CommunityManager
from camcast.live.transports import TRANSPORTS
from tests.patience import PATIENCE_SECONDS, eventually, live

_SUBSCRIBER = """
import asyncio, sys
from camcast import CommunityManager

async def main(transport, *gateways):
    async with CommunityManager(transport=transport, gateways=gateways) as manager:
        community, numbers = await manager.join(".flow"), set()
        async def take(event):
            numbers.add(event.id)
        subscription = community.subscribe(take)
        print(manager.address, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(len(numbers), subscription.missed, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


class Subscriber:
    """A process that counts the different events that it gets."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.address = self._read()

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def received(self) -> tuple[int, int]:
        """Return how many events came, and how many its own queue dropped."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        came, missed = self._read().split()
        return int(came), int(missed)


@contextmanager
def subscriber(transport: str, *gateways: str) -> Iterator[Subscriber]:
    command = [sys.executable, "-c", _SUBSCRIBER, transport, *gateways]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Subscriber(process)
        finally:
            process.kill()


async def publish_all(community: Community, count: int, size: int) -> None:
    """Publish so many events, each again until it is accepted.

    One is not where all peers stood still for a quarter of a second, on a busy machine.
    """
    for number in range(count):
        payload = number.to_bytes(4).ljust(size, b".")
        while not (await community.publish(payload)).accepted:
            pass


@pytest.mark.parametrize("stopped", [False, True], ids=["", "beside a stopped peer"])
@pytest.mark.parametrize(
    ("count", "size"),
    [
        (5_000, 256),
        pytest.param(100_000, 1024, marks=pytest.mark.slow),
        pytest.param(2_000, 65_536, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_no_accepted_event_is_lost_on_the_first_hop(
    transport: str, count: int, size: int, stopped: bool
) -> None:
    with ExitStack() as stack:
        receiver = stack.enter_context(subscriber(transport))
        async with CommunityManager(transport=transport, gateways=[receiver.address]) as manager:
            community = await manager.join(".flow")
            if stopped:
                other = stack.enter_context(subscriber(transport, receiver.address))
                await community.ready(2)
                other.process.send_signal(signal.SIGSTOP)
            else:
                await community.ready()
            await publish_all(community, count, size)
            assert manager.counters.published == count
            came = missed = 0
            while came < count:
                came, missed = await asyncio.to_thread(receiver.received)
            assert (came, missed) == (count, 0)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_who_does_not_wait_is_told_what_was_dropped(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    count, size = 2_000, 2**16

    async def test() -> None:
        with subscriber(transport) as receiver:
            async with CommunityManager(
                transport=transport, gateways=[receiver.address]
            ) as manager:
                community = await manager.join(".flow")
                await community.ready()
                receipts = [await community.publish(bytes(size), wait=False) for _ in range(count)]
                accepted = sum(receipt.accepted for receipt in receipts)
                counters = manager.counters
                assert (counters.published, counters.unpublished) == (accepted, count - accepted)
                assert 0 < accepted < count
                # What has no number is no event: those that were accepted are without gaps.
                numbers = [receipt.id.sequence for receipt in receipts if receipt.accepted]
                assert numbers == list(range(1, accepted + 1))
                while (await asyncio.to_thread(receiver.received))[0] < accepted:
                    pass

    live(test)()
    assert len([r for r in caplog.records if "dropped an event of .flow" in r.message]) == 1


@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_events_for_one_stopped_peer_alone_are_dropped_after_a_while(transport: str) -> None:
    with subscriber(transport) as receiver:
        async with CommunityManager(transport=transport, gateways=[receiver.address]) as manager:
            community = await manager.join(".flow")
            await community.ready()
            receiver.process.send_signal(signal.SIGSTOP)
            while (await community.publish(bytes(2**16))).accepted:
                pass
            receiver.process.send_signal(signal.SIGCONT)
            counters = manager.counters
            await eventually(lambda: not manager.pipes.crowded)
            assert (await community.publish(b"once more")).accepted
            while (await asyncio.to_thread(receiver.received))[0] <= counters.published:
                pass


@pytest.mark.parametrize("transport", TRANSPORTS)
@live
async def test_two_that_publish_to_each_other_never_wait_for_each_other(transport: str) -> None:
    """Both publish as fast as they can, in one loop, so that neither could go on alone."""
    async with (
        CommunityManager(transport=transport) as one,
        CommunityManager(transport=transport, gateways=[one.address]) as other,
    ):
        communities = [await manager.join(".flow") for manager in (one, other)]
        for community in communities:
            await community.ready()
        await asyncio.gather(*(publish_all(each, 500, 2**16) for each in communities))
        assert (one.counters.published, other.counters.published) == (500, 500)
        assert await one.pipes.drain(PATIENCE_SECONDS)
