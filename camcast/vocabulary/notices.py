"""Notices: changes of a node's state, for logs and for applications that wait for a change.

The engine leaves them in its outbox, since it writes no log. If the driver wants none, a notice
costs a comparison with None. They are rare: none is about a single event.
"""

from __future__ import annotations

from typing import Final, Literal

from attrs import frozen

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GroupId, Topic

NoticeKind = Literal[
    "joined",
    "left",
    "unheard",
    "unanswered",
    "peer_seen",
    "peer_gone",
    "isolated",
    "healed",
    "paused",
    "clock_set",
    "linked",
    "unlinked",
    "searching",
    "gateway_answers",
    "gateway_lost",
    "gateway_back",
    "seek",
    "found",
]
"""`joined`, `left`: this process joined or left the community. `unheard`, before `left`: the last
`count` events that it published were sent to no process. `unanswered`: no discovery could name
members of the community; this process seeks again. `peer_seen`, `peer_gone`: changes of the topic
table. `isolated`: no peer sends anything, until `healed`. `paused`: this process did not run for
`seconds`, until now. `clock_set`: the wall clock was set forward by `seconds`, back if negative.
`linked`: the nearest known super-processes are `count` members of `topic`; `unlinked`: there are
none. `searching`: this process searches for super-processes up to `topic`.
`gateway_answers`: the first answer of a gateway; `gateway_back`: the first after `gateway_lost`.
`seek`: this process seeks members of `topic`; `found`: it found `count` of them."""

NO_GROUP: Final = GroupId(bytes(8))
"""Stands for the group of the parts of a node that serve all groups."""


@frozen
class Notice:
    """Something that happened to a node."""

    kind: NoticeKind
    group: GroupId = NO_GROUP
    """The group that the notice is about, if it is about one."""
    topic: Topic | None = None
    contact: Contact | None = None
    addresses: tuple[str, ...] = ()
    """The gateways that the notice is about."""
    count: int = 0
    seconds: float = 0.0
    silent: bool = False
    """Whether the peer of a `peer_gone` was found dead or cut off, and did not just leave."""
