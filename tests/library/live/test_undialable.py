"""Processes that nobody can dial, on real sockets: their connections carry frames both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from camcast import CommunityManager
from camcast.doors.options import OptionError
from camcast.doors.transport import PipeLimits
from camcast.live.transports import open_pipes
from camcast.live.wire.zmtp import zmtp_pipes
from camcast.live.wire.zmtp.zmtp_pipes import ZmtpPipes
from camcast.security.keys import SecretKey
from camcast.vocabulary.addresses import is_dialable
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from tests.authority import ALL
from tests.authority import ROOT as AUTHORITY
from tests.library.live.communities import OPTIONS, Inbox, together
from tests.library.live.identities import enrol, known_as
from tests.library.live.pipe_ends import ANY_PORT, at, make_record, new_pipes
from tests.library.live.pipe_ends import Inbox as FrameInbox
from tests.patience import PATIENCE_SECONDS, eventually, live

TOPIC = ".a"
NOBODY = "tcp://127.0.0.9:1"  # where nobody listens
REACHABLE: tuple[Literal["yes", "no"], ...] = (
    "yes",
    "yes",
    "no",
    "no",
    "no",
)  # the first is the gateway, and no member


def _settings(profile: str, folder: Path) -> list[dict[str, Any]]:
    if profile == "open":
        return [{} for _ in REACHABLE]
    if profile == "shared-key":
        return [{"passphrase": "a passphrase of several words"} for _ in REACHABLE]
    enrol(folder, "root", AUTHORITY)
    for number in range(len(REACHABLE)):
        enrol(folder, str(number), SecretKey(bytes([number]) * 32), ".", ALL)
    return [known_as(folder, str(number)) for number in range(len(REACHABLE))]


@pytest.mark.parametrize(
    ("transport", "profile", "membership"),
    [
        ("tcp", "open", "scamp"),
        ("zmtp", "shared-key", "scamp"),
        ("tcp", "signed", "scamp"),
        ("tcp", "open", "dht"),
        ("tcp", "signed", "dht"),
        ("tcp", "open", "hybrid"),
    ],
)
@live
async def test_undialable_processes_hear_and_are_heard(
    transport: str, profile: str, membership: str, tmp_path: Path
) -> None:
    settings = _settings(profile, tmp_path)
    common: dict[str, Any] = {"transport": transport, "membership": membership}
    if membership != "dht":
        common["options"] = OPTIONS
    async with CommunityManager(**common, **settings[0]) as gateway:
        others = [
            CommunityManager(gateways=[gateway.address], reachable=reachable, **common, **own)
            for reachable, own in zip(REACHABLE[1:], settings[1:], strict=True)
        ]
        async with together(*others) as members:
            communities = [await member.join(TOPIC) for member in members]
            inboxes = [Inbox() for _ in communities]
            for community, inbox in zip(communities, inboxes, strict=True):
                community.subscribe(inbox)
            for number, community in enumerate(communities):
                await community.publish(b"%d" % number)
            everything = [b"%d" % number for number in range(len(communities))]
            await eventually(lambda: all(sorted(one.payloads) == everything for one in inboxes))
            for hidden in members[1:]:
                assert len(hidden.pipes.connections) == 0, "nobody has dialled it"
            counters = gateway._lifetime.running().node.counters
            assert counters.events == counters.parasites == 0, "a stranger carries nothing"


async def _bytes_of_an_event(
    reachable: Literal["yes", "no"], patch: pytest.MonkeyPatch
) -> tuple[int, int]:
    """Return the messages at sockets that bring an event to the other member, and the bytes."""
    payload, sent = b"!" * 1000, list[int]()
    write = ZmtpPipes._begin

    def count(pipes: Any, pipe: Any, message: bytes | None, whole: bytes) -> None:
        if payload in whole:
            sent.append(len(whole))
        write(pipes, pipe, message, whole)

    async with CommunityManager(transport="tcp") as first:
        settings: Any = {"transport": "tcp", "reachable": reachable}
        async with CommunityManager(gateways=[first.address], **settings) as other:
            community, inbox = await first.join(TOPIC), Inbox()
            (await other.join(TOPIC)).subscribe(inbox)
            await eventually(lambda: len(community.peers) == 1)
            with patch.context() as counting:
                counting.setattr(ZmtpPipes, "_begin", count)
                for number in range(1, 6):
                    await community.publish(payload)
                    await eventually(lambda count=number: len(inbox.payloads) == count)
    return len(sent), min(sent)  # some may have a heartbeat beside them


@live
async def test_an_event_costs_no_byte_more_at_the_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = await _bytes_of_an_event("no", monkeypatch)
    assert hidden == await _bytes_of_an_event("yes", monkeypatch)


@live
async def test_a_connection_that_breaks_is_made_again_by_the_process_that_nobody_can_dial() -> None:
    async with CommunityManager(options=OPTIONS, transport="tcp") as carrier:
        hidden = CommunityManager(
            gateways=[carrier.address], reachable="no", options=OPTIONS, transport="tcp"
        )
        async with together(hidden):
            there, here = await carrier.join(TOPIC), await hidden.join(TOPIC)
            inbox = Inbox()
            here.subscribe(inbox)
            await eventually(lambda: there.peers and len(carrier.pipes.connections))
            accepted: Any = carrier.pipes.connections
            for connection in list(accepted._connections):
                connection.owner.lose(connection)
            await there.publish(b"!")
            await eventually(lambda: inbox.payloads == [b"!"])


@live
async def test_a_certified_liar_that_names_itself_as_another_one_gets_nothing_of_it(
    tmp_path: Path,
) -> None:
    """It says the other one's peer id in READY, and its key says who it is."""
    settings = _settings("signed", tmp_path)
    common: dict[str, Any] = {"transport": "tcp", "options": OPTIONS}
    async with CommunityManager(**common, **settings[0]) as carrier:
        common |= {"gateways": [carrier.address], "reachable": "no"}
        hidden, liar = (CommunityManager(**common, **own) for own in settings[1:3])
        async with together(hidden, liar):
            victim = hidden._lifetime.running().node.me.peer
            there, here = await carrier.join(TOPIC), await hidden.join(TOPIC)
            inbox = Inbox()
            here.subscribe(inbox)
            lying: Any = liar.pipes
            lying._own_peer = lambda: victim
            await liar.join(".b")
            liars = liar._lifetime.running().node.me.peer
            accepted: Any = carrier.pipes.connections
            await eventually(lambda: accepted.to(liars) is not None)
            assert accepted.to(victim).link == victim
            await there.publish(b"!")
            await eventually(lambda: inbox.payloads == [b"!"])
            assert liar._lifetime.running().node.counters.events == 0
            await liar.close()
            await there.publish(b"?")
            await eventually(lambda: inbox.payloads == [b"!", b"?"])


