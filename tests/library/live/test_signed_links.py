"""The profile `signed` end to end: who is certified for a topic is in, and nobody else."""

from __future__ import annotations

import asyncio
import itertools
import signal
from pathlib import Path
from typing import Any

import pytest

from camcast import (
    CommunityManager,
    GatewayTimeout,
    InsecureError,
    NotAllowedError,
    NotReady,
    OptionError,
    open_pipes,
)
from camcast.live.gateway_file import GatewayError
from camcast.live.transports import TCP, ZMQ, ZMTP
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from camcast.vocabulary.identity import Contact
from tests.authority import ADA, CLUB, EVE, MEMBER, ROOT
from tests.camcast_command import Capture, refusal
from tests.camcast_command import camcast as in_process
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox
from tests.library.live.identities import enrol, known_as
from tests.library.live.running_command import Running
from tests.patience import eventually, live

GATE, MALLORY, BOB = (SecretKey(name * 32) for name in (b"g", b"m", b"b"))
LINKS = [*itertools.product((ZMTP, ZMQ), repeat=2), (TCP, TCP)]  # tcp is zmtp, to who has TCP only
SETTINGS: dict[str, Any] = {"options": OPTIONS, "parameters": CERTAIN}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Keys and certificates: a gateway, members of .soccer and of others, and Eve's of Mallory."""
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "gate", GATE, ".", Rights.SERVE)
    enrol(tmp_path, "ada", ADA, ".soccer")
    enrol(tmp_path, "bob", BOB, ".soccer")
    enrol(tmp_path, "club", CLUB, ".soccer.italy")
    enrol(tmp_path, "eve", EVE, ".chess")
    enrol(tmp_path, "mallory", MALLORY, ".", MEMBER | Rights.SERVE, issuer=EVE)
    return tmp_path


def member(files: Path, name: str, *trusted: str) -> dict[str, Any]:
    return {**known_as(files, name, *trusted), **SETTINGS}


def known_to(manager: CommunityManager) -> list[Contact]:
    assert manager._lifetime.runner is not None
    node = manager._lifetime.runner.node
    tables = [peer for one in node.local_groups for peer in one.membership.neighbours()]
    return [*tables, *(entry.contact for entry in node.liveness.entries.values())]


@pytest.mark.parametrize("transports", LINKS, ids="-".join)
@live
async def test_members_meet_through_a_gateway_and_nobody_else_gets_in(
    transports: tuple[str, str], files: Path
) -> None:
    """Beside them one without a key, one of another authority, and Eve, certified for .chess.

    The club may join below .soccer: its events climb there, and it may not join there. The gateway
    and Ada have one transport, all others the other.
    """

    def of(name: str, transport: str, *trusted: str) -> dict[str, Any]:
        return {**member(files, name, *trusted), "transport": transport}

    first, second = transports
    async with (
        CommunityManager(**of("gate", first)) as gate,
        CommunityManager(**of("ada", first), gateways=[gate.gateway]) as ada,
        CommunityManager(**of("club", second), gateways=[gate.gateway]) as club,
        CommunityManager(**of("eve", second), gateways=[gate.gateway]) as eve,
        CommunityManager(**of("mallory", second, "root", "eve"), gateways=[gate.gateway]) as other,
        CommunityManager(**SETTINGS, transport=second, gateways=[gate.address]) as none,
    ):
        inbox = Inbox()
        community = await ada.join(".soccer")
        community.subscribe(inbox)
        for who in (eve, club):
            with pytest.raises(NotAllowedError, match=r"to join \.soccer now"):
                await who.join(".soccer")
        refused = (stranger.join(".soccer", timeout=3) for stranger in (other, none))
        outcomes = asyncio.gather(*refused, return_exceptions=True)
        await eve.join(".chess")  # the same gateway serves her there
        italy = await club.join(".soccer.italy")
        await eventually(lambda: any(contacts for _, contacts in italy.links))
        await italy.publish(b"climbs")
        await eventually(lambda: inbox.payloads == [b"climbs"])
        for outcome in await outcomes:
            assert isinstance(outcome, GatewayTimeout)
        assert community.peers == ()
        assert gate.counters.input.strangers_refused >= 2
        assert none.counters.input.frames_received == 0
        assert other.counters.input.frames_received == 0
        known = known_to(gate) + known_to(ada) + known_to(club) + known_to(eve)
        assert not {one.contact for one in (other, none)} & set(known)


@live
async def test_a_gateway_on_the_loopback_is_pinned_at_first_sight(files: Path) -> None:
    gate = CommunityManager(**member(files, "gate"))
    await gate.start()
    address = gate.address
    async with CommunityManager(**member(files, "ada"), gateways=[address]) as ada:
        await ada.join(".soccer")
        await gate.close()
        enrol(files, "new", MALLORY, ".", Rights.SERVE)
        async with CommunityManager(**member(files, "new"), bind=address) as imposter:
            await eventually(lambda: imposter.counters.input.strangers_refused > 0)
            assert imposter.counters.input.frames_received == 0


