"""The options of the commands that run one process: ``subscribe``, ``publish`` and ``gateway``."""

from __future__ import annotations

from typing import Any, Final

from attrs import frozen

from camcast.cli import options
from camcast.community import CommunityManager


@frozen
class ProcessOptions:
    """Where a process listens, who may talk to it, and how it may be asked."""

    bind: options.Bind = options.DEFAULT_BIND
    advertise: options.Advertise = None
    insecure: options.Insecure = False
    profile: options.Profile = None
    passphrase_file: options.PassphraseFile = None
    identity: options.Identity = None
    certificates: options.Certificates = None
    trust: options.Trust = None
    revocations: options.RevocationLists = None
    transport: options.Transport = None
    metrics: options.Metrics = None
    control: options.Control = None

    def manager(self, membership: str, **others: Any) -> CommunityManager:
        """Make the manager of such a process; `others` are its further arguments.

        Raises the errors in `options.COMMUNITY_ERRORS`.
        """
        return CommunityManager(
            membership,
            bind=self.bind,
            advertise=self.advertise,
            insecure=self.insecure,
            **options.closed_by(
                self.profile,
                self.passphrase_file,
                self.identity,
                self.certificates,
                self.trust,
                self.revocations,
            ),
            transport=self.transport,
            control=self.control,
            **others,
        )


@frozen
class MemberOptions:
    """How a process becomes a member of communities, what it believes, and how events travel."""

    membership: options.Membership = "scamp"
    settings: options.MembershipOptions = None
    discovery: options.Discovery = None
    gateway_file: options.GatewayFile = None
    gateway: options.GatewayAddresses = None
    remember: options.Remember = None
    retry: options.Retry = False
    process: ProcessOptions = ProcessOptions()
    repair: options.Repair = True
    retention: options.Retention = None
    spread: options.Spread = None

    def manager(self) -> CommunityManager:
        """Make the manager of such a process; raises the errors in `options.COMMUNITY_ERRORS`."""
        return self.process.manager(
            self.membership,
            options=options.named_values(self.settings),
            discovery=self.discovery,
            gateways=options.gateways(self.gateway_file, self.gateway),
            remember=self.remember,
            repair=self.repair,
            parameters=options.community_parameters(self.retention, self.spread),
        )


MEMBER: Final = MemberOptions()
