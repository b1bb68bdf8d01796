"""The folder of a signed system: its root, and for each member what that one's machine needs.

::

    plant/
      root.key  root.pub  root.issued  root.revoked     the authority's; root.key leaves never
      members/ada/
        ada.key  ada.cert  root.pub  root.list  camcast.toml
      revoked/ada-2f0c8f5e19a3b6d7/

A member's folder is handed out whole: ``camcast.toml`` in it names the other files and the gateways
of the system, so that ``--config`` is all that a process of the member needs. The folder has no
``ada.key`` where that was made on the member's machine.

Theory of operation
-------------------
What is known of a member is read from the files that are handed out: rights, topic, key and time
from the certificate, the address from ``camcast.toml``. There is no further register that could say
something else. What the root has issued and revoked is in `camcast.live.profiles.issuer_register`,
whose lock each command holds while it works.

Whatever changes is written into the folders of all members: the root's latest list, and the
gateways. A command that was killed is given again: each step finds what is there already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from camcast.live.profiles.certificate_file import (
    CertificateFileError,
    certificate_text,
    read_chain,
    read_revocations,
    revocations_text,
)
from camcast.live.profiles.issuer_register import IssuerRegister, opened
from camcast.live.profiles.key_file import (
    beside,
    public_line,
    read_public_key,
    read_secret_key,
    write_key_pair,
    write_public_key,
)
from camcast.observe.condition_table import RENEW_SHARE
from camcast.security.certificates import (
    CERTIFICATE,
    SERIAL_BYTES,
    UNBOUNDED,
    Certificate,
    Rate,
    RatedCertificate,
    Rights,
)
from camcast.security.keys import KEY_BYTES, PublicKey, SecretKey
from camcast.security.revocation import EVERY_KEY, key_mark
from camcast.vocabulary.addresses import check_address, is_wildcard
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.lasting_file import make_lasting_folder, move_lasting, write_lasting
from camcast.vocabulary.toml_text import TomlTextError, parse_toml, read_toml
from camcast.vocabulary.topics import Topic

_ROOT: Final = "root"
_MEMBERS: Final = "members"
_REVOKED: Final = "revoked"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # chosen: a file name everywhere
# chosen: where no address is given. Any port, at the address by which the gateways are reached.
_ANYWHERE: Final = "tcp://0.0.0.0:0"


class SystemFolderError(CamcastError, ValueError):
    """The folder of a system lacks something, or has it already; the message says what."""


@frozen
class Member:
    """A member of the system, as its folder says."""

    name: str
    folder: Path
    certificate: Certificate
    address: str
    """Where its processes listen."""
    revoked: bool = False

    @property
    def key(self) -> PublicKey:
        """The member's public key."""
        return PublicKey(self.certificate.subject)

    def state(self, now: float) -> str:
        """Return ``valid``, ``ends`` (a fifth of the time is left), ``expired`` or ``revoked``."""
        granted = self.certificate
        if self.revoked:
            return "revoked"
        if granted.not_after <= now:
            return "expired"
        share_left = (granted.not_after - now) / (granted.not_after - granted.not_before)
        return "ends" if share_left < RENEW_SHARE else "valid"


def create(folder: Path, now: int) -> PublicKey:
    """Make the folder of a new system, its root's key, and the root's first list of revocations.

    Returns the public key of the root. Raises `KeyFileError` if there is a root.
    """
    secret = SecretKey(os.urandom(KEY_BYTES))
    try:
        make_lasting_folder(folder / _MEMBERS)
    except OSError as error:
        raise SystemFolderError(f"{error.filename}: {error.strerror}") from None
    key_file = folder / f"{_ROOT}.key"
    write_key_pair(key_file, secret)
    with opened(key_file, secret, now) as register:
        register.revoke((), (), now, 1, first=True)  # no member needs it before the next one
    return secret.public


@contextmanager
def authority(folder: Path, now: int, *, clock_is_right: bool = False) -> Iterator[Authority]:
    """Open the folder of a system to change it, and hold its lock in the block.

    Raises `SystemFolderError` where there is no system, and as `opened`.
    """
    key_file = _key_of(folder)
    secret = read_secret_key(key_file)
    with opened(key_file, secret, now, clock_is_right=clock_is_right) as register:
        yield Authority(folder, secret, register, now)


def members(folder: Path) -> list[Member]:
    """Return the members, sorted by name, and after them those that were revoked.

    Raises `SystemFolderError` where there is no system, and as `read_chain`.
    """
    path = beside(_key_of(folder), ".revoked")
    revoked = read_revocations(path)[0] if path.exists() else None
    there = [*_members_in(folder / _MEMBERS), *_members_in(folder / _REVOKED)]
    return [
        evolve(one, revoked=True) if revoked and revoked.names(one.certificate) else one
        for one in there
    ]


def without_folder(folder: Path, now: int) -> list[Member]:
    """Return who may still act and has no folder, as members without a name or an address.

    Such a key was certified by ``camcast certify``, or its member's folder was lost, as where an
    older copy of the folder of the system took its place. Raises as `authority`.
    """
    there = {member.certificate.subject for member in members(folder)}
    with authority(folder, now, clock_is_right=True) as root:
        latest = {one.subject: one for one in root.valid()}
    return [Member("", folder, one, "") for key, one in latest.items() if key not in there]


