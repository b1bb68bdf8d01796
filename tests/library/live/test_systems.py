"""Systems end to end: processes that name different ones never meet, and say why."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from camcast import CommunityManager, GatewayTimeout, NotReady, OptionError, open_pipes
from camcast.ops.checkup import of_process
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox, free_address
from tests.library.live.running_command import Running
from tests.library.live.running_command import camcast as command
from tests.patience import eventually, live

NAMES = [("production", "staging"), ("", "staging"), ("production", "")]


def process(membership: str, system: str, **settings: Any) -> CommunityManager:
    options = OPTIONS if membership == "scamp" else None
    return CommunityManager(
        membership, system=system, options=options, parameters=CERTAIN, **settings
    )


@pytest.mark.parametrize("membership", ["scamp", "dht"])
@pytest.mark.parametrize(("ours", "theirs"), NAMES)
@live
async def test_a_process_of_another_system_stays_out_and_both_name_both(
    membership: str, ours: str, theirs: str
) -> None:
    """By frames to a gateway, and by datagrams to a node of the DHT."""
    async with process(membership, ours, bind=free_address()) as first:
        inbox = Inbox()
        community = await first.join(".a")
        community.subscribe(inbox)
        async with process(membership, theirs, gateways=[first.address]) as other:
            says = f"it is of the system {ours!r}, and this process of the system {theirs!r}"
            with pytest.raises(GatewayTimeout, match=says):
                await other.join(".a")
            assert any(says in one for one in other.stats().misfits)
            heard = f"it is of the system {theirs!r}, and this process of the system {ours!r}"
            assert any(heard in one for one in first.stats().misfits)
            found = [one for one in of_process(first.stats().as_dict()) if one.check == "misfit"]
            assert found
            assert all(heard in one.says for one in found)
        assert community.peers == ()
        async with process(membership, ours, gateways=[first.address]) as second:
            publisher = await second.join(".a")
            await publisher.ready()
            await publisher.publish(b"of the same system")
            await eventually(lambda: inbox.payloads == [b"of the same system"])


@live
async def test_two_systems_stay_two_where_a_gateways_address_is_used_again() -> None:
    """Members of the first go on to renew themselves at the address, where the second is now."""
    async with process("scamp", "one") as old:
        address = old.address
        member = process("scamp", "one", gateways=[address])
        await member.start()
        left = await member.join(".a")
    heard = Inbox()
    left.subscribe(heard)
    async with process("scamp", "two", bind=address) as new:
        inbox = Inbox()
        founder = await new.join(".a")
        founder.subscribe(inbox)
        await eventually(lambda: bool(new.stats().misfits and member.stats().misfits))
        await left.publish(b"of one")
        await founder.publish(b"of two")
        await eventually(lambda: heard.payloads == [b"of one"] and inbox.payloads == [b"of two"])
        assert founder.peers == ()
        assert new.counters.input.frames_received == 0
    await member.close()


@live
async def test_with_a_passphrase_a_system_is_told_under_it() -> None:
    both = {"passphrase": "correct horse battery staple"}
    async with process("scamp", "one", **both) as first:
        await first.join(".a")
        async with process("scamp", "two", gateways=[first.address], **both) as other:
            says = "of the system 'one', and this process of the system 'two'"
            with pytest.raises(GatewayTimeout, match=says):
                await other.join(".a")
        assert any("'two'" in one and "'one'" in one for one in first.stats().misfits)
        assert first.counters.input.systems_refused >= 1
        assert first.counters.input.strangers_refused == 0


@live
async def test_pipes_that_managers_share_are_of_one_system() -> None:
    pipes = open_pipes(system="one")
    with pytest.raises(ValueError, match="give the system to open_pipes"):
        CommunityManager(pipes=pipes, system="two")
    async with CommunityManager(pipes=pipes), CommunityManager(pipes=pipes, system="one"):
        pass
    pipes.close()


# One whose questions by datagrams nobody reads, and two that share a DHT. The others are slow where
# both ask by frames: 10 s.
_QUICK = [("scamp", "dht"), ("scamp", "hybrid"), ("dht", "hybrid"), ("hybrid", "dht")]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param(*pair, marks=[] if pair in _QUICK else pytest.mark.slow)
        for pair in permutations(("scamp", "cyclon", "hyparview", "dht", "hybrid"), 2)
    ],
)
@live
async def test_two_memberships_in_one_topic_name_both_and_stay_apart(
    ours: str, theirs: str
) -> None:
    async with process(ours, "") as first:
        community = await first.join(".a")
        async with process(theirs, "", gateways=[first.address]) as other:
            says = f"protocol {ours!r} and 'camcast', and this process {theirs!r} and 'camcast'"
            with pytest.raises((GatewayTimeout, NotReady), match=says):
                await other.join(".a")
            heard = f"{theirs!r} and 'camcast', and this process {ours!r}"
            for text, manager in ((says, other), (heard, first)):
                await eventually(
                    lambda t=text, m=manager: any(t in one for one in m.stats().misfits)
                )
        assert community.peers == ()


def test_a_name_that_is_none_or_cannot_be_told_is_refused() -> None:
    for wrong in ("a\nb", "größe", "x" * 65):
        with pytest.raises(OptionError, match="named by at most 64 printable characters"):
            CommunityManager(system=wrong)
    with pytest.raises(OptionError, match="'zmq' cannot name a system"):
        CommunityManager(system="one", transport="zmq")
    with pytest.raises(TypeError, match="system is a text"):
        CommunityManager(system=1)  # type: ignore[arg-type]  # as an untyped caller may


def test_a_gateway_is_of_a_system_and_a_command_of_another_one_says_both() -> None:
    with Running("gateway", "--bind", "tcp://127.0.0.1:0", "--json", "--system", "one") as gateway:
        topic = (".a", "--gateway", gateway.read()["address"])
        code, out, err = command("publish", *topic, "of two", "--system", "two")
        assert (code, out) == (1, "")
        assert "of the system 'one', and this process of the system 'two'" in err
        assert "Traceback" not in err
        with Running("subscribe", *topic, "--json", "--system", "one") as reader:
            assert reader.read()["joined"] == ".a"
            assert command("publish", *topic, "of one", "--system", "one") == (0, "", "")
            assert reader.read()["payload"] == "of one"
