"""Keys and certificates in files, as members of an authority have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from camcast.live.profiles.certificate_file import certificate_text
from camcast.live.profiles.key_file import write_key_pair
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from tests.authority import MEMBER, ROOT, grant

FAR = 2**32 - 1
"""The last second that a certificate can name."""


def certify(
    path: Path,
    key: SecretKey,
    topic: str,
    rights: Rights = MEMBER,
    *,
    issuer: SecretKey = ROOT,
    until: int = FAR,
    serial: int = 1,
) -> None:
    path.write_text(certificate_text([grant(issuer, key, topic, rights, 0, until, serial)]))


def enrol(folder: Path, name: str, key: SecretKey, *granted: Any, **how: Any) -> None:
    """Write the files of a key, and, if anything is granted to it, of a certificate."""
    write_key_pair(folder / f"{name}.key", key)
    if granted:
        certify(folder / f"{name}.cert", key, *granted, **how)


def known_as(folder: Path, name: str, *trusted: str) -> dict[str, Any]:
    """Return the settings of a manager of this name, which trusts these roots, or `root`."""
    return {
        "identity": folder / f"{name}.key",
        "certificates": folder / f"{name}.cert",
        "trust": [folder / f"{root}.pub" for root in trusted or ("root",)],
    }
