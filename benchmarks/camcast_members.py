"""Our nodes for a fleet: one community, with no other to link to, untraced; any protocol."""

from __future__ import annotations

import asyncio
import statistics

from members import Members, Share

from camcast import Community, CommunityManager, Parameters, Received, open_pipes
from camcast.doors.plugs import find_protocol
from camcast.doors.transport import OutputPipes
from camcast.vocabulary.identity import UNKNOWN_PEER
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

TOPIC = "."
SETTLE_SECONDS_MAX = 60.0  # chosen: twenty times what 100 nodes need
GROUPS_SETTLE_SECONDS = 10.0  # chosen: ten heartbeats


class CamcastMembers(Members):
    """`CommunityManager`s that share output pipes; the first node of the fleet is the gateway."""

    def __init__(
        self,
        membership: str = "scamp",
        parameters: Parameters | None = None,
        protocol: str = "camcast",
    ) -> None:
        super().__init__()
        self._membership = membership
        self._protocol = protocol
        self._parameters = parameters
        self._managers: list[CommunityManager] = []
        self._communities: list[Community] = []
        self._pipes: OutputPipes | None = None
        self._fleet = 0

    async def start(self, share: Share, known: list[str]) -> list[str]:
        """See `Members`."""
        self._fleet = share.fleet
        self._pipes = open_pipes()
        gateways = known[:1]
        for number in range(share.first, share.first + share.nodes):
            manager = CommunityManager(
                self._membership,
                protocol=self._protocol,
                topics=[TOPIC],
                gateways=gateways,
                parameters=self._parameters,
                pipes=self._pipes,
                rng=stream(share.seed, "protocol", number),
            )
            await manager.start()
            gateways = gateways or [manager.address]
            self._managers.append(manager)
            community = await manager.join(TOPIC)
            community.subscribe(self._deliver)
            self._communities.append(community)
        return [manager.address for manager in self._managers]

    async def _deliver(self, event: Received) -> None:
        self.on_event(event.payload)

    async def settle(self, everybody: list[str]) -> None:
        """Wait until the size estimates agree, which takes some heartbeats.

        Where a protocol has several groups, what their sizes should be is its own affair.
        """
        size, topic = self._fleet, Topic.parse(TOPIC)
        groups = find_protocol(self._protocol).groups(topic, [topic], UNKNOWN_PEER)
        if len(groups) > 1:
            await asyncio.sleep(GROUPS_SETTLE_SECONDS)
            return
        async with asyncio.timeout(SETTLE_SECONDS_MAX):
            while not all(abs(c.size - size) <= size / 4 for c in self._communities):
                await asyncio.sleep(0.2)
        await asyncio.sleep(3)  # three heartbeats: arcs get their weights, processes their sponsors

    async def publish(self, payload: bytes) -> None:
        """See `Members`."""
        await self._communities[0].publish(payload)

    def counts(self) -> dict[str, int]:
        """Return the copies of events, the control messages and the bytes of all frames."""
        assert self._pipes is not None
        counters = self._pipes.counters
        copies = sum(manager.counters.event_copies_sent for manager in self._managers)
        return {
            "messages": copies,
            "control_messages": counters.records_sent + counters.records_dropped - copies,
            "bytes": counters.bytes_sent,
            "records_dropped": counters.records_dropped,
            "malformed": sum(manager.counters.malformed for manager in self._managers),
        }

    def facts(self) -> dict[str, float]:
        """Return the mean size of the topic tables."""
        return {
            "view_mean": statistics.mean(len(community.peers) for community in self._communities)
        }

    async def close(self) -> None:
        """See `Members`."""
        await asyncio.gather(*(manager.close() for manager in self._managers))
        if self._pipes is not None:
            self._pipes.close()