@live
async def test_who_is_remembered_is_asked_by_its_key(files: Path) -> None:
    """Somebody else listens at the address when the process starts again, and no gateway does."""
    remembering: dict[str, Any] = {**member(files, "ada"), "remember": files / "contacts"}
    async with CommunityManager(**member(files, "gate")) as gate:
        bob = CommunityManager(**member(files, "bob"), gateways=[gate.gateway])
        await bob.start()
        await bob.join(".soccer")
        async with CommunityManager(**remembering, gateways=[gate.gateway]) as ada:
            await (await ada.join(".soccer")).ready()
        address, dead = bob.address, [gate.gateway]
        await bob.close()
    async with CommunityManager(**member(files, "eve"), bind=address) as imposter:
        async with CommunityManager(**remembering, gateways=dead) as ada:
            with pytest.raises((GatewayTimeout, NotReady)):
                await ada.join(".soccer", timeout=3)
            await eventually(lambda: imposter.counters.input.strangers_refused > 0)
        assert imposter.counters.input.frames_received == 0
    bob = CommunityManager(**member(files, "bob"), gateways=dead, bind=address)
    async with bob, CommunityManager(**remembering, gateways=dead) as ada:
        await asyncio.gather(ada.join(".soccer", timeout=3), return_exceptions=True)
        await eventually(lambda: bob.counters.input.frames_received > 0)


def test_the_commands_of_an_authority(files: Path, capfd: Capture) -> None:
    def options(name: str) -> list[str]:
        return [
            *("--identity", f"{files}/{name}.key", "--certificate", f"{files}/{name}.cert"),
            *("--trust", f"{files}/root.pub"),
        ]

    bind = ("--bind", "tcp://127.0.0.1:0")
    with Running("gateway", *bind, "--json", *options("gate")) as gateway:
        said = gateway.read()
        assert said["gateway"] == f"{said['address']}#{GATE.public}"
        topic = [".soccer.italy", "--gateway", said["gateway"]]
        with Running("subscribe", *topic, "--json", *options("ada")) as reader:
            assert reader.read()["joined"] == ".soccer.italy"
            plain = [".soccer.italy", "--gateway", said["address"]]
            assert refusal(capfd, "publish", *plain, "from a stranger", "--wait", "1")[0] == 1
            code, err = refusal(capfd, "publish", *topic, "from Eve", *options("eve"))
            assert (code, "no certificate to join .soccer.italy now" in err) == (1, True), err
            assert in_process("publish", *topic, "from the club", *options("club")) == 0
            assert reader.read()["payload"] == "from the club"
        code, err = gateway.end(signal.SIGTERM)
        assert code == 0
        assert "refused a process at 127.0.0.1: it speaks without encryption" in err


# -- what is refused before anything starts


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"gateways": ["tcp://192.0.2.1:7000"]}, GatewayError, "is named with its key"),
        ({"gateways": ["tcp://192.0.2.1:7000#abc"]}, GatewayError, "a public key has 56"),
        (
            {"transport": "zmq", "gateways": ["tcp://127.0.0.1:7000"]},
            GatewayError,
            "dialled over zmq is named with its key",
        ),
        ({"passphrase": "correct horse battery staple"}, OptionError, "leave one of the two out"),
    ],
)
def test_what_does_not_go_with_an_identity_is_said(
    changes: dict[str, Any], error: type[Exception], said: str, files: Path
) -> None:
    with pytest.raises(error, match=said):
        CommunityManager(**{**known_as(files, "ada"), **changes})


@live
async def test_keys_of_gateways_and_shared_pipes_are_refused_where_they_mean_nothing(
    files: Path,
) -> None:
    with pytest.raises(GatewayError, match="a key goes with the profile signed"):
        CommunityManager(gateways=[f"tcp://127.0.0.1:7000#{GATE.public}"])
    pipes = open_pipes()
    with pytest.raises(ValueError, match="links of its own"):
        CommunityManager(**member(files, "ada"), pipes=pipes)
    pipes.close()


def test_with_an_identity_a_process_may_leave_the_loopback(files: Path) -> None:
    CommunityManager(**member(files, "ada"), bind="tcp://192.0.2.1:0")
    with pytest.raises(InsecureError, match="--identity, --certificate, --trust"):
        CommunityManager(bind="tcp://192.0.2.1:0")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--profile", "signed"], "--profile signed needs an identity"),
        (["--profile", "open", "--identity", "ada.key"], "--profile open takes no identity"),
        (["--passphrase-file", "x", "--identity", "ada.key"], "give one of them"),
        (["--profile", "signed", "--identity", "ada.key"], "no certificate and no trust"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_said(
    given: list[str], said: str, capsys: Capture
) -> None:
    assert in_process("gateway", *given) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in " ".join(err.split())
