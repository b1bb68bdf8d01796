"""Gateways are names: live processes on 127.0.0.x, and a resolver whose answers change.

Every process publishes once it has joined, and again after each change; of each event, everybody
who was a member then gets one copy.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from camcast import AddressError, CommunityManager, GatewayTimeout, InsecureError
from camcast.doors import named_contacts
from camcast.live import own_address
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from overlays import gateways
from overlays.kademlia import overlay
from tests.authority import ADA, ALL, EVE, ROOT
from tests.library.live.communities import OPTIONS, free_address
from tests.library.live.identities import enrol, known_as
from tests.patience import PATIENCE_SECONDS, eventually, live

NAME: Final = "gateway.test"
TOPIC: Final = ".roof"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The addresses of each name; a look-up a second finds what has moved."""
    known: dict[str, list[str]] = {}
    system = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        if not str(host).endswith(".test"):
            return system(host, port, *arguments, **options)
        if not known.get(host):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(named_contacts, "LOOK_UP_SECONDS", 1.0)
    monkeypatch.setattr(named_contacts, "PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(overlay, "PROBE_SECONDS", 2.0)
    monkeypatch.setattr(own_address, "LOOK_SECONDS", 0.2)
    return known


class Fleet:
    """Processes of one community, each at an address of its own, and all that they received."""

    def __init__(self, stack: AsyncExitStack, membership: str) -> None:
        self._stack, self._membership = stack, membership
        self._port = free_address().rpartition(":")[2]
        self.name = f"tcp://{NAME}:{self._port}"
        self.members: dict[str, CommunityManager] = {}
        self._received: dict[str, Counter[bytes]] = {}
        self._published = 0

    async def gateway(self, host: str, **settings: Any) -> CommunityManager:
        """Start a gateway, which keeps the register, or is a node of the DHT."""
        kind = "scamp" if self._membership == "scamp" else "dht"
        manager = CommunityManager(kind, bind=f"tcp://{host}:{self._port}", **settings)
        return await self._stack.enter_async_context(manager)

    async def add(self, host: str) -> None:
        """Let a process join, which knows the gateways by their name."""
        manager = CommunityManager(self._membership, bind=f"tcp://{host}:0", gateways=[self.name])
        self.members[host] = await self._stack.enter_async_context(manager)
        received = self._received[host] = Counter()
        manager.community(TOPIC).subscribe(lambda event: received.update([event.payload]))
        await manager.join(TOPIC, retry=True, timeout=PATIENCE_SECONDS)

    async def roll(self) -> None:
        """Let each process close, and another come at the next address."""
        for host in list(self.members):
            await self.members.pop(host).close()
            await self.add(f"127.0.0.{10 + int(host.rpartition('.')[2])}")
            await self.everybody_hears_everybody()

    async def everybody_hears_everybody(self) -> None:
        """Publish an event at each; everybody gets each of them once."""
        events = set()
        for manager in self.members.values():
            self._published += 1
            events.add(str(self._published).encode())
            await manager.community(TOPIC).publish(str(self._published).encode())
        received = [self._received[host] for host in self.members]
        await eventually(lambda: all(events <= set(one) for one in received))
        assert {count for one in received for count in one.values()} == {1}


@pytest.mark.parametrize(
    "membership", ["scamp", *(pytest.param(m, marks=pytest.mark.slow) for m in ("hybrid", "dht"))]
)
@live
async def test_gateways_and_members_move_and_nobody_loses_anything(
    membership: str, names: dict[str, list[str]]
) -> None:
    """One gateway of two, then both at once; newcomers in between; then each member in turn."""
    async with AsyncExitStack() as stack:
        fleet = Fleet(stack, membership)
        names[NAME] = ["127.0.0.2", "127.0.0.3"]
        gateways = [await fleet.gateway(host) for host in names[NAME]]
        for host in ("127.0.0.11", "127.0.0.12"):
            await fleet.add(host)
        await fleet.everybody_hears_everybody()
        await gateways[0].close()
        names[NAME] = ["127.0.0.4", "127.0.0.3"]
        await fleet.gateway("127.0.0.4")
        await fleet.add("127.0.0.13")
        await fleet.everybody_hears_everybody()
        for gateway in gateways:
            await gateway.close()
        names[NAME] = ["127.0.0.5", "127.0.0.6"]
        for host in names[NAME]:
            await fleet.gateway(host)
        await fleet.add("127.0.0.14")
        await fleet.everybody_hears_everybody()
        await fleet.roll()


@live
async def test_a_name_that_is_not_known_yet_is_waited_for(names: dict[str, list[str]]) -> None:
    async with AsyncExitStack() as stack:
        fleet = Fleet(stack, "scamp")
        joining = asyncio.create_task(fleet.add("127.0.0.11"))
        await eventually(lambda: fleet.members)
        manager = fleet.members["127.0.0.11"]
        await eventually(lambda: manager.stats().discovery.first_contacts)
        (asked,) = manager.stats().discovery.first_contacts
        assert (asked.address, asked.answers) == (fleet.name, False)
        await fleet.gateway("127.0.0.2")
        names[NAME] = ["127.0.0.2"]
        await joining
        assert manager.community(TOPIC).state == "alone"


@live
async def test_gateways_under_one_name_tell_each_other(
    names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the second one is found by whoever knows the name since before there were two."""
    monkeypatch.setattr(gateways, "TELL_SECONDS", 0.5)
    async with AsyncExitStack() as stack:
        fleet = Fleet(stack, "scamp")
        names[NAME] = ["127.0.0.2", "127.0.0.3"]
        for host in names[NAME]:
            await fleet.gateway(host, gateways=[fleet.name])
        one, two = (f"tcp://{host}:{fleet.name.rpartition(':')[2]}" for host in names[NAME])
        member = await stack.enter_async_context(CommunityManager(gateways=[one]))
        await member.join(TOPIC)

        async def found() -> bool:
            async with CommunityManager(gateways=[two]) as newcomer:
                await newcomer.join(TOPIC)
                return member.contact in newcomer.community(TOPIC).peers

        while not await found():
            await asyncio.sleep(0.1)


@live
async def test_a_process_announces_what_it_finds_at_its_start(names: dict[str, list[str]]) -> None:
    async with AsyncExitStack() as stack:
        fleet = Fleet(stack, "scamp")
        names[NAME] = ["127.0.0.2"]
        await fleet.gateway("127.0.0.2")
        listening: dict[str, Any] = {"bind": "tcp://0.0.0.0:0", "insecure": True}
        for host in ("auto", "lo"):
            manager = CommunityManager(gateways=[fleet.name], advertise=host, **listening)
            await stack.enter_async_context(manager)
            assert manager.address.startswith("tcp://127.0.0.1:")
            assert not manager.address.endswith(":0")
            await manager.join(TOPIC)
        assert manager.community(TOPIC).state == "member"
        names["me.test"] = ["192.0.2.7"]
        with pytest.raises(
            InsecureError, match=r"192.0.2.7:\d+ can be reached from other machines"
        ):
            await CommunityManager(advertise="me.test").start()
        with pytest.raises(AddressError, match=r"no-such\.test"):
            await CommunityManager(advertise="no-such.test").start()


@pytest.mark.parametrize("profile", ["open", "signed"])
@live
async def test_a_process_whose_name_moves_is_found_at_its_new_address(
    profile: str, names: dict[str, list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While its name is gone, it goes on announcing where it was."""
    own: list[dict[str, Any]] = [{}, {}, {}]
    if profile == "signed":
        enrol(tmp_path, "root", ROOT)
        for name, key in (("0", SecretKey(b"g" * 32)), ("1", ADA), ("2", EVE)):
            enrol(tmp_path, name, key, ".", ALL)
        own = [known_as(tmp_path, str(number)) for number in range(3)]
    caplog.set_level("INFO")
    async with AsyncExitStack() as stack:

        async def start(number: int, **settings: Any) -> CommunityManager:
            manager = CommunityManager(options=OPTIONS, **settings, **own[number])
            return await stack.enter_async_context(manager)

        gateway = await start(0)
        names["me.test"] = ["127.0.0.11"]
        found: dict[str, Any] = {"advertise": "me.test", "gateways": [gateway.gateway]}
        found |= {"bind": "tcp://0.0.0.0:0", "insecure": profile == "open"}
        moving = await start(1, **found)
        other = await start(2, gateways=[gateway.gateway])
        here, there = await moving.join(TOPIC), await other.join(TOPIC)
        received = list[bytes]()
        here.subscribe(lambda event: received.append(event.payload))
        await eventually(lambda: moving.contact in there.peers)
        names["me.test"] = []
        await eventually(lambda: "goes on announcing tcp://127.0.0.11:" in caplog.text)
        names["me.test"] = ["127.0.0.12"]
        await eventually(lambda: moving.address.startswith("tcp://127.0.0.12:"))
        assert f"this process is at {moving.address} from now on" in caplog.text
        await eventually(lambda: moving.contact in there.peers)
        await there.publish(b"!")
        await eventually(lambda: received == [b"!"])
        assert moving.counters.parasites == other.counters.parasites == 0


@live
async def test_the_key_of_a_gateway_goes_with_its_name(
    names: dict[str, list[str]], tmp_path: Path
) -> None:
    """Signed: at each address that the name has, the gateway is expected to have the key."""
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "gate", SecretKey(b"g" * 32), ".", Rights.SERVE)
    enrol(tmp_path, "ada", ADA, TOPIC)
    enrol(tmp_path, "eve", EVE, ".", Rights.SERVE)
    port = free_address().rpartition(":")[2]
    names[NAME] = ["127.0.0.2"]
    async with AsyncExitStack() as stack:

        async def start(name: str, bind: str, gateways: Sequence[str] = ()) -> CommunityManager:
            settings = known_as(tmp_path, name)
            manager = CommunityManager(bind=bind, gateways=gateways, **settings)
            return await stack.enter_async_context(manager)

        gate = await start("gate", f"tcp://127.0.0.2:{port}")
        named = f"tcp://{NAME}:{port}#{gate.gateway.partition('#')[2]}"
        ada = await start("ada", "tcp://127.0.0.1:0", [named])
        await ada.join(TOPIC)
        await gate.close()
        names[NAME] = ["127.0.0.3"]
        await start("eve", f"tcp://127.0.0.3:{port}")  # who is certified, and has another key
        with pytest.raises(GatewayTimeout):
            await ada.join(f"{TOPIC}.tiles")
        names[NAME] = ["127.0.0.4"]
        await start("gate", f"tcp://127.0.0.4:{port}")
        await ada.join(f"{TOPIC}.tiles", retry=True, timeout=PATIENCE_SECONDS)
