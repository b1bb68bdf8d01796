"""Nodes of CAMCAST for a fleet, by what the package exports: any commit since f88a4fb has these.

`against.py` lets the packages of two commits do the same job with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from members import Members, Share
from typing_extensions import override

from camcast import Community, CommunityManager, Parameters, Received, Topic, open_pipes

TOPIC = "."
SETTLE_SECONDS_MAX = 60.0  # chosen: twenty times what 100 nodes need


def topic_of(number: int, levels: int) -> str:
    """Return the topic of the node of this number."""
    return TOPIC + ".".join(f"level{level}" for level in range(1, levels - number % levels))


class CommunityMembers(Members):
    """`CommunityManager`s that share output pipes; the first node of the fleet is the gateway.

    Without a name, the transport is the package's own choice. With a passphrase links are
    encrypted. With `own_links` each node has pipes of its own. With `signed` each has these, a key
    and a certificate, and the profile `signed`. With `batches` every node takes its
    events by the batch; else a coroutine is called with each. With several `levels`, nodes are in
    communities one below another in turn, the first in the lowest. Each node has the further
    `settings`, and an archive of its own if they are `archived`.
    """

    def __init__(
        self,
        membership: str = "scamp",
        parameters: Parameters | None = None,
        protocol: str = "camcast",
        *,
        transport: str | None = None,
        batches: bool = False,
        passphrase: str | None = None,
        own_links: bool = False,
        signed: bool = False,
        levels: int = 1,
        settings: Mapping[str, Any] | None = None,
        archived: bool = False,
    ) -> None:
        super().__init__()
        self._membership = membership
        self._parameters = parameters
        self._protocol = protocol
        self._transport = transport
        self._encrypted = {} if passphrase is None else {"passphrase": passphrase}
        self._own_links = own_links
        self._signed = signed
        self._batches = batches
        self._levels = levels
        self._settings = settings or {}
        self._archived = archived
        self._managers: list[CommunityManager] = []
        self._communities: list[Community] = []
        self._readers: list[asyncio.Task[None]] = []
        self._pipes: list[Any] = []
        self._files: TemporaryDirectory[str] | None = None
        self._fleet = 0
        self.refused = 0
        """The events that were not accepted, since output pipes had no room for them."""
        self._load()

    def _load(self) -> None:
        """Load plugs and transport now: they are no node's memory, and loaded when first used."""
        self._manager()
        with suppress(ImportError):  # earlier commits have one transport, which is loaded by now
            from camcast.live import transports

            transports.find_transport(self._transport or transports.DEFAULT)

    @override
    async def start(self, share: Share, known: list[str]) -> list[str]:
        self._fleet = share.fleet
        gateways = known[:1]
        for number in range(share.first, share.first + share.nodes):
            manager = self._manager(
                gateways=gateways,
                parameters=self._parameters,
                **self._links(number),
                **self._settings,
                **self._archive(number),
                rng=Random(f"{share.seed} {number}"),
            )
            await manager.start()
            if self._signed:
                self._pipes.append(manager.pipes)
            gateways = gateways or [manager.address]
            self._managers.append(manager)
            community = await manager.join(topic_of(number, self._levels))
            if self._batches:
                self._readers.append(asyncio.create_task(self._read_batches(community)))
            else:
                community.subscribe(self._deliver)
            self._communities.append(community)
        return [manager.address for manager in self._managers]

    def _manager(self, **settings: Any) -> CommunityManager:
        settings["membership"] = self._membership
        if self._protocol == "camcast":
            return CommunityManager(**settings)
        from camcast.research.experiment.node import manager_of

        return manager_of(self._protocol, topics=[Topic.parse(TOPIC)], **settings)

    def _links(self, number: int) -> dict[str, Any]:
        """Return the pipes of a node, or the files from which it makes its own."""
        if not self._signed:
            if self._own_links or not self._pipes:
                chosen = [] if self._transport is None else [self._transport]
                self._pipes.append(open_pipes(*chosen, **self._encrypted))
            return {"pipes": self._pipes[-1]}
        from identity import write_identity  # earlier commits have none

        return write_identity(self._folder() / str(number), number, TOPIC)

    def _archive(self, number: int) -> dict[str, Any]:
        return {"archive": self._folder() / f"{number}.archive"} if self._archived else {}

    def _folder(self) -> Path:
        if self._files is None:
            self._files = TemporaryDirectory()
        return Path(self._files.name)

    async def _deliver(self, event: Received) -> None:
        self.on_event(event.payload)

    async def _read_batches(self, community: Community) -> None:
        from camcast import ReceivedBatch  # earlier commits have no batches

        async for batch in community.subscribe().batches():
            if isinstance(batch, ReceivedBatch):
                for payload in batch.payloads:
                    self.on_event(payload)

    async def settle(self, everybody: list[str]) -> None:
        """Wait until the size estimates agree, which takes some heartbeats."""
        async with asyncio.timeout(SETTLE_SECONDS_MAX):
            while not all(
                abs(self._levels * community.size - self._fleet) <= self._fleet / 4
                for community in self._communities
            ):
                await asyncio.sleep(0.2)
        await asyncio.sleep(3)  # three heartbeats: arcs get their weights, processes their sponsors

    @override
    async def publish(self, payload: bytes, node: int) -> None:
        receipt = await self._communities[node].publish(payload)
        self.refused += not getattr(receipt, "accepted", True)  # earlier commits do not say

    @override
    async def close(self) -> None:
        await asyncio.gather(*(manager.close() for manager in self._managers))
        await asyncio.gather(*self._readers)
        for pipes in self._pipes:
            pipes.close()
        if self._files is not None:
            self._files.cleanup()
