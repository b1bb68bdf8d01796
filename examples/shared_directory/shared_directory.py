"""A discovery through a folder that all processes can reach: a file for each member of a topic.

No process needs an address of another one: ``--discovery-set directory=/shared`` is enough. A file
is named after its process, holds its address and the time until which it counts, and is renewed
while the process lives. Whoever can write into the folder can name members.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from camcast.doors.waiting_discovery import Found, WaitingDiscovery
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic

LEASE_SECONDS = 30.0  # chosen: as that of gateways; a crashed process is named no longer
FILES_MAX = 10_000  # chosen: bounds what is read, whatever is put into the folder


@frozen(kw_only=True)
class SharedDirectoryOptions:
    """The options: ``--discovery-set directory=/shared``."""

    directory: Path = Path("camcast-members")
    """The folder; it is made if it is missing."""


class SharedDirectory(WaitingDiscovery):
    """The register of one process: the files of the folder."""

    options = SharedDirectoryOptions

    async def enter(self, topic: Topic) -> float:
        """Write the file of this process; it holds for `LEASE_SECONDS`."""
        text = f"{self._me.address} {self._waiting.wall() + LEASE_SECONDS}"
        await self._waiting.call(_write, self._file(topic), text)
        return LEASE_SECONDS

    async def strike(self, topic: Topic) -> None:
        """Remove the file of this process."""
        await self._waiting.call(self._file(topic).unlink, True)

    async def find(self, topic: Topic, wanted: int) -> Found:
        """Read the files of a topic."""
        folder = self._file(topic).parent
        found = await self._waiting.call(_read, folder, self._waiting.wall())
        return Found(found, size=max(1.0, len(found)))

    def _file(self, topic: Topic) -> Path:
        return Path(self._options.directory, topic.group.hex(), self._me.peer.hex())


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(text)
    part.replace(file)  # nobody reads half a file


def _read(folder: Path, now: float) -> list[Contact]:
    found = []
    for file in sorted(folder.iterdir())[:FILES_MAX] if folder.exists() else ():
        try:
            address, until = file.read_text().split()
            if float(until) >= now:
                found.append(Contact(PeerId(bytes.fromhex(file.name)), address))
        except (FileNotFoundError, ValueError):  # removed meanwhile, or no entry
            continue
    return found
