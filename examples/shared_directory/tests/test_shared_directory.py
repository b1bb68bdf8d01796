"""What CAMCAST asks of every discovery, asked of this one."""

import pytest

from camcast.testing import DiscoveryContract


class TestSharedDirectory(DiscoveryContract):
    """The whole contract, in towns on virtual time; each test has a folder of its own."""

    discovery = "shared-directory"
    has_addresses = False  # a folder, which is always there

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.folders = tmp_path_factory

    def options_of_a_town(self) -> dict[str, object]:
        """Return the options of a new town: a folder of its own."""
        return {"directory": self.folders.mktemp("town")}
