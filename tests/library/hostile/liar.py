"""A liar: it tells the lies of `tests.library.hostile.lying_fields` over its own link."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Final

from camcast.engine.guard.granted_mandates import said_by
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from camcast.security.mandates import sign_mandate
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.wire import FRAME_BYTES_MAX, FRAME_HEADER, Kind
from tests.admitted_world import ELSEWHERE, THERE, AdmittedWorld, introduction, record
from tests.library.hostile.lying_fields import Lies
from tests.signed_world import SOCCER, certificate

BELOW: Final = ".soccer.x"


class Liar:
    """Lies to all processes of a world but the gateway, as the owner of a key.

    In a signed world it is certified for a topic.
    """

    def __init__(self, world: AdmittedWorld, secret: SecretKey, topic: str) -> None:
        self._world = world
        self._secret = secret
        self._me = secret.public.peer_id
        self._victims = list(world.nodes[1:])
        self._own = certificate(secret, topic, Rights.JOIN | Rights.PUBLISH)
        invented = Contact(PeerId(b"invented-process"), ELSEWHERE)
        known = [node.me for node in self._victims]
        moved = Contact(known[0].peer, ELSEWHERE)
        self.lies = Lies(
            (SOCCER.name, BELOW, "."), (Contact(self._me, THERE), *known[:4], invented, moved)
        )
        self._numbers = count(1)

    def _record(self, kind: Kind, message: Message) -> bytes:
        mandate = b""
        if message.mandate and self._world.signed:
            said, now = said_by(kind, SOCCER.group, message), round(1000 * self._world.now)
            mandate = sign_mandate(said, now, next(self._numbers), self._secret)
        return record(kind, message, self._me, THERE, SOCCER.group, mandate)

    def records(self, cls: type[Message], kind: Kind) -> list[bytes]:
        """Return the records of all lies of a class, in order."""
        return [self._record(kind, lie) for lie in self.lies.of(cls)]

    def tell(self, records: Iterable[bytes]) -> None:
        """Send everybody these records, after an introduction."""
        frames = [FRAME_HEADER]
        if self._world.signed:
            said = introduction(self._secret, THERE, self._own)
            frames[0] += record(Kind.SECURITY, said, self._me)
        for one in records:
            if len(frames[-1]) + len(one) > FRAME_BYTES_MAX:
                frames.append(FRAME_HEADER)
            frames[-1] += one
        for victim in self._victims:
            for each in frames:
                self._world.virtual.inject(victim.me.address, each, self._me)
