"""The `Have`s of one community: what this process knows of streams is told, in pages.

A `Have` of many streams has as many pages of `PAGE_BYTES` as there is room for. Beyond the news of
each second a process says `HAVE_BYTES_MAX` at once and `HAVE_BYTES_A_SECOND` on the whole: where
hundreds of streams begin in each second, all that is known would else be told without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, inf
from typing import Final

from attrs import define

from camcast.engine.repair.changes import REMEMBERED_SECONDS
from camcast.engine.repair.messages import UNKNOWN, Have, Held, Nonces
from camcast.engine.repair.shared import Shared
from camcast.vocabulary.batches import NOT_UPWARD
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic

PAGE_BYTES: Final = 30_000  # [PROTOCOLS 8] 32 KiB a page, with what a frame needs besides
HAVE_BYTES_MAX: Final = 240_000  # chosen: at once 6,000 streams, the newest; then the others
HAVE_BYTES_A_SECOND: Final = 28_000  # [issue 14] at most 32 kB a second and node, in two minutes
HELD_BYTES: Final = 36  # chosen: a stream without holes takes 33 to 38 bytes of MessagePack
RANGE_BYTES: Final = 10  # two numbers of at most five bytes


@define
class Unheard:
    """A page that a super-process was told, and has not said to have heard."""

    peer: PeerId
    when: float
    since: float
    """What was published after this time matters, whoever was a member then (`Have.history`)."""
    streams: list[StreamId]


class Haves:
    """Tells others what this process knows."""

    def __init__(self, shared: Shared, nonces: Nonces) -> None:
        self.sent = 0
        """The pages of `Have`s to other processes."""
        self._shared = shared
        self._nonces = nonces
        self._bytes = 0.0  # said of late in `Have`s: `HAVE_BYTES_A_SECOND` of it are forgotten
        self._at = 0.0  # when `_bytes` was computed last
        self._pages_told = 0

    def held(
        self, streams: Iterable[StreamId], after: float, now: float, *, upward: bool = False
    ) -> Iterator[Held]:
        """Yield what is known of streams, and from which on the events after a time are kept."""
        for stream in streams:
            known = self._shared.streams.known.get(stream)
            if known is None:
                continue
            lowest = self._shared.store.lowest(stream, after)
            if upward:  # of what is too old as well, or it would be asked for again and again
                kept = lowest or self._shared.store.lowest(stream)
                if kept is None or kept.flags & NOT_UPWARD:
                    continue
            offered = 0 if lowest is None else lowest.first
            begun = UNKNOWN if known.begun == -inf else ceil(10 * (now - known.begun))
            yield stream, offered, begun, known.told()

    def send(
        self,
        contact: Contact,
        held: Iterable[Held],
        now: float,
        *,
        above: Topic | None = None,
        reply: bool = False,
        history: float = 0.0,
        unheard: dict[int, Unheard] | None = None,
    ) -> None:
        """Send a `Have` in pages, to a member of the super-community `above` or of this one.

        Without streams nothing is sent, unless it asks for something. Of many streams those come
        first that fit, and one page in any case. Each page asks for a `Heard` if it is to be noted
        as `unheard`.
        """
        nonce, member = self._nonces.issue(contact, now), self._shared.seconds_a_member(now)
        kept = min(member, self._shared.retention, self._shared.store.retention_reached(now))
        below = "" if above is None else self._shared.context.group.name
        group = None if above is None else above.group
        ask = reply or (history > 0 and above is None)
        for page, size in _pages(held, self.room(now), ask=ask):
            self._bytes += size
            self.sent += 1
            number = int(reply)
            if unheard is not None:
                self._pages_told = number = self._pages_told + 1
                streams = [StreamId(held[0]) for held in page]
                unheard[number] = Unheard(contact.peer, now, now - history, streams)
            message = Have(nonce, member, kept, below, number, history, page)
            self._shared.outlet.send([contact], message, group=group)
            reply = False

    def send_full(self, contact: Contact, now: float, *, reply: bool) -> bool:
        """Tell a neighbour all that is remembered, is younger than its membership, and may be new.

        Nothing is sent, and False returned, if the news have said too much of late.
        """
        neighbour = self._shared.neighbour(contact.peer)
        if self.room(now) <= 0:
            return False
        agreement = neighbour.agreement
        after = max(neighbour.member_since, now - REMEMBERED_SECONDS)
        streams = self._shared.heard_after(max(after, agreement.news_since()))
        agreement.told_at = now
        self.send(contact, self.held(streams, after, now), now, reply=reply)
        return True

    def room(self, now: float) -> float:
        """Return how many bytes of `Have` may be said now; the news are said beyond them."""
        said = self._bytes - HAVE_BYTES_A_SECOND * (now - self._at)
        self._bytes, self._at = max(0.0, said), now
        return HAVE_BYTES_MAX - self._bytes


def _pages(
    held: Iterable[Held], room: float, *, ask: bool
) -> Iterator[tuple[tuple[Held, ...], int]]:
    """Cut what is held into pages, of so many bytes each, as long as there is `room`.

    There is one page at least, an empty one if there is nothing to tell but to `ask`.
    """
    page: list[Held] = []
    size = said = 0
    for one in held:
        size += HELD_BYTES + RANGE_BYTES * (len(one[3]) // 2)
        page.append(one)
        if size >= PAGE_BYTES:
            yield tuple(page), size
            page, size, said = [], 0, said + size
            if said >= room:
                return
    if page or (ask and not said):
        yield tuple(page), size
