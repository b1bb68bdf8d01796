"""The words of `GatewayTimeout` fit what was asked: gateways over links, or a DHT over UDP."""

from __future__ import annotations

import pytest

from camcast.app.community_errors import GatewayTimeout
from camcast.doors.discovery import Discovery
from camcast.doors.plugs import find_backend, find_discovery
from camcast.live.wire.probe_port import Reached
from camcast.vocabulary.topics import Topic

A = Topic.parse(".a")
ADDRESS = "tcp://192.0.2.1:7000"


@pytest.mark.parametrize("reach", list(Reached))
@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview", "hybrid", "dht"])
def test_an_explanation_belongs_to_the_membership_at_hand(membership: str, reach: Reached) -> None:
    discovery = find_discovery(find_backend(membership).discovery)
    assert isinstance(discovery, type)
    assert issubclass(discovery, Discovery)
    by_udp = discovery.asks_by_udp
    assert by_udp is (membership in ("hybrid", "dht"))
    says = str(GatewayTimeout(A, [ADDRESS], (), {ADDRESS: reach}, ADDRESS, by_udp=by_udp))
    assert ADDRESS in says
    if by_udp:
        assert "no node of the DHT answered" in says
        assert "--overlay" in says
        assert "no gateway answered" not in says
        assert "is it a gateway" not in says
        assert ("UDP" in says) is (reach is Reached.SILENT)
    else:
        assert "no gateway answered" in says
        assert "UDP" not in says
        assert "DHT" not in says