class Authority:
    """The owner of a system's root, at work; `authority` opens it."""

    def __init__(self, folder: Path, secret: SecretKey, register: IssuerRegister, now: int) -> None:
        self._folder, self._secret, self._register, self._now = folder, secret, register, now

    def admit(
        self,
        name: str,
        topic: Topic,
        rights: Rights,
        end: int,
        *,
        rate: Rate = UNBOUNDED,
        address: str = "",
        public: PublicKey | None = None,
    ) -> Member:
        """Certify a new member until `end`, in seconds since 1970, and make its folder.

        Its key is made there unless its owner made one and gave the `public` half. Raises
        `SystemFolderError` for a name or a key that is a member's, and for a revoked key.
        """
        if not _NAME.fullmatch(name) or name == _ROOT:
            raise SystemFolderError(
                f"{name!r} is no name of a member: it has up to 64 letters, digits, dots, dashes"
                f" and underscores, begins with a letter or a digit, and is not {_ROOT!r}"
            )
        serves = Rights.SERVE in rights
        address = check_address(address, bind=True) if address else ""
        if serves and (not address or is_wildcard(address) or address.endswith(":0")):
            raise SystemFolderError(
                "others have to find who may serve: give the address and the port at which this"
                " gateway is reached (--at tcp://192.0.2.1:7000)"
            )
        for member in self._members():
            if member.address == address and (serves or Rights.SERVE in member.certificate.rights):
                raise SystemFolderError(
                    f"{member.name} listens at {address}: give another address or port, or revoke"
                    f" {member.name} before"
                )
        folder = self._folder / _MEMBERS / name
        if (folder / f"{name}.cert").exists():
            raise SystemFolderError(
                f"{name} is a member: renew or revoke {name}, or choose another name"
            )
        for member in members(self._folder):
            if member.key == public:
                was = "was revoked as" if member.revoked else "is the key of"
                raise SystemFolderError(
                    f"this key {was} {member.name}; let the new member have a key of its own"
                )
        public = self._key_for(name, folder, public)
        signed = self._certify(public.raw, topic.name, rights, end, rate)
        return self._hand_out({folder: signed}, address)[0]

    def renew(self, names: Sequence[str], seconds: int | None) -> list[Member]:
        """Certify members again, all without any names, and sign the list of revocations again.

        The key, the rights, the rate and the topic stay; the time is so many seconds, or as long as
        that of the certificate before.
        """
        new = {}
        for member in self._named(names) if names else self._members():
            old = member.certificate
            lasts = old.not_after - old.not_before if seconds is None else seconds
            new[member.folder] = self._certify(
                *(old.subject, old.prefix, old.rights, self._now + lasts, old.rate)
            )
        return self._hand_out(new)

    def revoke(self, names: Sequence[str]) -> list[Member]:
        """Revoke all certificates of these members' keys, and put their folders aside."""
        gone = self._named(names)
        certificates = [
            certificate
            for member in gone
            for certificate in (*self._register.issued_to(member.key.raw), member.certificate)
        ]
        self._register.revoke(certificates, (), self._now, 1)  # the next one is of the same second
        return self._put_aside(gone)

    def revoke_issued_before(self, time: int, names: Sequence[str]) -> list[Member]:
        """Revoke what these members' keys got before a time, or all members' without any names.

        Returns the members whose certificate is revoked by it, whose folders are put aside.
        """
        named = self._named(names)
        marks = [key_mark(member.key.raw) for member in named] if names else [EVERY_KEY]
        # The next list is of the same second.
        self._register.revoke((), (), self._now, 1, issued_before=dict.fromkeys(marks, time))
        there = named if names else _members_in(self._folder / _MEMBERS)
        return self._put_aside([one for one in there if self._register.is_revoked(one.certificate)])

    def valid(self) -> list[Certificate]:
        """Return the certificates that count now, in the order in which they were issued."""
        return self._register.valid_at(self._now)

    def _put_aside(self, gone: Sequence[Member]) -> list[Member]:
        """Move the folders of revoked members, and hand the others what has changed."""
        self._hand_out({})
        aside = []
        for member in gone:
            target = self._folder / _REVOKED / f"{member.name}-{member.certificate.serial.hex()}"
            try:
                make_lasting_folder(target.parent)
                move_lasting(member.folder, target)
            except OSError as error:
                raise SystemFolderError(f"{member.folder}: {error.strerror}") from None
            aside.append(evolve(member, folder=target, revoked=True))
        return aside

    def _members(self) -> list[Member]:
        """Return the members whose certificate was not revoked."""
        there = _members_in(self._folder / _MEMBERS)
        return [one for one in there if not self._register.is_revoked(one.certificate)]

    def _named(self, names: Sequence[str]) -> list[Member]:
        """Return the members of these names, each once."""
        there = {member.name: member for member in _members_in(self._folder / _MEMBERS)}
        for name in names:
            if name not in there and (folder := self._folder / _MEMBERS / name).is_dir():
                raise SystemFolderError(
                    f"{folder} has no {name}.cert: {name} is no member until it is admitted (again)"
                )
            if name not in there:
                raise SystemFolderError(
                    f"{self._folder} has no member {name}; camcast system show names all"
                )
        return [there[name] for name in dict.fromkeys(names)]

    def _key_for(self, name: str, folder: Path, public: PublicKey | None) -> PublicKey:
        """Return the key of a new member; make it if its owner gave none."""
        secret_file, public_file = folder / f"{name}.key", folder / f"{name}.pub"
        try:
            make_lasting_folder(folder, 0o700)
        except OSError as error:
            raise SystemFolderError(f"{folder}: {error.strerror}") from None
        if public is not None:
            if secret_file.exists():
                raise SystemFolderError(
                    f"{secret_file} is there, of a command that was cut short: remove it"
                )
            _write(public_file, public_line(public))
            return public
        if not secret_file.exists():
            write_key_pair(secret_file, SecretKey(os.urandom(KEY_BYTES)))
        return read_public_key(write_public_key(secret_file))

    def _certify(self, subject: bytes, prefix: str, rights: Rights, end: int, rate: Rate) -> bytes:
        """Issue a certificate, and note it."""
        serial, issuer = os.urandom(SERIAL_BYTES), self._secret.public.raw
        granted = Certificate(issuer, subject, prefix, int(rights), self._now, end, serial, 0)
        signed = CERTIFICATE.sign(RatedCertificate.of(granted, rate), self._secret)
        self._register.add(signed, self._now)
        return signed

    def _hand_out(self, new: Mapping[Path, bytes], address: str = "") -> list[Member]:
        """Write what has changed into the folders of all members; return the `new` ones.

        These are certificates by folder; a member is one from when its certificate is there, which
        is written last. The list of revocations is signed again, and the next one is due when the
        last certificate ends: until then somebody has to sign anyway.
        """
        now = {member.folder: member for member in self._members()}
        for folder, signed in new.items():
            granted = CERTIFICATE.read(signed)
            listens = now[folder].address if folder in now else address or _ANYWHERE
            now[folder] = Member(folder.name, folder, granted, listens)
        due = max([self._now + 1, *(one.certificate.not_after for one in now.values())])
        _, data = self._register.revoke((), (), self._now, due - self._now)
        gateways = [
            f"{member.address}#{member.key}"
            for member in now.values()
            if Rights.SERVE in member.certificate.rights
        ]
        for member in now.values():
            _write(member.folder / f"{_ROOT}.pub", public_line(self._secret.public))
            _write(member.folder / f"{_ROOT}.list", revocations_text(data))
            _write(member.folder / "camcast.toml", _configuration(member, gateways))
        for folder, signed in new.items():
            _write(folder / f"{folder.name}.cert", certificate_text([signed]))
        return [now[folder] for folder in new]


