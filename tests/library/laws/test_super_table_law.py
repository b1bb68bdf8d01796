"""The laws of super-topic tables on all memberships (000, 1.3 and 5.2.3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from camcast.engine.node import Node
from camcast.security.certificates import Rights
from camcast.security.known_peers import KnownPeers
from camcast.testing import SuperTableContract
from camcast.testing.super_table_contract import TwoLevels
from tests.authority import MEMBER
from tests.signed_world import certificate, key, with_own

EXAMPLE = Path(__file__).parents[3] / "examples/full_view"
MEMBERSHIPS = ("scamp", "dht", "cyclon", "hyparview")


class Small(SuperTableContract):
    """A small overlay whose processes all join at once: tables were copies of one."""

    membership = "dht"
    uniform = True
    sizes = (12, 30)
    ways = ("together",)
    settle_seconds = 10.0


def test_tables_of_a_small_overlay_are_draws() -> None:
    Small().test_super_topic_tables_are_draws()


class OfThePaper(SuperTableContract):
    """The sizes of the paper's measurements (000, 6.2), joined in one way: `TestLaws` has all."""

    ways = ("level by level",)


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "dht"])
def test_tables_of_the_papers_sizes_are_draws(membership: str) -> None:
    contract = OfThePaper()
    contract.membership, contract.uniform = membership, membership == "dht"
    contract.test_super_topic_tables_are_draws()


@pytest.mark.slow
class TestLaws(SuperTableContract):
    """All laws at half the sizes: ten minutes of the others take as many of CPU."""

    sizes = (14, 40)
    load_seeds = (1, 2)

    @pytest.fixture(autouse=True, params=MEMBERSHIPS)
    def _plug(self, request: pytest.FixtureRequest) -> None:
        self.membership = request.param
        self.uniform = request.param == "dht"
        if self.uniform:  # one look at 14 in-degrees is 1.5 times the law eleven times in 100
            self.seeds = (1, 2, 3)


class Hybrid(SuperTableContract):
    """Its discovery is that of dht, of which `TestLaws` has loads and crashes."""

    membership = "hybrid"
    uniform = True
    sizes = (14, 40)
    ways = ("level by level",)


@pytest.mark.slow
def test_tables_of_hybrid_are_and_stay_draws() -> None:
    contract = Hybrid()
    contract.test_super_topic_tables_are_draws()
    contract.test_super_topic_tables_stay_draws()


class SignedLevels(TwoLevels):
    """Two levels of profile signed, whose processes know each other by introductions."""

    def start(self) -> Node:
        secret = key(1 + len(self.world.nodes))
        rights = MEMBER | Rights.SERVE
        signatures = with_own(secret, certificate(secret, ".", rights))
        admission = KnownPeers(signatures, 1)
        parts = evolve(self.world.parts, signatures=signatures, admission=admission)
        backend, peer = self.contract.membership, secret.public.peer_id
        return self.world.add(self.gateways, backend=backend, peer=peer, parts=parts)


class Signed(SuperTableContract):
    """Processes that sign; those that find each other by a DHT are judged live."""

    membership = "scamp"
    sizes = (14, 40)
    ways = ("together",)
    levels = SignedLevels


@pytest.mark.slow
def test_tables_of_signed_processes_are_draws() -> None:
    Signed().test_super_topic_tables_are_draws()


@pytest.mark.slow
class TestThirdParty(SuperTableContract):
    """The example of a third party's package; its heartbeats grow as N^2."""

    membership = "full-view"
    sizes = (14, 40)

    @pytest.fixture(autouse=True)
    def _installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        information = tmp_path / "full_view-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: full-view\nVersion: 1\n"
        )
        (information / "entry_points.txt").write_text(
            "[camcast.membership]\nfull-view = full_view:BACKEND\n"
        )
        monkeypatch.syspath_prepend(str(EXAMPLE))
        monkeypatch.syspath_prepend(str(tmp_path))
