"""How a process stands in a community, and the changes of its standing and of its topic table."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import Topic

Standing = Literal["member", "alone", "degraded"]
ChangeKind = Literal["member", "alone", "degraded", "left", "peer_seen", "peer_gone"]


@frozen
class Change:
    """A change in one community, as this process sees it.

    How the process stands: ``member``, with peers in the topic table; ``alone``, without any;
    ``degraded``, when nothing is heard of any peer any more, so that this process may be cut off;
    ``left``. And who is in its topic table: ``peer_seen`` came in, and ``peer_gone`` is in it no
    more. Of those that are gone the `silent` ones were found dead or cut off. Others have left
    the community, or live on outside this table: it holds some members only.
    """

    kind: ChangeKind
    topic: Topic
    peer: Contact | None = None
    """Of `peer_seen` and `peer_gone`."""
    silent: bool = False
