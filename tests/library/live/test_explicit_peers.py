"""Explicit peers between real processes: no gateway names them to each other, in each profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from camcast import CommunityManager
from camcast.live.gateway_file import GatewayError
from camcast.vocabulary.addresses import AddressError
from tests.authority import ADA, CLUB, ROOT
from tests.library.live.communities import Inbox
from tests.library.live.identities import enrol, known_as
from tests.patience import eventually, live

PASSPHRASE = "correct horse battery staple"
AT = "tcp://192.0.2.7:7000"
KEY = ADA.public.text


@pytest.mark.parametrize("profile", ["open", "shared-key", "signed"])
def test_events_travel_both_ways_between_a_process_and_its_explicit_peer(
    profile: str, tmp_path: Path
) -> None:
    """The listed process does not list the other one; both have founded the community."""
    enrol(tmp_path, "root", ROOT)
    given: dict[str, dict[str, Any]] = {"ada": {}, "club": {}}
    for name, secret in (("ada", ADA), ("club", CLUB)):
        enrol(tmp_path, name, secret, ".soccer")
        if profile == "shared-key":
            given[name] = {"passphrase": PASSPHRASE}
        elif profile == "signed":
            given[name] = known_as(tmp_path, name)

    async def test() -> None:
        async with CommunityManager(**given["ada"]) as ada:
            first = await ada.join(".soccer")
            listed = ada.address + (f"#{KEY}" if profile == "signed" else "")
            async with CommunityManager(peers=[listed], **given["club"]) as club:
                second = await club.join(".soccer")
                inboxes = [Inbox(), Inbox()]
                for community, inbox in zip((first, second), inboxes, strict=True):
                    community.subscribe(inbox)
                await eventually(lambda: first.peers and second.peers)
                await first.publish(b"from the listed")
                await second.publish(b"from the other")
                for inbox in inboxes:
                    await eventually(lambda inbox=inbox: len(inbox.payloads) == 2)

    live(test)()


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"peers": AT}, TypeError, "peers is a list of texts"),
        ({"peers": ["192.0.2.7"]}, AddressError, "write tcp://"),
        ({"peers": ["tcp://host.example:7000"]}, AddressError, "by a numeric address"),
        ({"peers": [f"{AT}#{KEY}"]}, GatewayError, "peer .*: a key goes with the profile signed"),
    ],
)
def test_a_wrong_peer_is_named(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        CommunityManager(**given)


def test_in_signed_a_peer_off_the_loopback_is_named_with_its_key(tmp_path: Path) -> None:
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "ada", ADA, ".soccer")
    with pytest.raises(GatewayError, match=r"peer .*: in the profile signed a peer that is not on"):
        CommunityManager(peers=[AT], **known_as(tmp_path, "ada"))