def _configuration(member: Member, gateways: Iterable[str]) -> str:
    """Return the text of a member's ``camcast.toml``."""
    others = [one for one in gateways if not one.endswith(f"#{member.key}")]
    lines = [
        "# Written by camcast system, again and again: give options of your own on the command",
        "# line, or in the environment (CAMCAST_CONTROL=...).",
        f'identity = "{member.name}.key"',
        f'certificate = ["{member.name}.cert"]',
        f'trust = ["{_ROOT}.pub"]',
        f'revocations = ["{_ROOT}.list"]',
        f'bind = "{member.address}"',
        *(['advertise = "auto"'] if is_wildcard(member.address) else []),
        f"gateway = {others}".replace("'", '"'),
    ]
    return "".join(f"{line}\n" for line in lines)


def _key_of(folder: Path) -> Path:
    path = folder / f"{_ROOT}.key"
    if not path.exists():
        raise SystemFolderError(
            f"{folder} is no folder of a system: it has no {path.name} (camcast system init FOLDER"
            " makes one; --in FOLDER names it)"
        )
    return path


def _members_in(folder: Path) -> list[Member]:
    """Return the members whose folders are in this one; without a certificate it is no member."""
    found = []
    aside = folder.name == _REVOKED
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        name = place.name.rpartition("-")[0] if aside else place.name
        path = place / f"{name}.cert"
        if path.exists():
            certificate = CERTIFICATE.read(read_chain(path)[-1])
            address = _content(place / "camcast.toml").get("bind", _ANYWHERE)
            found.append(Member(name, place, certificate, str(address), aside))
    return found


def _content(path: Path) -> dict[str, Any]:
    """Return what a file of a configuration says; nothing if it is not there."""
    try:
        return parse_toml(read_toml(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SystemFolderError(f"{path}: {error.strerror}") from None
    except (TomlTextError, UnicodeDecodeError) as error:
        raise SystemFolderError(f"{path}: not TOML: {error}") from None


def _write(path: Path, text: str) -> None:
    try:
        write_lasting(path, text.encode(), 0o644)
    except OSError as error:
        raise CertificateFileError(f"{path}: {error.strerror}") from error
