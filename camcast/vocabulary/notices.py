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
    "linked",
    "unlinked",
    "searching",
    "gateway_answers",
    "gateway_lost",
    "gateway_back",
    "seek",
    "found",
]
"""`joined` and `left` are this process's; `unheard`, before `left`: the last `count` events that it
published went to nobody; `unanswered`: nobody could tell who is in the community,
which is asked for again. `peer_seen` and `peer_gone` are changes of the topic table. `isolated`:
nothing is heard of any peer, until `healed`. `paused`: the process itself did not run for so many
`seconds`, until now. `linked`: the nearest super-processes known are now
`count` of `topic`; `unlinked`: there are none. `searching`: super-processes are looked for up to
`topic`. `gateway_answers` is the first answer of one, `gateway_back` the first after it was lost.
`seek`: members of `topic` are looked for, of whom `count` were `found`."""

NO_GROUP: Final = GroupId(bytes(8))
"""Stands for the group of the parts of a node that serve all groups."""


@frozen
class Notice:
    """Something that happened to a node."""

    kind: NoticeKind
    group: GroupId = NO_GROUP
    """The group of this process that it is about, if it is about one."""
    topic: Topic | None = None
    contact: Contact | None = None
    addresses: tuple[str, ...] = ()
    """The gateways that it is about."""
    count: int = 0
    seconds: float = 0.0
    silent: bool = False
    """Whether the peer of a `peer_gone` was found dead or cut off, and did not just leave."""
