"""Discovery on the own network, by real multicast DNS at the loopback."""

import asyncio
import os
import socket
from pathlib import Path
from textwrap import dedent

import pytest

from camcast import CommunityManager, OptionError, Received
from camcast.security.keys import SecretKey
from tests.authority import ADA, CLUB, EVE, ROOT
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox
from tests.library.live.identities import enrol, known_as
from tests.patience import eventually, live
from tests.python_process import python


def multicast_works() -> bool:
    """Whether a datagram multicast at the loopback comes back, which some sandboxes forbid."""
    group = "224.0.0.251"  # that of mDNS
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hearing,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as saying,
    ):
        hearing.settimeout(1.0)
        here = socket.inet_aton("127.0.0.1")
        try:
            hearing.bind((group, 0))
            joined = socket.inet_aton(group) + here
            hearing.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, joined)
            saying.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            saying.sendto(b"x", (group, hearing.getsockname()[1]))
            return hearing.recv(1) == b"x"
        except OSError:
            return False


needs_multicast = pytest.mark.skipif(not multicast_works(), reason="no multicast at the loopback")


def manager(**settings: object) -> CommunityManager:
    return CommunityManager(discovery="lan", options=OPTIONS, parameters=CERTAIN, **settings)  # type: ignore[arg-type]  # of one signature


@needs_multicast
@live
async def test_processes_find_each_other_without_any_address() -> None:
    """Two that found a community at the same time, one that comes later, and one above them."""
    async with manager() as first, manager() as second, manager() as root:
        soccer = first.community(".soccer"), second.community(".soccer")
        events = (await root.join(".")).subscribe(own=False)
        for community in soccer:
            community.subscribe(Inbox())
        for community in soccer:
            await community.ready()
        assert {contact.address for contact in soccer[0].peers} == {second.address}
        await soccer[1].ready(min_links=1)
        await soccer[1].publish(b"goal")
        event = await anext(events)
        assert isinstance(event, Received)
        assert event.payload == b"goal"
        async with manager() as late:
            community = await late.join(".soccer")
            await community.ready(min_peers=2)
            assert not {contact.address for contact in community.peers} & {root.address}
        await eventually(lambda: first.discovery_state == "connected")


@needs_multicast
@live
async def test_two_systems_of_one_network_leave_each_other_out_and_name_both() -> None:
    async with manager(system="one") as first, manager(system="two") as other, manager() as none:
        for process in (first, other, none):
            await process.join(".soccer")
        async with manager(system="one") as second:
            community = await second.join(".soccer")
            await community.ready()
            assert {contact.address for contact in community.peers} == {first.address}
            for address, theirs in ((other.address, "two"), (none.address, "")):
                says = f"{address}: it is of the system {theirs!r}, and this process of the system"
                said = f"{says} 'one'"
                await eventually(lambda said=said: said in second.stats().misfits)


@needs_multicast
@live
async def test_who_left_a_community_is_found_there_no_more() -> None:
    async with manager() as gone, manager() as other:
        community = await gone.join(".soccer")
        await (await other.join(".soccer")).ready()
        await community.leave()
        await other.community(".soccer").leave()
        async with manager() as newcomer:
            assert (await newcomer.join(".soccer")).state == "alone"


@needs_multicast
@live
async def test_closed_while_it_starts_it_leaves_no_socket(caplog: pytest.LogCaptureFixture) -> None:
    """After each of the turns of the event loop in which zeroconf opens its sockets."""
    before = len(os.listdir("/proc/self/fd"))
    for turns in range(8):
        async with manager():
            for _ in range(turns):
                await asyncio.sleep(0)
    await eventually(lambda: len(os.listdir("/proc/self/fd")) == before)
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


@needs_multicast
def test_a_program_that_ends_at_once_ends_quietly() -> None:
    program = """
        import asyncio
        from camcast import CommunityManager

        async def main():
            async with CommunityManager(discovery="lan"):
                pass

        asyncio.run(main())
    """
    done = python("-W", "error", "-c", dedent(program))
    assert (done.returncode, done.stderr) == (0, "")


@live
async def test_what_does_not_go_with_it_is_refused() -> None:
    with pytest.raises(OptionError, match="this membership finds strangers by 'kademlia' alone"):
        CommunityManager("dht", discovery="lan")
    with pytest.raises(OptionError, match="the discovery 'lan' asks no gateway"):
        await manager(gateways=["tcp://127.0.0.1:7000"]).start()


@needs_multicast
@live
async def test_members_find_each_other_by_their_keys_and_nobody_else(tmp_path: Path) -> None:
    """Beside them one of another authority, and one without a key, who claim to be there."""
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "eve", EVE)
    enrol(tmp_path, "ada", ADA, ".soccer")
    enrol(tmp_path, "club", CLUB, ".soccer")
    enrol(tmp_path, "mallory", SecretKey(b"m" * 32), ".soccer", issuer=EVE)
    async with (
        manager(**known_as(tmp_path, "mallory", "eve")) as stranger,
        manager() as none,
        manager(**known_as(tmp_path, "ada")) as first,
        manager(**known_as(tmp_path, "club")) as second,
    ):
        for who in (stranger, none):
            await who.join(".soccer")
        communities = await asyncio.gather(first.join(".soccer"), second.join(".soccer"))
        for community in communities:
            await community.ready(min_peers=1)
        events = communities[1].subscribe()
        await communities[0].publish(b"goal")
        event = await anext(events)
        assert isinstance(event, Received)
        assert event.payload == b"goal"
        addresses = {contact.address for one in communities for contact in one.peers}
        assert addresses == {first.address, second.address}
        assert stranger.community(".soccer").peers == none.community(".soccer").peers == ()
