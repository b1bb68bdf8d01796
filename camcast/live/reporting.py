"""The reporter: it turns a node's notices into lines of the log and changes for the application.

The level INFO is for the person who operates the process: it joined, is alone, is isolated or
healed, has links or none, a gateway is lost or back. DEBUG adds the tables and the searches. Every
record of the log has the notice's fields in its attribute ``camcast``, for programs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.observe.recent import Recent
from camcast.vocabulary.notices import Notice, NoticeKind
from camcast.vocabulary.standing import Change, Standing
from camcast.vocabulary.topics import GroupId

_log = logging.getLogger(__name__)

_EXPLAIN: Final = ("isolated", "healed", "paused", "linked", "unlinked")
_SAYS: Final[Mapping[NoticeKind, tuple[int, str]]] = {
    "joined": (logging.INFO, "joined {topic}"),
    "left": (logging.INFO, "left {topic}"),
    "unheard": (
        logging.INFO,
        "leaves {topic} with {notice.count} events that it published last and could give to nobody:"
        " no other member and no super-process is known to live",
    ),
    "unanswered": (
        logging.INFO,
        "{topic} cannot be joined yet: {gateways} could not tell who is there",
    ),
    "peer_seen": (logging.DEBUG, "{notice.contact} came into the table of {topic}"),
    "peer_gone": (logging.DEBUG, "{notice.contact} left the table of {topic}{silent}"),
    "isolated": (logging.INFO, "isolated: nothing is heard of any of {notice.count} peers"),
    "healed": (logging.INFO, "healed: heard again: of {notice.count} peers"),
    "paused": (logging.INFO, "this process did not run for {notice.seconds:.1f} s"),
    "clock_set": (
        logging.WARNING,
        "the clock of this machine was set from {fields[from]} to {fields[to]}, by"
        " {notice.seconds:+.1f} s: {me} goes by the new time from now on",
    ),
    "linked": (logging.DEBUG, "{topic} is linked to {notice.count} processes of {notice.topic}"),
    "unlinked": (
        logging.INFO,
        "{topic} has no link to {notice.topic} any more: its events do not climb",
    ),
    "searching": (logging.DEBUG, "{topic} looks for super-processes up to {notice.topic}"),
    "gateway_answers": (logging.DEBUG, "the gateway {gateways} answers"),
    "gateway_lost": (logging.INFO, "the gateway {gateways} does not answer"),
    "gateway_back": (logging.INFO, "the gateway {gateways} answers again"),
    "seek": (logging.DEBUG, "looks for members of {notice.topic}"),
    "found": (logging.DEBUG, "found {notice.count} members of {notice.topic}"),
}
"""The level and the text of each kind; `topic` is that of the notice's group."""
_STANDINGS: dict[Standing, str] = {
    "member": "a member of {topic}, with {count} peers in its table",
    "alone": "alone in {topic}: no other member is known",
    "degraded": "cut off in {topic}: nothing is heard of its {count} peers",
}


class Reporter:
    """Takes the notices of one node.

    `on_change` gets the changes of its groups; `recent` gets what may later explain why an event
    did not arrive.
    """

    def __init__(
        self, node: Node, on_change: Callable[[GroupId, Change], None], recent: Recent | None
    ) -> None:
        self._node = node
        self._recent = recent
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self.standings: dict[GroupId, Standing] = {}
        """How the process stands in the groups that it is a member of."""
        self._linked: dict[tuple[GroupId, str], None] = {}
        """The super-topic tables that have entries, by their topics."""

    def take(self, notices: Iterable[Notice]) -> None:
        """Log what has happened, and tell of what has changed."""
        for notice in notices:
            self._take(notice)

    def _take(self, notice: Notice) -> None:
        local_group = self._node.find(notice.group)
        topic = "" if local_group is None else local_group.topic.name
        if self._recent is not None and notice.kind in _EXPLAIN:
            of = "" if notice.topic is None else notice.topic.name
            now = self._loop.time()
            self._recent.note_life(now, notice.kind, topic, of, notice.seconds)
        self._say(notice, topic)
        match notice.kind:
            case "joined":
                assert local_group is not None
                self._renew_standing(local_group)
            case "left":
                self.standings.pop(notice.group, None)
                self._change("left", local_group)
            case "peer_seen" | "peer_gone":
                self._change(notice.kind, local_group, notice)
                if local_group is not None:
                    self._renew_standing(local_group)
            case "isolated" | "healed":
                for one in self._node.local_groups:
                    self._renew_standing(one)

    def _renew_standing(self, local_group: LocalGroup) -> None:
        """Tell how this process stands in a group, if that has changed."""
        if not local_group.joined:
            return
        group, count = local_group.topic.group, len(local_group.membership.peers())
        standing: Standing = "member" if count else "alone"
        if count and self._node.liveness.isolated:
            standing = "degraded"
        if self.standings.get(group) != standing:
            self.standings[group] = standing
            topic = local_group.topic.name
            text = _STANDINGS[standing].format(topic=topic, count=count)
            _log.info("%s", text, extra={"camcast": {"event": standing, "topic": topic}})
            self._change(standing, local_group)

    def _change(
        self, kind: Any, local_group: LocalGroup | None, notice: Notice | None = None
    ) -> None:
        if local_group is not None:
            contact = None if notice is None else notice.contact
            silent = notice is not None and notice.silent
            change = Change(kind, local_group.topic, contact, silent)
            self._on_change(local_group.topic.group, change)

    def _say(self, notice: Notice, topic: str) -> None:
        level, text = _SAYS[notice.kind]
        link = notice.group, topic
        if notice.kind == "unlinked":
            self._linked.pop(link, None)
        elif notice.kind == "linked" and link not in self._linked:
            level = logging.INFO  # the table was empty
            self._linked[link] = None
        if not _log.isEnabledFor(level):
            return
        fields: dict[str, object] = {"event": notice.kind}
        if topic:
            fields["topic"] = topic
        if notice.topic is not None:
            fields["of"] = notice.topic.name
        if notice.contact is not None:
            fields |= {"peer": notice.contact.peer.hex(), "address": notice.contact.address}
        if notice.addresses:
            fields["gateways"] = notice.addresses
        if notice.kind in ("linked", "found", "isolated", "healed", "unheard"):
            fields["count"] = notice.count
        if notice.seconds:
            fields["seconds"] = notice.seconds
        if notice.kind == "clock_set":
            after = self._node.clock.wall(self._loop.time())
            fields |= {"from": _utc(after - notice.seconds), "to": _utc(after)}
        if notice.kind == "peer_gone":
            fields["silent"] = notice.silent
        gateways, silent = ", ".join(notice.addresses), ", silent" if notice.silent else ""
        line = text.format(
            topic=topic,
            notice=notice,
            gateways=gateways,
            silent=silent,
            me=self._node.me,
            fields=fields,
        )
        _log.log(level, "%s", line, extra={"camcast": fields})


def _utc(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
