"""The plugs of examples/ keep the contracts that they ask for in their own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.testing import DiscoveryContract, MembershipContract
from tests.library.example_packages import install


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.slow
class TestNewscast(MembershipContract):
    membership = "newscast"


class TestSharedDirectory(DiscoveryContract):
    discovery = "shared-directory"
    has_addresses = False

    @pytest.fixture(autouse=True)
    def _folders(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.folders = tmp_path_factory

    def options_of_a_town(self) -> dict[str, object]:
        return {"directory": self.folders.mktemp("town")}
