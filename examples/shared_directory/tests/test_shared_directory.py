"""What CAMCAST asks of every discovery, asked of this one."""

import tempfile

from camcast.testing import DiscoveryContract, Town


class TestSharedDirectory(DiscoveryContract):
    """The whole contract, in towns on virtual time; each town has a folder of its own."""

    discovery = "shared-directory"
    has_addresses = False  # a folder, which is always there

    def options_of_a_town(self) -> dict[str, object]:
        """Return the options of a new town: a folder of its own, which is to be made."""
        return {"directory": f"{tempfile.mkdtemp()}/members"}

    def spoil(self, town: Town) -> None:
        """Replace all files of the folder by files that are no entries."""
        for file in town.options.directory.rglob("*/*"):
            file.unlink()
            (file.parent / "README").write_text("no entry")
            (file.parent / "00").write_bytes(b"\xff")
