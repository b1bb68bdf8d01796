"""Reads what nodes say to each other in a virtual network, for tests and transcripts.

Names are stable: processes are n1, n2… in the order of their start, searches and seeks s1, s2…
in the order of their first mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from attrs import frozen

from camcast.doors.membership import Membership
from camcast.engine import link_messages, liveness_messages
from camcast.engine.repair import messages as repair_messages
from camcast.engine.repair.asking import ranges_of
from camcast.protocols.tree import Tree
from camcast.testing.world import World, name_of
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, decode_body
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind
from membership.scamp.messages import Arc, Copy
from membership.scamp.scamp import Scamp
from overlays.gateways import GatewayDiscovery

DECODERS: dict[Kind, Any] = {
    Kind.MEMBERSHIP: Scamp.decoder,
    Kind.LINKS: link_messages.DECODER,
    Kind.DISCOVERY: GatewayDiscovery.decoder,
    Kind.LIVENESS: liveness_messages.DECODER,
    Kind.PROTOCOL: Tree.decoder,
    Kind.REPAIR: repair_messages.DECODER,
}


@frozen
class Exchange:
    """One record that one process sent to another."""

    when: float
    source: str
    target: str
    group: GroupId
    sender: str
    """Whose message it is: not the source's if it was passed on for another process."""
    content: Any
    """An `Event` that came alone and unasked, another `Batch`, or a control message."""


class Transcript:
    """Everything said in a network since the transcript was begun."""

    def __init__(
        self, network: World, topics: Iterable[str] = (".",), membership: type[Membership] = Scamp
    ) -> None:
        self.exchanges: list[Exchange] = []
        self._network = network
        self._decoders = {**DECODERS, Kind.MEMBERSHIP: membership.decoder}
        self._topics = {Topic.parse(name).group: name for name in topics}
        self._numbers: dict[object, str] = {}
        network.virtual.on_send = self._take

    def of(self, *kinds: type[Any]) -> list[Exchange]:
        """Return the exchanges whose content is of one of these types."""
        return [e for e in self.exchanges if isinstance(e.content, kinds)]

    def lines(self, *hidden: type[Any]) -> Iterator[str]:
        """Yield the exchanges as readable lines, but for those of the hidden types."""
        for steps in self._walks():
            e, names = steps[0], [name_of(step.target) for step in steps]
            if not isinstance(e.content, hidden):
                more = f" → … {len(names) - 3} more" if len(names) > 3 else ""
                path = " → ".join([name_of(e.source), *names[:3]]) + more
                passed_on = "" if e.sender == e.source else f" for {name_of(e.sender)}"
                where = self._topics.get(e.group, "")  # heartbeats are of no community
                yield f"{e.when:7.2f}  {path + passed_on:<16} {where:<7} {self._show(e.content)}"

    def _walks(self) -> list[list[Exchange]]:
        """Join the steps of each copy of a subscription, which is passed on until it is kept."""
        walks: list[list[Exchange]] = []
        under_way: dict[tuple[object, ...], list[Exchange]] = {}
        for e in self.exchanges:
            walk: list[Exchange] = []
            if isinstance(e.content, Copy):
                walk = under_way.setdefault((e.sender, e.group, e.content.walk), walk)
            if not walk:
                walks.append(walk)
            walk.append(e)
        return walks

    def _take(self, source: str, target: str, record: bytes) -> None:
        group: GroupId
        content: Any
        if record[4] == Kind.EVENT:
            _, address_bytes, group, *_ = wire.EVENT_START.unpack_from(record)
            flags, hops, _ = wire.read_event_head(record, 0)
            start, sender = wire.EVENT_HEAD_BYTES + address_bytes, source
            batch = decode_body(record, start, len(record), hops, head_flags=flags)
            alone = batch.count == 1 and not flags & wire.REPAIRED
            content = next(batch.events()) if alone else batch
        else:
            kind, group, _, sender, _, body = wire.decode_control(record, 0, len(record))
            content = self._decoders[kind].decode(body)
        now = self._network.now
        self.exchanges.append(Exchange(now, source, target, group, sender, content))

    def _show(self, content: Any) -> str:
        if isinstance(content, Batch):
            numbers = f"{content.first}-{content.first + content.count - 1}"
            asked_for = " repaired" if content.head_flags & wire.REPAIRED else ""
            return f"Batch {numbers} {content.topic} hops={content.hops}{asked_for}"
        if isinstance(content, Event):
            text = content.payload.decode()
            return f'Event {content.id.sequence} {content.topic} "{text}" hops={content.hops}'
        fields = msgspec.structs.asdict(content)
        for random_name in ("walk", "nonce", "number", "via"):
            fields.pop(random_name, None)
        if isinstance(content, Arc):
            fields.pop("sponsored")
        if isinstance(content, repair_messages.Have | repair_messages.Want):
            fields = {"streams": fields["streams"]}
        if isinstance(content, Arc | liveness_messages.Heartbeat | liveness_messages.Answer):
            fields = {key: value for key, value in fields.items() if value}
        shown = (
            key if value is True and isinstance(content, Arc) else f"{key}={shown_value}"
            for key, value in fields.items()
            for shown_value in [self._show_value(key, value)]
        )
        return f"{type(content).__name__}({', '.join(shown)})".replace("piggybacked=", "")

    def _show_value(self, key: str, value: Any) -> str:
        match value:
            case Contact():
                return name_of(value.address)
            case (int(kind), bytes(group), bytes(body)):  # a piggybacked message of a heartbeat
                message = self._show(self._decoders[Kind(kind)].decode(body)) if body else "-"
                return f"{self._topics[GroupId(group)]}: {message}"
            case (bytes(), int(offered), int(), tuple(bounds)):  # a stream in a `Have`
                known = " ".join(f"{start}-{stop - 1}" for start, stop in ranges_of(bounds))
                return f"{known}, offered from {offered}"
            case (bytes(), tuple(numbers)):  # a stream in a `Want`
                pairs = zip(numbers[::2], numbers[1::2], strict=True)
                return " ".join(f"{start}-{stop - 1}" for start, stop in pairs)
            case (bytes(), *_) if key == "children":
                return f"[{', '.join(self._show_value('peer', peer) for peer in value)}]"
            case bytes() if key == "stream":
                return self._show_value("peer", value[:PEER_ID_BYTES])
            case tuple() if key == "piggybacked":
                return "; ".join(self._show_value("", piece) for piece in value)
            case (int(), bytes(group)):  # a group that the sender is not in
                return self._topics[GroupId(group)]
            case tuple():
                return "[" + " ".join(self._show_value(key, item) for item in value) + "]"
            case bytes() if key == "sample":
                return f"<{len(value) // 10} numbers>"
            case bytes() if key == "peer":
                contacts = [node.me for node in self._network.nodes]
                return name_of(next(me.address for me in contacts if me.peer == value))
            case _ if key in ("search", "seek"):
                return self._numbers.setdefault(value, f"s{len(self._numbers) + 1}")
            case float():
                return f"{value:.2f}"
        return str(value)
