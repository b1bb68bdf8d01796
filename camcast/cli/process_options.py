"""How a person writes the settings of a process that a program gives otherwise.

Most options are made from the fields of `camcast.app.settings` (`camcast.cli.option_group`). The
groups here stand for one field each: `value` makes its value, out of the options and of what was
given for the other fields of the same record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from attrs import fields, frozen

from camcast.app.settings import Contacts, Option, Security, Spread
from camcast.cli import options
from camcast.doors.options import OptionError
from camcast.doors.profile import OPEN, SHARED_KEY, SIGNED
from camcast.live.gateway_file import read_gateways
from camcast.live.profiles.key_file import read_passphrase
from camcast.security.passphrase import check_passphrase
from camcast.vocabulary.topics import ROOT

PASSPHRASE_VARIABLE: Final = "CAMCAST_PASSPHRASE"
_FILES: Final = ("identity", "certificates", "trust", "revocations")


class ProfileName(StrEnum):
    """The profile of a process: its access rules (docs/security.md)."""

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
            help=f"{Option.of(fields(Security).passphrase).help}"
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
        # What this process starts, such as a tool of Spark, does not inherit it.
        given = os.environ.pop(PASSPHRASE_VARIABLE, None)
        if given is None and self.profile == ProfileName.SHARED_KEY:
            raise OptionError(
                "--profile shared-key needs a passphrase: give --passphrase-file FILE, or set"
                f" {PASSPHRASE_VARIABLE}"
            )
        return None if given is None else check_passphrase(given)

    def value(self, security: Mapping[str, Any]) -> str | None:
        """Return the passphrase that goes with the other options of `Security`.

        An identity means the profile ``signed``, which ignores a passphrase of the environment.
        """
        if not any(security[name] for name in _FILES):
            if self.profile == ProfileName.SIGNED:
                raise OptionError(
                    "--profile signed needs an identity: give --identity, --certificate and --trust"
                    " (camcast keys new, camcast certify)"
                )
            return self.passphrase()
        if self.profile not in (None, ProfileName.SIGNED):
            raise OptionError(
                f"--profile {self.profile} takes no identity; leave out --identity, --certificate,"
                " --trust and --revocations"
            )
        if self.passphrase_file is not None:
            raise OptionError(
                "--identity and --passphrase-file are two ways to keep strangers out; give one of"
                " them"
            )
        return None


@frozen
class AlsoPassphraseOptions:
    """The second passphrase of a group that changes from one to the other."""

    also_passphrase_file: Annotated[Path | None, options.option_of(Security, "also_passphrase")] = (
        None
    )

    def value(self, _security: Mapping[str, Any]) -> str | None:
        """Return the passphrase; raises as `ProfileOptions.passphrase`."""
        file = self.also_passphrase_file
        return None if file is None else check_passphrase(read_passphrase(file))


@frozen
class GatewayOptions:
    """The gateways that a process asks first."""

    gateway_file: Annotated[
        Path | None,
        typer.Option("--gateways", metavar="FILE", help=Option.of(fields(Contacts).gateways).help),
    ] = None
    gateway: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A gateway for all topics. Repeatable."),
    ] = None

    def value(self, _contacts: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the gateways by topic; --gateway serves all topics."""
        gateways: dict[str, list[str]] = {ROOT.name: []}
        if self.gateway_file is not None:
            listed = read_gateways(self.gateway_file)
            gateways |= {topic.name: list(addresses) for topic, addresses in listed.items()}
        for addresses in gateways.values():
            addresses += self.gateway or ()
        return gateways


@frozen
class SetOptions:
    """The options of the membership."""

    settings: Annotated[list[str] | None, options.option_of(Contacts, "options")] = None

    def value(self, _contacts: Mapping[str, Any]) -> dict[str, object]:
        """Return the options by name."""
        return options.named_values(self.settings)


@frozen
class DiscoverySetOptions:
    """The options of the discovery."""

    discovery_settings: Annotated[
        list[str] | None, options.option_of(Contacts, "discovery_options")
    ] = None

    def value(self, _contacts: Mapping[str, Any]) -> dict[str, object]:
        """Return the options by name."""
        return options.named_values(self.discovery_settings, "--discovery-set")


@frozen
class ProtocolSetOptions:
    """The options of the protocol."""

    protocol_settings: Annotated[
        list[str] | None, options.option_of(Spread, "protocol_options")
    ] = None

    def value(self, _spread: Mapping[str, Any]) -> dict[str, object]:
        """Return the options by name."""
        return options.named_values(self.protocol_settings, "--protocol-set")


PROFILE: Final = ProfileOptions()
WRITTEN: Final[Mapping[str, Any]] = {
    "passphrase": PROFILE,
    "also_passphrase": AlsoPassphraseOptions(),
    "gateways": GatewayOptions(),
    "options": SetOptions(),
    "discovery_options": DiscoverySetOptions(),
    "protocol_options": ProtocolSetOptions(),
}
"""The groups by the name of the field that they stand for."""
