"""What is wrong in settings is said in words, and what is wrong on the wire is counted."""

import asyncio
import contextlib
import os
from collections.abc import Callable

import pytest
import zmq

from camcast import CommunityManager, GatewayError, InsecureError, TopicError, UnknownPlugError
from camcast.vocabulary.wire import FRAME_HEADER
from tests.live.communities import Inbox, managers
from tests.patience import PATIENCE_SECONDS, eventually, live


@live
async def test_garbage_and_oversized_frames_are_counted_and_change_nothing() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        publisher = await second.join(".a")
        await publisher.ready()
        with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
            stranger.setsockopt(zmq.LINGER, 0)
            stranger.connect(first.address)
            frames = [b"garbage", FRAME_HEADER + b"\xff" * 50, FRAME_HEADER + bytes(64)]
            for frame in frames:
                stranger.send(frame)
            await eventually(lambda: first.counters.malformed == len(frames))
            stranger.send(bytes(8 * 2**20))  # the sender is cut off
        host, port = first.address.removeprefix("tcp://").rsplit(":", 1)
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(os.urandom(4096))
        await writer.drain()
        writer.close()
        await asyncio.wait_for(_closed(writer), PATIENCE_SECONDS)
        await publisher.publish(b"still there")
        await eventually(lambda: inbox.payloads == [b"still there"])
        assert first.counters.malformed >= len(frames)
        assert first.counters.parasites == 0


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):  # cut off, as it should be
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CommunityManager("nobody"), UnknownPlugError, "'nobody'; installed: .*scamp"),
        (lambda: CommunityManager(bind="tcp://0.0.0.0:0"), InsecureError, "insecure=True"),
        (
            lambda: CommunityManager(bind="tcp://0.0.0.0:0", insecure=True),
            InsecureError,
            "address to advertise",
        ),
        (
            lambda: CommunityManager(advertise="tcp://192.0.2.1:7000"),
            InsecureError,
            "other machines",
        ),
        (lambda: CommunityManager(bind="tcp://localhost:0"), InsecureError, "is a name"),
        (lambda: CommunityManager(gateways=["nowhere"]), GatewayError, "'nowhere'"),
        (lambda: CommunityManager(options={"d": 1}), ValueError, "no option 'd'; it has: c,"),
        (lambda: CommunityManager().community("soccer"), TopicError, "start with '.'"),
    ],
)
def test_wrong_settings_are_refused_in_words(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


@live
async def test_a_gateway_name_without_an_address_is_refused() -> None:
    manager = CommunityManager(gateways=["tcp://no-such-host.invalid:7000"])
    with pytest.raises(GatewayError, match="no address for 'no-such-host"):
        await manager.start()
