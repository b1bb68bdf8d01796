"""The gateways of a configuration: the addresses that are asked first, by topic.

In a TOML file::

    [gateways]
    "." = ["tcp://192.0.2.1:7000", "tcp://gateway.example:7000"]
    ".soccer" = ["tcp://192.0.2.7:7000"]

In the profile `signed` an address has the gateway's key behind it, ``tcp://192.0.2.1:7000#KEY``, as
``camcast keys show`` prints it.

A host name stands for all its addresses, as they are at the time (`camcast.doors.named_contacts`).
A topic's gateways serve its subtopics too, unless those have gateways of their own. A plain
list of addresses is short for the gateways of the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from camcast.vocabulary.addresses import AddressError, check_address, is_loopback
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.toml_text import TomlTextError, parse_toml, read_toml
from camcast.vocabulary.topics import ROOT, Topic, TopicError

Gateways = Mapping[Topic, tuple[str, ...]]


class GatewayError(CamcastError, ValueError):
    """A gateway configuration is wrong; the message names the file, the key and the fault."""


def read_gateways(path: Path) -> Gateways:
    """Read a gateway file; raises `GatewayError`."""
    try:
        content = parse_toml(read_toml(path))
    except OSError as error:
        raise GatewayError(f"{path}: {error.strerror}") from error
    except (TomlTextError, UnicodeDecodeError) as error:
        raise GatewayError(f"{path}: not TOML: {error}") from error
    unknown = [key for key in content if key != "gateways"]
    table = content.get("gateways")
    if unknown or not isinstance(table, dict):
        found = f"the unknown key {unknown[0]!r}" if unknown else "no such table"
        raise GatewayError(f"{path}: expected one table [gateways], found {found}")
    try:
        return parse_gateways(table)
    except GatewayError as error:
        raise GatewayError(f"{path}: {error}") from error


def parse_gateways(given: Iterable[str] | Mapping[str, Iterable[str]]) -> Gateways:
    """Check addresses, given for the root or by topic; raises `GatewayError`.

    Behind an address may be ``#`` and a public key.
    """
    by_topic = given if isinstance(given, Mapping) else {ROOT.name: given}
    gateways: dict[Topic, tuple[str, ...]] = {}
    for name, addresses in by_topic.items():
        if isinstance(addresses, str) or not isinstance(addresses, Iterable):
            raise GatewayError(
                f"the gateways of {name!r} are a list of addresses, such as"
                f' ["tcp://127.0.0.1:7000"], and not {addresses!r}'
            )
        try:
            gateways[Topic.parse(name)] = tuple(check_contact(str(one)) for one in addresses)
        except (TopicError, AddressError, ValueError) as error:
            raise GatewayError(f"gateways of {name!r}: {error}") from error
    return gateways


def check_contact(text: str) -> str:
    """Return the canonical form of an address behind which may be ``#`` and a public key.

    Raises `AddressError`, and `InvalidKeyError` for the key.
    """
    named, sharp, key = text.partition("#")
    address = check_address(named)
    if not sharp:
        return address
    from camcast.security.keys import PublicKey  # and PyNaCl with it

    return f"{address}#{PublicKey.parse(key)}"


def check_keys(
    gateways: Gateways, *, wanted: bool, pinned: bool = True, noun: str = "gateway"
) -> None:
    """Raise `GatewayError` for an address without a key where keys are `wanted`.

    An address on the loopback needs none if keys can be `pinned` at first sight. An address with a
    key where none is wanted is an error, too. `noun` says what listens at the addresses.
    """
    for text in (text for texts in gateways.values() for text in texts):
        address, sharp, _ = text.partition("#")
        if sharp and not wanted:
            raise GatewayError(
                f"{noun} {text}: a key goes with the profile signed (an identity, a certificate"
                " and a trusted root); leave #KEY out, or give these"
            )
        if wanted and not sharp and not (pinned and is_loopback(address)):
            which = "that is not on this machine" if pinned else "that is dialled over zmq"
            raise GatewayError(
                f"{noun} {address}: in the profile signed a {noun} {which}"
                f" is named with its key, {address}#KEY (camcast keys show FILE, or what camcast"
                " gateway prints)"
            )


def without_keys(gateways: Gateways) -> tuple[Gateways, Mapping[str, str]]:
    """Return the gateways by topic without their keys, and the keys by address.

    Raises `GatewayError` for an address that has two.
    """
    addresses: dict[Topic, tuple[str, ...]] = {}
    keys: dict[str, str] = {}
    for topic, texts in gateways.items():
        listed = []
        for text in texts:
            address, sharp, key = text.partition("#")
            listed.append(address)
            if sharp and keys.setdefault(address, key) != key:
                raise GatewayError(f"gateway {address}: it is given with two different keys")
        addresses[topic] = tuple(listed)
    return addresses, keys
