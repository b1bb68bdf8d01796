"""The laws of super-topic tables on all memberships (000, 1.3 and 5.2.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.testing import SuperTableContract

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


@pytest.mark.slow
class TestLaws(SuperTableContract):
    """All laws at the sizes of the paper's measurements (000, 6.2)."""

    @pytest.fixture(autouse=True, params=MEMBERSHIPS)
    def _plug(self, request: pytest.FixtureRequest) -> None:
        self.membership = request.param
        self.uniform = request.param == "dht"


@pytest.mark.slow
class TestHybrid(SuperTableContract):
    """Half the sizes: at the others, ten minutes of hybrid take as many of CPU."""

    membership = "hybrid"
    uniform = True
    sizes = (14, 40)


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
