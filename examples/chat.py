"""Chat over topics: rooms below rooms, and nobody in the middle.

Without arguments three people talk and leave: Ada listens to all of .chat, Ben and Cem sit in
.chat.music, and see each other there. With arguments you are one of them, and type lines::

    python examples/chat.py Ada .chat
    python examples/chat.py Ben .chat.music --gateway ADDRESS   # the one that Ada's prints
"""

import argparse
import asyncio
import contextlib
import sys

from camcast import Community, CommunityError, CommunityManager, Received, TopicError
from camcast.app.presence import Presence, PresenceChange


async def say(room: Community, name: str, text: str) -> None:
    """Publish a line as `name`."""
    await room.publish(f"{name}: {text}".encode())


def show(reader: str, received: Received) -> None:
    """Print a line as `reader` sees it; a payload may be no text, or what a terminal obeys."""
    text = received.payload.decode(errors="replace")
    text = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    print(f"[{reader} in {received.topic}] {text}", flush=True)


def tell(reader: str, change: PresenceChange) -> None:
    """Print who came or went, as `reader` sees it."""
    went = {"came": "is here", "left": "has left", "silent": "has fallen silent"}
    print(f"[{reader}] {change.name} {went[change.kind]}", flush=True)


async def scripted() -> None:
    """Let three people talk, each when the line before has been heard by all who should."""
    async with (
        CommunityManager() as first,
        CommunityManager(gateways=[first.address]) as second,
        CommunityManager(gateways=[first.address]) as third,
    ):
        everything = await first.join(".chat")
        music, also_music = await second.join(".chat.music"), await third.join(".chat.music")
        for room in (music, also_music):
            await room.ready(min_peers=1, min_links=1)
        ears = {
            "Ada": everything.subscribe(),
            "Ben": music.subscribe(),
            "Cem": also_music.subscribe(),
        }
        lines = (
            (music, "Ben", "Does anybody play the oud?", ("Ada", "Ben", "Cem")),
            (also_music, "Cem", "I do, a little.", ("Ada", "Ben", "Cem")),
            (everything, "Ada", "Nobody below hears what I say up here.", ("Ada",)),
        )
        for room, name, text, readers in lines:
            await say(room, name, text)
            for reader in readers:
                received = await anext(ears[reader])
                assert isinstance(received, Received)
                show(reader, received)

        came = asyncio.Event()
        async with (
            Presence(second, ".chat.music", "Ben", on_change=lambda _: came.set()) as here,
            Presence(third, ".chat.music", "Cem"),
        ):
            await came.wait()
            print("in .chat.music:", ", ".join(sorted(here.names.values())))


async def interactive(name: str, topic: str, gateways: list[str]) -> None:
    """Print what others say in a room, and say what is typed."""
    async with (
        CommunityManager(gateways=gateways) as manager,
        Presence(manager, topic, name, on_change=lambda change: tell(name, change)),
    ):
        room = await manager.join(topic)
        room.subscribe(lambda received: show(name, received))
        print(f"{name} is in {topic}; others may join with --gateway {manager.address}", flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := await reader.readline():
            await say(room, name, line.decode().rstrip())


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, usage="%(prog)s [NAME TOPIC] [options]")
    parser.add_argument("name", nargs="?")
    parser.add_argument("topic", nargs="?")
    parser.add_argument("--gateway", action="append", default=[])
    given = parser.parse_args()
    if given.name is None:
        asyncio.run(scripted())
    elif given.topic is None:
        parser.error("which TOPIC? e.g. .chat")
    else:
        with contextlib.suppress(KeyboardInterrupt):
            try:
                asyncio.run(interactive(given.name, given.topic, given.gateway))
            except (CommunityError, TopicError) as error:
                parser.error(str(error))


main()
