"""The options of the commands that run one process, and of ``doctor``, which tries one.

A group's `arguments` are for `CommunityManager`; to make them raises `COMMUNITY_ERRORS`.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import frozen

from camcast.cli import options
from camcast.doors.options import OptionError


@frozen
class SecurityOptions:
    """What keeps strangers out of a process."""

    profile: options.Profile = None
    passphrase_file: options.PassphraseFile = None
    identity: options.Identity = None
    certificates: options.Certificates = None
    trust: options.Trust = None
    revocations: options.RevocationLists = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager.

        An identity means the profile ``signed``, which ignores a passphrase of the environment.
        """
        files = {
            "identity": self.identity,
            "certificates": self.certificates or (),
            "trust": self.trust or (),
            "revocations": self.revocations or (),
        }
        if not any(files.values()):
            if self.profile == options.ProfileName.SIGNED:
                raise OptionError(
                    "--profile signed needs an identity: give --identity, --certificate and --trust"
                    " (camcast keys new, camcast certify)"
                )
            return {"passphrase": options.passphrase(self.profile, self.passphrase_file)}
        if self.profile not in (None, options.ProfileName.SIGNED):
            raise OptionError(
                f"--profile {self.profile} takes no identity; leave out --identity, --certificate,"
                " --trust and --revocations"
            )
        if self.passphrase_file is not None:
            raise OptionError(
                "--identity and --passphrase-file are two ways to keep strangers out; give one of"
                " them"
            )
        return files


@frozen
class ListeningOptions:
    """Where a process listens, and who may talk to it."""

    bind: options.Bind = options.DEFAULT_BIND
    advertise: options.Advertise = None
    insecure: options.Insecure = False
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
    control: options.Control = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager; `metrics` is none of them (`served_metrics`)."""
        return {"control": self.control, **self.listening.arguments()}


@frozen
class ContactOptions:
    """Which membership a process has, and whom it asks first."""

    membership: options.Membership = "scamp"
    gateway_file: options.GatewayFile = None
    gateway: options.GatewayAddresses = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager."""
        gateways = options.gateways(self.gateway_file, self.gateway)
        return {"membership": self.membership, "gateways": gateways}


@frozen
class MemberOptions:
    """How a process becomes a member of communities, and how events reach it."""

    contacts: ContactOptions = ContactOptions()
    settings: options.MembershipOptions = None
    discovery: options.Discovery = None
    remember: options.Remember = None
    retry: options.Retry = False
    process: ProcessOptions = ProcessOptions()
    repair: options.Repair = True
    retention: options.Retention = None
    spread: options.Spread = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the manager; `retry` is one of `Community.join`."""
        return {
            **self.contacts.arguments(),
            "options": options.named_values(self.settings),
            "discovery": self.discovery,
            "remember": self.remember,
            "repair": self.repair,
            "parameters": options.community_parameters(self.retention, self.spread),
            **self.process.arguments(),
        }


CONTACTS: Final = ContactOptions()
LISTENING: Final = ListeningOptions()
MEMBER: Final = MemberOptions()