@live
async def test_another_process_with_the_same_name_closes_nobodys_connection() -> None:
    """What waits for one that has not connected yet arrives when it does, in pieces of any size."""
    hidden, liar, listening = (new_pipes(transport="tcp") for _ in range(3))
    meant = placeholder(PeerId(b"u" * 16))
    inboxes = [FrameInbox(), FrameInbox()]
    port = listening.open_input(ANY_PORT, FrameInbox(), PeerId(b"d" * 16))
    called = list[Any]()
    listening.unattached.append(called.append)
    listening.send([meant], make_record(0))
    assert called == [meant]
    for pipes, inbox in zip((hidden, liar), inboxes, strict=True):
        pipes.hear_on_outputs(pipes.open_input(ANY_PORT, inbox, meant.peer))
    hidden.send([at(port.address)], make_record(9), control=True)
    for number, size in enumerate((100_000, 20, 300), start=1):
        listening.send([meant], make_record(number, size))
    assert await inboxes[0].has_numbers(4) == [0, 1, 2, 3]
    liar.send([at(port.address)], make_record(9), control=True)
    await eventually(lambda: len(listening.connections) == 2)
    await eventually(lambda: listening._accepted.to(meant.peer) not in (None, *_first(listening)))
    listening.send([meant], make_record(4))
    assert await inboxes[1].has_numbers(1) == [4]
    liar.close()
    await eventually(lambda: len(listening.connections) == 1)
    listening.send([meant], make_record(5))
    assert await inboxes[0].has_numbers(5) == [0, 1, 2, 3, 5]
    hidden.close()
    listening.close()


@live
async def test_who_names_itself_at_the_placeholder_of_another_gets_nothing_that_goes_there() -> (
    None
):
    liar, listening = (new_pipes(transport="tcp") for _ in range(2))
    liars, victim = PeerId(b"l" * 16), placeholder(PeerId(b"u" * 16))
    inbox = FrameInbox()
    port = listening.open_input(ANY_PORT, FrameInbox(), PeerId(b"d" * 16))
    liar.hear_on_outputs(liar.open_input(ANY_PORT, inbox, liars))
    liar.send([at(port.address)], make_record(9), control=True)
    await eventually(lambda: listening._accepted.to(liars) is not None)
    listening.send([Contact(liars, victim.address)], make_record(1))
    listening.send([victim], make_record(2))
    listening.send([placeholder(liars)], make_record(3))
    assert await inbox.has_numbers(1) == [3]
    liar.close()
    listening.close()


