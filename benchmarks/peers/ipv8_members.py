"""py-ipv8 (PyPI pyipv8): a community of peers over UDP, unsigned messages.

IPv8 brings peers together and leaves the spreading to the application. The publisher sends to
each peer it knows, which costs least; everybody is introduced to everybody beforehand, as IPv8's
walkers would do it in some minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

from members import Members, Share
from typing_extensions import override

# Any: they have no types, and may be absent where types are checked.
_community: Any = import_module("ipv8.community")
_lazy_payload: Any = import_module("ipv8.messaging.lazy_payload")
_lazy_wrapper_unsigned: Any = import_module("ipv8.lazy_community").lazy_wrapper_unsigned
_crypto: Any = import_module("ipv8.keyvault.crypto").default_eccrypto
_UDPEndpoint: Any = import_module("ipv8.messaging.interfaces.udp.endpoint").UDPEndpoint
_Peer: Any = import_module("ipv8.peer").Peer
_Network: Any = import_module("ipv8.peerdiscovery.network").Network


@_lazy_payload.vp_compile
class _Event(_lazy_payload.VariablePayload):  # type: ignore[misc]  # see above
    msg_id = 1
    format_list = ("raw",)
    names = ("payload",)


class _Gossip(_community.Community):  # type: ignore[misc]  # see above
    community_id = b"camcast benchmark it"  # twenty bytes

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.on_event: Callable[[bytes], None] = lambda _payload: None
        self.add_message_handler(_Event, self.on_gossip)

    @_lazy_wrapper_unsigned(_Event)  # type: ignore[untyped-decorator]  # see above
    def on_gossip(self, _address: Any, event: Any) -> None:
        self.on_event(event.payload)


class Ipv8Members(Members):
    """Communities with an endpoint each."""

    def __init__(self) -> None:
        super().__init__()
        self._communities: list[_Gossip] = []

    @override
    async def start(self, share: Share, known: list[str]) -> list[str]:
        keys = []
        for _ in range(share.nodes):
            endpoint = _UDPEndpoint(port=0, ip="127.0.0.1")
            await endpoint.open()
            key = _crypto.generate_key("curve25519")
            me = _Peer(key, endpoint.get_address())
            community = _Gossip(
                _community.CommunitySettings(my_peer=me, endpoint=endpoint, network=_Network())
            )
            community.on_event = self.on_event
            self._communities.append(community)
            host, port = endpoint.get_address()
            keys.append(f"{host}:{port}:{key.pub().key_to_bin().hex()}")
        return keys

    @override
    async def settle(self, everybody: list[str]) -> None:
        """Introduce everybody."""
        for community in self._communities:
            for entry in everybody:
                host, port, key = entry.split(":")
                peer = _Peer(bytes.fromhex(key), (host, int(port)))
                if peer.mid != community.my_peer.mid:
                    community.network.add_verified_peer(peer)
                    community.network.discover_services(peer, [community.community_id])

    @override
    async def publish(self, payload: bytes, node: int) -> None:
        """Send to all, and take it oneself; then let the loop breathe, or it is all lost."""
        community = self._communities[node]
        for peer in community.get_peers():
            community.ez_send(peer, _Event(payload), sig=False)
        self.on_event(payload)
        await asyncio.sleep(0)

    @override
    async def close(self) -> None:
        for community in self._communities:
            await community.unload()
            community.endpoint.close()
