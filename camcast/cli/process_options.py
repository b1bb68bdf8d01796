"""The options of the commands that run one process, and of ``doctor``, which tries one.

A group's `arguments` are for `CommunityManager`; to make them raises `CamcastError`.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from attrs import frozen

from camcast.cli import options
from camcast.doors.options import OptionError
from camcast.doors.profile import OPEN, SHARED_KEY, SIGNED
from camcast.live.gateway_file import read_gateways
from camcast.live.profiles.key_file import read_passphrase
from camcast.security.passphrase import check_passphrase
from camcast.vocabulary.parameters import RETENTION_SECONDS_MAX, CommunitySettings
from camcast.vocabulary.topics import ROOT

PASSPHRASE_VARIABLE: Final = "CAMCAST_PASSPHRASE"


class ProfileName(StrEnum):
    """Who may talk to a process (docs/security.md)."""

    OPEN = OPEN
    SHARED_KEY = SHARED_KEY
    SIGNED = SIGNED


@frozen
class ProfileOptions:
    """The profile of a process, and the passphrase of its group."""

    profile: Annotated[
        ProfileName | None,
        typer.Option(
            help="open: whoever reaches the process may read and publish; shared-key: who knows the"
            " passphrase; signed: who has a certificate. Default: signed with --identity,"
            " shared-key with a passphrase, else open."
        ),
    ] = None
    passphrase_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Talk only to those who have the same passphrase, encrypted; one line, mode 0600."
            f" Without it, the environment's {PASSPHRASE_VARIABLE} counts.",
        ),
    ] = None

    def passphrase(self) -> str | None:
        """Return the passphrase of the group, None in the profiles that have none.

        Raises `KeyFileError` for the file, `PassphraseError` for what is in it, and `OptionError`
        where profile and passphrase contradict each other.
        """
        if self.profile in (ProfileName.OPEN, ProfileName.SIGNED):
            if self.passphrase_file is not None:
                raise OptionError(
                    f"--profile {self.profile} takes no passphrase; leave out --passphrase-file"
                )
            return None
        if self.passphrase_file is not None:
            return check_passphrase(read_passphrase(self.passphrase_file))
        given = os.environ.get(PASSPHRASE_VARIABLE)
        if given is None and self.profile == ProfileName.SHARED_KEY:
            raise OptionError(
                "--profile shared-key needs a passphrase: give --passphrase-file FILE, or set"
                f" {PASSPHRASE_VARIABLE}"
            )
        return None if given is None else check_passphrase(given)


@frozen
class SecurityOptions:
    """What keeps strangers out of a process."""

    profile: ProfileOptions = ProfileOptions()
    identity: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The secret key of this process (camcast keys new): it signs its events, and talks"
            " only to certified processes, encrypted. Needs --certificate and --trust.",
        ),
    ] = None
    certificates: Annotated[
        list[Path] | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="What the key of --identity may do (camcast certify). Repeatable.",
        ),
    ] = None
    trust: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The public key of a root that is trusted. Repeatable."),
    ] = None
    revocations: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A root's list of certificates that count no more (camcast revoke). Repeatable.",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager.

        An identity means the profile ``signed``, which ignores a passphrase of the environment.
        """
        profile = self.profile.profile
        files = {
            "identity": self.identity,
            "certificates": self.certificates or (),
            "trust": self.trust or (),
            "revocations": self.revocations or (),
        }
        if not any(files.values()):
            if profile == ProfileName.SIGNED:
                raise OptionError(
                    "--profile signed needs an identity: give --identity, --certificate and --trust"
                    " (camcast keys new, camcast certify)"
                )
            return {"passphrase": self.profile.passphrase()}
        if profile not in (None, ProfileName.SIGNED):
            raise OptionError(
                f"--profile {profile} takes no identity; leave out --identity, --certificate,"
                " --trust and --revocations"
            )
        if self.profile.passphrase_file is not None:
            raise OptionError(
                "--identity and --passphrase-file are two ways to keep strangers out; give one of"
                " them"
            )
        return files


@frozen
class ListeningOptions:
    """Where a process listens, and who may talk to it."""

    bind: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; port 0 is any free port.")
    ] = "tcp://127.0.0.1:0"
    advertise: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="What to tell others instead of --bind.")
    ] = None
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Allow addresses off the loopback although nothing is secured."
        ),
    ] = False
    security: SecurityOptions = SecurityOptions()
    transport: options.Transport = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager."""
        return {
            "bind": self.bind,
            "advertise": self.advertise,
            "insecure": self.insecure,
            "transport": self.transport,
            **self.security.arguments(),
        }


@frozen
class ProcessOptions:
    """Where a process listens, who may talk to it, and how it may be asked."""

    listening: ListeningOptions = ListeningOptions()
    metrics: options.Metrics = None
    control: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Answer camcast status, peers, topics, doctor and trace at a unix socket there.",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager; `metrics` is none of them (`served_metrics`)."""
        return {"control": self.control, **self.listening.arguments()}


@frozen
class ContactOptions:
    """Which membership a process has, and whom it asks first."""

    membership: Annotated[str, options.MEMBERSHIP] = "scamp"
    gateway_file: Annotated[
        Path | None,
        typer.Option("--gateways", metavar="FILE", help="TOML file with gateways by topic."),
    ] = None
    gateway: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A gateway for all topics. Repeatable."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager; --gateway serves all topics."""
        gateways: dict[str, list[str]] = {ROOT.name: []}
        if self.gateway_file is not None:
            listed = read_gateways(self.gateway_file)
            gateways |= {topic.name: list(addresses) for topic, addresses in listed.items()}
        for addresses in gateways.values():
            addresses += self.gateway or ()
        return {"membership": self.membership, "gateways": gateways}


@frozen
class MemberOptions:
    """How a process becomes a member of communities, and how events reach it."""

    contacts: ContactOptions = ContactOptions()
    settings: options.MembershipOptions = None
    discovery: Annotated[
        str | None,
        typer.Option(help="gateways or lan: how strangers are found; lan needs no address (mDNS)."),
    ] = None
    remember: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep contacts there, for a start when no gateway answers."
        ),
    ] = None
    retry: Annotated[
        bool,
        typer.Option(
            "--retry", help="Keep asking gateways that do not answer, instead of failing."
        ),
    ] = False
    process: ProcessOptions = ProcessOptions()
    repair: Annotated[bool, options.REPAIR] = True
    retention: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=RETENTION_SECONDS_MAX,
            help="For how long events are kept for those that missed them; default: 120.",
        ),
    ] = None
    spread: options.Spread = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager; `retry` is one of `Community.join`."""
        parameters = options.given(retention_seconds=self.retention, spread=self.spread)
        return {
            **self.contacts.arguments(),
            "options": options.named_values(self.settings),
            "discovery": self.discovery,
            "remember": self.remember,
            "repair": self.repair,
            "parameters": CommunitySettings(**parameters),
            **self.process.arguments(),
        }


CONTACTS: Final = ContactOptions()
PROFILE: Final = ProfileOptions()
LISTENING: Final = ListeningOptions()
MEMBER: Final = MemberOptions()
