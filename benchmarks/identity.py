"""The files of a node that signs its events: its key, a certificate, and the root's key."""

from __future__ import annotations

import time
from pathlib import Path

from camcast.live.profiles.certificate_file import certificate_text
from camcast.live.profiles.key_file import beside, write_key_pair
from camcast.security.certificates import CERTIFICATE, Certificate, Rights
from camcast.security.keys import SecretKey

DAY = 24 * 3600
_ROOT = SecretKey(b"root" * 8)  # the same in every process of a fleet


def write_identity(folder: Path, number: int, topic: str) -> dict[str, Path]:
    """Write the files of the node of this number, and return them as `CommunityManager` takes them.

    Its certificate allows it to join and publish in the topic for a day.
    """
    folder.mkdir()
    key, now = SecretKey(number.to_bytes(32)), int(time.time())
    trust = write_key_pair(folder / "root.key", _ROOT)
    write_key_pair(folder / "node.key", key)
    rights = Rights.JOIN | Rights.PUBLISH
    fields = Certificate(
        *(_ROOT.public.raw, key.public.raw, topic, int(rights), now - DAY, now + DAY),
        *((number + 1).to_bytes(8), 0),
    )
    certificate = beside(folder / "node.key", ".cert")
    certificate.write_text(certificate_text([CERTIFICATE.sign(fields, _ROOT)]))
    return {"identity": folder / "node.key", "certificates": certificate, "trust": trust}
