"""Attacks by messages that make a process work or send much more than they are long (section 5).

All bytes go over a socket, in frames as large as a transport joins records to, to a real process.
"""

from __future__ import annotations

from random import Random

import pytest

from camcast.research.systems.hpmcast.view_messages import Gossip, Join, LineNews, Update
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import Kind
from membership.scamp.messages import Renew, Subscribe
from tests.library.hostile.victim import (
    GROWTH_MEGABYTES_MAX,
    PUSH,
    connect,
    control,
    frames,
    honest_beside,
    send,
    survives,
    victim,
)
from tests.patience import live

MEGABYTE = 2**20
ANSWERS_MAX = 1_000  # records of lines, 32 KiB each; 8,000 would answer all
DRAWN_BYTES_MAX = 16 * MEGABYTE  # eight periods of gossip, which this does not last


def stranger(number: int) -> Contact:
    """Return an invented process, at an address where nobody is."""
    host = f"127.{2 + (number >> 16 & 127)}.{number >> 8 & 255}.{number & 255}"
    return Contact(PeerId(Random(number).randbytes(16)), f"tcp://{host}:9")


def of_strangers(message: Message, size: int) -> list[bytes]:
    """Return records of a message in the names of different processes, of so many bytes in all."""
    records: list[bytes] = []
    while sum(map(len, records[:1])) * len(records) < size:
        who = stranger(len(records))
        records.append(control(Kind.MEMBERSHIP, message, who.peer, who.address))
    return records


@pytest.mark.parametrize(
    "message", [Subscribe(0, 7), Subscribe(-1, 7), Renew(200, 7)], ids=["here", "walk", "renew"]
)
@live
async def test_a_megabyte_of_subscriptions_or_renewals(message: Message) -> None:
    """C5: 18,583 of them in one frame made 1.7 million copies, 110 MB, in 6.7 s of one turn.

    In an open community views fill with invented processes: the honest traffic is in another one.
    """
    records = of_strangers(message, MEGABYTE)
    with victim(transport="zmtp") as attacked:
        async with honest_beside(attacked) as honest:
            before = attacked.megabytes()
            async with honest.publishing():
                with connect(attacked) as attacker:
                    await send(attacker, PUSH + b"".join(frames(records)))
                    while (said := await attacked.look())["controls"] < len(records):
                        pass
            await survives(attacked, honest, before)
            assert said["bytes_out"] < DRAWN_BYTES_MAX


def invented_line(number: int) -> LineNews:
    who = stranger(number)
    return LineNews(1, who.peer, 5, (who,), 1, ".hostile")


@pytest.mark.parametrize("message", [Gossip(()), Join(invented_line(0))], ids=["gossip", "join"])
@live
async def test_a_thousand_questions_for_all_lines_after_thousands_of_invented_ones(
    message: Message,
) -> None:
    """C4: 56 kB of empty gossips took 6.0 s, 256 MB, and drew 235 MB, 4,200 bytes for each.

    In an open community whom to send to is chosen among the invented, so there is no honest traffic
    to look at. There is one group of everybody, so that any invented process is a neighbour.
    """
    asker = stranger(0)
    lines = [invented_line(number) for number in range(3_500)]
    updates = [Update(tuple(lines[at : at + 100])) for at in range(0, 3_500, 100)]
    records = [
        control(Kind.MEMBERSHIP, one, asker.peer, asker.address, ROOT.group)
        for one in [*updates, *[message] * 1_000]
    ]
    with victim(transport="zmtp", protocol="hpmcast", protocol_options={"depth": 1}) as attacked:
        before = attacked.megabytes()
        with connect(attacked) as attacker:
            await send(attacker, PUSH + b"".join(frames(records)))
            while (said := await attacked.look())["controls"] < len(records):
                pass
        assert attacked.megabytes() - before < GROWTH_MEGABYTES_MAX
        assert said["records_out"] < ANSWERS_MAX