@live
async def test_a_process_that_nobody_can_dial_may_close_its_input_while_it_gets_frames() -> None:
    hidden = new_pipes(transport="tcp")
    listening = new_pipes(PipeLimits(frame_bytes_max=1), transport="tcp")
    meant, frames = placeholder(PeerId(b"u" * 16)), list[bytes]()

    def on_frame(frame: bytes) -> None:
        frames.append(frame)
        hearer.close()

    hearer = hidden.open_input(ANY_PORT, on_frame, meant.peer)
    hidden.hear_on_outputs(hearer)
    port = listening.open_input(ANY_PORT, FrameInbox(), PeerId(b"d" * 16))
    for number in range(5):
        listening.send([meant], make_record(number))
    hidden.send([at(port.address)], make_record(9), control=True)
    await eventually(lambda: frames)
    assert await listening.drain(PATIENCE_SECONDS)
    hidden.send([at(port.address)], make_record(9), control=True)
    await eventually(lambda: port.counters.frames_received == 2)
    assert len(frames) == 1
    hidden.close()
    listening.close()


@live
async def test_what_waits_for_who_never_connects_is_dropped_after_a_while() -> None:
    listening = new_pipes(transport="tcp")
    listening.open_input(ANY_PORT, FrameInbox(), PeerId(b"d" * 16))
    with pytest.MonkeyPatch.context() as quicker:
        quicker.setattr(zmtp_pipes, "CONNECT_SECONDS_MAX", 0.02)
        listening.send([placeholder(PeerId(b"u" * 16))], make_record(1))
        await eventually(lambda: not listening._pipes)
    listening.close()


def _first(pipes: ZmtpPipes) -> list[Any]:
    return list(pipes._accepted._connections)[:1]


@pytest.mark.parametrize("profile", ["open", "signed"])
@live
async def test_a_process_that_its_gateway_cannot_connect_to_finds_that_out(
    profile: str, tmp_path: Path
) -> None:
    """And one that it can connect to finds that, and keeps its address."""
    settings = _settings(profile, tmp_path)
    common: dict[str, Any] = {"transport": "tcp", "options": OPTIONS}
    async with CommunityManager(**common, **settings[0]) as gateway:
        common |= {"gateways": [gateway.address], "reachable": "auto"}
        hidden = CommunityManager(advertise=NOBODY, **common, **settings[1])
        found = CommunityManager(**common, **settings[2])
        async with together(found, hidden):
            assert not is_dialable(hidden.address)
            assert is_dialable(found.address)
            here, there = await hidden.join(TOPIC), await found.join(TOPIC)
            inboxes = [Inbox(), Inbox()]
            here.subscribe(inboxes[0])
            there.subscribe(inboxes[1])
            await here.ready()
            await there.ready()
            await here.publish(b"here")
            await there.publish(b"there")
            await eventually(
                lambda: all(sorted(one.payloads) == [b"here", b"there"] for one in inboxes)
            )


@live
async def test_who_can_ask_nobody_counts_as_reachable() -> None:
    """No gateway is there, or it is this process itself."""
    async with CommunityManager(reachable="auto", gateways=[NOBODY]) as lonely:
        assert is_dialable(lonely.address)
        own = lonely.address
    everywhere = own.replace("127.0.0.1", "0.0.0.0")
    its_other = own.replace("127.0.0.1", "127.0.0.2")
    itself: dict[str, Any] = {"bind": everywhere, "advertise": own, "insecure": True}
    async with CommunityManager(
        reachable="auto", gateways=[its_other], transport="tcp", **itself
    ) as gateway:
        assert gateway.address == own
    async with CommunityManager(reachable="auto", gateways=["tcp://nobody.invalid:1"]) as lost:
        assert is_dialable(lost.address)


def test_the_transport_zmq_says_that_it_cannot() -> None:
    with pytest.raises(OptionError, match="'zmq' takes nothing on the connections that it makes"):
        CommunityManager(reachable="no", transport="zmq")


def test_a_discovery_that_needs_processes_that_can_be_reached_says_so() -> None:
    with pytest.raises(OptionError, match="the discovery 'lan' needs processes that can be"):
        CommunityManager(discovery="lan", reachable="no")


@live
async def test_pipes_that_others_share_are_refused() -> None:
    pipes = open_pipes()
    async with CommunityManager(pipes=pipes):
        with pytest.raises(ValueError, match="shares its output pipes with no other"):
            await CommunityManager(pipes=pipes, reachable="no").start()
        with pytest.raises(ValueError, match="pipes of its own"):
            CommunityManager(pipes=pipes, reachable="auto")
    pipes.close()
