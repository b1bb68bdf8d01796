"""An authority that lasts for one run: it certifies every node of the run for everything.

With it, a run on one machine can show the profile `signed`, and its cost, before anybody has keys.
The authority's files are in a folder that is removed after the run.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from camcast.live.profiles.certificate_file import certificate_text
from camcast.live.profiles.key_file import read_secret_key, write_key_pair
from camcast.security.certificates import CERTIFICATE, SERIAL_BYTES, Certificate, Rights
from camcast.security.keys import KEY_BYTES, SecretKey
from camcast.vocabulary.lasting_file import write_lasting

_SECONDS: Final = 24 * 3600  # chosen: longer than any run


@frozen
class BriefAuthority:
    """The authority whose root's key is in a folder; all processes of a run share the folder."""

    folder: Path

    @classmethod
    def found(cls, folder: Path) -> BriefAuthority:
        """Make a root in an empty folder that nobody else may read."""
        write_key_pair(folder / "root.key", SecretKey(os.urandom(KEY_BYTES)))
        return cls(folder)

    def identity(self, name: str) -> dict[str, Any]:
        """Return a new identity of this name, as arguments of `CommunityManager`."""
        root, key = read_secret_key(self.folder / "root.key"), SecretKey(os.urandom(KEY_BYTES))
        secret, certified = self.folder / f"{name}.key", self.folder / f"{name}.cert"
        now = int(time.time())
        granted = Certificate(
            root.public.raw,
            key.public.raw,
            ".",
            int(Rights.JOIN | Rights.PUBLISH | Rights.SERVE),
            now,
            now + _SECONDS,
            os.urandom(SERIAL_BYTES),
            0,
        )
        write_key_pair(secret, key)
        write_lasting(
            certified, certificate_text([CERTIFICATE.sign(granted, root)]).encode(), 0o644
        )
        return self.files(name)

    def files(self, name: str) -> dict[str, Any]:
        """Return the identity that was made by this name, as arguments of `CommunityManager`."""
        return {
            "identity": self.folder / f"{name}.key",
            "certificates": self.folder / f"{name}.cert",
            "trust": self.folder / "root.pub",
            "no_revocations": True,
        }
