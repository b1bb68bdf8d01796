"""IPv6 alone, and both versions of IP at one process, over real sockets on the loopback."""

from __future__ import annotations

import pytest

from camcast import CommunityManager
from tests.library.contracts.test_transport_contract import has_ipv6
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox, free_port, managers
from tests.patience import eventually, live

pytestmark = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")


@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview", "dht", "hybrid"])
@live
async def test_where_there_is_ipv6_alone_all_is_as_with_ipv4(membership: str) -> None:
    options = OPTIONS if membership in ("scamp", "hybrid") else None
    given = {"membership": membership, "bind": "tcp://[::1]:0", "options": options}
    async with managers(3, **given) as processes:
        inboxes = [Inbox() for _ in processes]
        communities = [await process.join(".a") for process in processes]
        for community, inbox in zip(communities, inboxes, strict=True):
            await community.ready()
            community.subscribe(inbox)
        assert all(process.address.startswith("tcp://[::1]:") for process in processes)
        for number, community in enumerate(communities):
            await community.publish(str(number).encode())
        expected = [b"0", b"1", b"2"]
        await eventually(lambda: all(sorted(one.payloads) == expected for one in inboxes))


@live
async def test_a_node_of_both_is_found_by_each_and_joins_them() -> None:
    """The one of IPv4 is never told of the one of IPv6, and hears it through the other."""
    port = free_port()
    both = CommunityManager(
        "dht",
        bind=f"tcp://[::]:{port}",
        advertise=f"tcp://[::1]:{port}",
        insecure=True,
        parameters=CERTAIN,
    )
    async with both:
        await both.join(".a")
        inboxes = []
        communities = []
        async with (
            CommunityManager(
                "dht", gateways=[f"tcp://127.0.0.1:{port}"], parameters=CERTAIN
            ) as four,
            CommunityManager(
                "dht", bind="tcp://[::1]:0", gateways=[f"tcp://[::1]:{port}"], parameters=CERTAIN
            ) as six,
        ):
            for process in (four, six):
                inboxes.append(Inbox())
                communities.append(await process.join(".a"))
                await communities[-1].ready()
                communities[-1].subscribe(inboxes[-1])
                assert both.contact in communities[-1].peers
            for community, payload in zip(communities, (b"four", b"six"), strict=True):
                await community.publish(payload)
            for inbox in inboxes:
                await eventually(lambda inbox=inbox: sorted(inbox.payloads) == [b"four", b"six"])
