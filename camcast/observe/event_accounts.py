"""The accounts that a run's nodes give of one event, read from traces for `camcast trace`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from attrs import define, field

from camcast.observe.event_trace import Account, CommunityAccount, Moment
from camcast.observe.trace import TraceRecord
from camcast.observe.trace_reading import Reading, records_of
from camcast.vocabulary.happenings import PROCESS_KINDS

_LIFE: Final = [kind.trace for kind in PROCESS_KINDS.values() if kind.ring and kind.trace]


@define
class _Node:
    """The records of one node in the traces."""

    joined: dict[str, bool] = field(factory=dict)
    """By community, whether the node was a member at the end."""
    known: dict[str, None] = field(factory=dict)
    moments: list[Moment] = field(factory=list)
    life: list[Moment] = field(factory=list)

    def take(self, record: TraceRecord, event: str) -> None:
        """Take a record of this node."""
        if record.kind in _LIFE:
            self.life.append(_moment_of(record))
            if record.kind == "join":
                self.joined[record.community] = True
            elif record.kind == "leave":
                self.joined.pop(record.community, None)
        elif record.event == event:
            self.moments.append(_moment_of(record))
        elif record.kind == "learn":
            self.known[record.peer] = None

    def account(self, node: str) -> Account:
        """Return the account of the node."""
        communities = (CommunityAccount(topic, True, False, 1, {}) for topic in self.joined)
        return Account(
            name=node[:8],
            peer=node,
            communities=tuple(communities),
            known=tuple(self.known),
            moments=tuple(self.moments),
            life=tuple(self.life),
        )


def accounts_of_run(traces: Iterable[Path], event: str) -> list[Account]:
    """Return the account of each node of a run; every node subscribed where it joined.

    A peer that was ever in a node's table counts as known to the node. Raises `ValueError` for a
    trace with a wrong line, and `OSError`.
    """
    nodes: dict[str, _Node] = {}
    for path in sorted(traces):
        for record in records_of(path, Reading()):
            nodes.setdefault(record.node, _Node()).take(record, event)
    return [node.account(name) for name, node in nodes.items()]


def _moment_of(record: TraceRecord) -> Moment:
    return Moment(
        record.when,
        record.kind,
        record.community,
        record.event,
        record.size if record.kind == "missed" else 1,
        record.peer,
        topic=record.topic,
        hops=record.hops,
    )
