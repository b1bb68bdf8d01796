"""The attacks by messages of docs/security.md, each in three profiles, over its sender's link.

The attacker is a member where a member can do no more than whoever reaches a process of `open`, and
where there are keys, a stranger as well; in `signed` he is a stranger, or a member of another
topic. His link is the real one: its handshake decides whether anything of his arrives. The members
are real nodes on virtual time. Whatever he says, what holds of all attacks (`unharmed`) holds.

Attacks on sockets are in tests/library/hostile/test_sockets.py and test_strangers.py, those on the
overlay in test_signed_dht.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import Final

import pytest
from attrs import define, field

from camcast.doors.profile import OPEN, SHARED_KEY, SIGNED, Profile
from camcast.engine import known_streams
from camcast.engine import link_messages as links
from camcast.engine import liveness_messages as liveness
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.live.profiles.shared_key import SharedKey
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.wire.zmtp.codec import Decoder, Mechanism, StrangerError, handshake, record_in
from camcast.live.wire.zmtp.curve import CurveClient, CurveKeys, CurveServer
from camcast.research.systems.hpmcast import view_messages as hpmcast
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.vocabulary import wire
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.size_estimate import BELIEVED_TIMES, SAMPLE
from camcast.vocabulary.topics import ROOT as TOP
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_BYTES_MAX, FRAME_HEADER, Kind
from membership.scamp import messages as scamp
from tests.admitted_world import ELSEWHERE, NOBODY, THERE, AdmittedWorld, record
from tests.authority import ADA, EVE, MEMBER, ROOT, grant
from tests.event_frames import frame_of
from tests.library.hostile.mutator import records_of
from tests.signed_world import SOCCER, certificate, key

FAR: Final = 2**32 - 1
SETTLING_SECONDS: Final = 40.0  # who has listened for half a minute is no newcomer to sizes
SOON_SECONDS: Final = 1.0  # chosen: a doubt takes 0.4 s; what is forgotten then may come back later
AFTER_SECONDS: Final = (
    12.0  # chosen: whoever is asked has failed to answer, and periods have passed
)
DRAWN_TIMES_MAX: Final = 16  # as tests/library/hostile/test_turns.py allows for a MiB
STREAMS: Final = 256  # in place of STREAMS_MAX, which it takes 65,536 publishers to fill
ASKED_MAX: Final = 8  # chosen: a third party is asked four times, by each of two members


@define
class Scene:
    """A member of .soccer who is attacked, Ada and Bob beside it, and one of the topic above."""

    world: AdmittedWorld
    victim: Node
    ada: Node
    above: Node
    seen: list[bytes] = field(factory=list)
    """Frames with the genuine events that the victim has received."""
    sent: dict[str, int] = field(factory=dict)
    """Bytes that were sent to each address since the attack began."""

    @classmethod
    def of(cls, profile: str, membership: str) -> Scene:
        world = AdmittedWorld(signed=profile == SIGNED, membership=membership)
        above = world.member(key(3), TOP, own=certificate(key(3), "."))
        victim, ada = world.member(key(1), SOCCER), world.member(ADA, SOCCER)
        world.member(key(2), SOCCER)
        world.run(SETTLING_SECONDS)
        scene = cls(world, victim, ada, above)
        receive = victim.receive

        def capture(frame: bytes, now: float, link: PeerId | None = None) -> None:
            records = records_of(frame[len(FRAME_HEADER) :])
            scene.seen += [FRAME_HEADER + one for one in records if one[4] == Kind.EVENT]
            receive(frame, now, link)

        victim.receive = capture  # type: ignore[method-assign]  # to see what arrives
        world.publish(ada, SOCCER, b"before")
        victim.receive = receive  # type: ignore[method-assign]  # no more
        assert scene.got(b"before") == 1
        assert scene.seen
        world.virtual.on_send = scene._take
        return scene

    def _take(self, _source: str, target: str, record: bytes) -> None:
        self.sent[target] = self.sent.get(target, 0) + len(record)

    def got(self, payload: bytes) -> int:
        return self.world.got(payload).count(self.victim)

    def _local_group(self) -> LocalGroup:
        (found,) = self.victim.local_groups
        return found

    def keeps_its_tables(self) -> None:
        """Assert that the victim goes on knowing the others, at their own addresses."""
        local_group = self._local_group()
        known = local_group.membership.neighbours()
        assert [one for one in known if one.peer == self.ada.me.peer] == [self.ada.me]
        assert self.victim.liveness.contact(self.ada.me.peer) in (self.ada.me, None)
        assert self.above.me in local_group.links[0].nearest()[1]

    def unharmed(self, sent_max: int) -> None:
        """Assert what no attack may change, and that so many bytes were sent at the most."""
        self.keeps_its_tables()
        doubled = 2 ** (self.world.now / 3600)  # "doubles in an hour if somebody goes on"
        assert self._local_group().membership.size() <= BELIEVED_TIMES * 3 * doubled
        assert self.sent.get(ELSEWHERE, 0) <= ASKED_MAX * 100
        assert sum(self.sent.values()) <= sent_max
        self.world.publish(self.ada, SOCCER, b"after")
        assert (self.got(b"before"), self.got(b"after")) == (1, 1)


# -- the links of an attacker


def in_the_group(_scene: Scene) -> Profile:
    return SharedKey(SecretKey(b"p" * 32))


def beside_the_group(_scene: Scene) -> Profile:
    return SharedKey(SecretKey(b"q" * 32))


def with_identity(secret: SecretKey, certified: bytes) -> Callable[[Scene], Profile]:
    def make(scene: Scene) -> Profile:
        signatures = EventSignatures(secret, [ROOT.public, secret.public])
        signatures.renew([[certified]], 1.0)
        made = SignedLinks.of(signatures, {}, Clock(), lambda: scene.world.now)
        made.known.reached_at(THERE)
        return made

    return make


ATTACKERS: Final[dict[tuple[str, str], Callable[[Scene], Profile] | None]] = {
    (OPEN, "anybody"): None,
    (SHARED_KEY, "a member"): in_the_group,
    (SHARED_KEY, "a stranger"): beside_the_group,
    (SIGNED, "a stranger"): with_identity(NOBODY, grant(NOBODY, NOBODY, ".", MEMBER, 0, FAR)),
    (SIGNED, "a member of another topic"): with_identity(EVE, certificate(EVE, ".chess")),
}
KEPT_OUT: Final = frozenset(one for one in ATTACKERS if one[1] == "a stranger")


def profile_of(scene: Scene, name: str) -> Profile | None:
    """Return the profile of the victim's links."""
    if name == SIGNED:
        known = scene.world.known[scene.victim]
        return SignedLinks(known._signatures, known, {}, Clock(), lambda: scene.world.now)
    return in_the_group(scene) if name == SHARED_KEY else None


def connect(scene: Scene, victim: Profile, attacker: Profile) -> tuple[Mechanism, Decoder]:
    """Shake hands; return the attacker's side, and what reads at the victim's."""

    def admits(key: bytes, metadata: bytes) -> bool:
        return victim.admits(key, record_in(metadata))

    server = CurveServer(CurveKeys(victim.link_secret), admits, os.urandom)
    client = CurveClient(CurveKeys(attacker.link_secret), victim.link_public, os.urandom)
    reads, hears = Decoder(b"PUSH", FRAME_BYTES_MAX, server), Decoder(b"PULL", 0, client)
    says = handshake(b"PUSH", UNKNOWN_PEER, client, attacker.shown)
    answers = handshake(b"PULL", UNKNOWN_PEER, server)
    while reads.metadata is None:
        answers += b"".join(body for _, body in reads.feed(memoryview(says)))
        says = b"".join(body for _, body in hears.feed(memoryview(answers)))
        answers = b""
    return client, reads


def attack(scene: Scene, who: tuple[str, str], frames: Iterable[bytes], me: PeerId) -> int:
    """Send frames over the attacker's link; return their bytes. Who is kept out sends nothing."""
    profile, make = profile_of(scene, who[0]), ATTACKERS[who]
    link = me if who[0] == SIGNED else None
    size, client, reads = 0, None, None
    if profile is not None:
        assert make is not None
        if who in KEPT_OUT:
            with pytest.raises(StrangerError):
                connect(scene, profile, make(scene))
            return 0
        client, reads = connect(scene, profile, make(scene))
    address = scene.victim.me.address
    for frame in frames:
        size += len(frame)
        if client is None or reads is None:
            scene.world.inject(address, frame, link)
            continue
        for name, body in reads.feed(memoryview(client.message(frame))):
            assert name == b""
            scene.world.inject(address, bytes(body), link)
    return size


def arrived(victim: Node) -> int:
    """Return how many records have come to a node."""
    counters = victim.counters
    return counters.controls + counters.events + counters.unverified


# -- the attacks


Frames = Callable[[Scene, PeerId], Iterable[bytes]]


def joined(records: Iterable[bytes], size: int = FRAME_BYTES_MAX) -> Iterable[bytes]:
    """Join records into frames as large as they may be."""
    frame = FRAME_HEADER
    for each in records:
        if len(frame) + len(each) > size:
            yield frame
            frame = FRAME_HEADER
        frame += each
    yield frame


def said(kind: Kind, message: Message, by: Contact, group: Topic = SOCCER) -> bytes:
    return record(kind, message, by.peer, by.address, group.group)


def invented(number: int) -> Contact:
    rng = Random(number)
    return Contact(
        PeerId(rng.randbytes(16)), f"tcp://127.{number // 250 % 250 + 1}.9.{number % 250}:9"
    )


def in_invented_names(*messages: Message) -> Frames:
    """One frame, as large as it may be, of these in the names of different processes."""

    def frames(_scene: Scene, _me: PeerId) -> Iterable[bytes]:
        records: list[bytes] = []
        while sum(map(len, records[:1])) * (1 + len(records)) < FRAME_BYTES_MAX - len(FRAME_HEADER):
            number = len(records)
            message = messages[number % len(messages)]
            records.append(said(Kind.MEMBERSHIP, message, invented(number)))
        return joined(records)

    return frames


def one_by_one(*of: Callable[[Scene, Contact], bytes]) -> Frames:
    """Each of these records in a frame of its own; they know the attacker's contact."""
    return lambda scene, me: [FRAME_HEADER + each(scene, Contact(me, THERE)) for each in of]


def forged_events(scene: Scene, me: PeerId) -> Iterable[bytes]:
    """Events in Ada's name, of a later stream, and far ahead in the one that she has."""
    start = len(FRAME_HEADER) + wire.EVENT_HEAD_BYTES
    stream = StreamId(scene.seen[0][start : start + 24])
    later = stream_id(scene.ada.me.peer, int.from_bytes(stream[16:]) + 1)
    for of, first in ((later, 1), (stream, 10**6), (later, 2**32 - 2)):
        batch = make_batch(of, first, [b"forged"], SOCCER, published=round(1000 * scene.world.now))
        yield frame_of(batch, SOCCER.group, me)


def invented_publishers(scene: Scene, me: PeerId) -> Iterable[bytes]:
    """Streams of more publishers than are known at a time, then all that was seen of Ada's."""
    now = round(1000 * scene.world.now)
    batches = (
        make_batch(stream_id(invented(number).peer, 1), 1, [b""], SOCCER, published=now)
        for number in range(2 * STREAMS)
    )
    yield from joined(frame_of(one, SOCCER.group, me)[len(FRAME_HEADER) :] for one in batches)
    yield from scene.seen


def a_crowd(scene: Scene, me: Contact) -> bytes:
    """A sample of as many as can be, along with what says that the attacker is a holder."""
    sample = b"".join(number.to_bytes(8) + bytes(2) for number in range(1, SAMPLE + 1))
    return said(Kind.MEMBERSHIP, scamp.Arc(0.5, 0.5, 0, False, False, False, sample, False), me)


def in_adas_name(kind: Kind, message: Message) -> Callable[[Scene, Contact], bytes]:
    return lambda scene, _me: said(kind, message, scene.ada.me)


def ada_elsewhere(kind: Kind, message: Message) -> Callable[[Scene, Contact], bytes]:
    return lambda scene, _me: said(kind, message, Contact(scene.ada.me.peer, ELSEWHERE))


def of_a_third(kind: Kind, message: Message) -> Callable[[Scene, Contact], bytes]:
    return lambda _scene, me: said(kind, message, Contact(me.peer, ELSEWHERE))


def adas_line(stamp: int) -> Callable[[Scene, Contact], bytes]:
    return lambda scene, me: said(
        Kind.MEMBERSHIP,
        hpmcast.Update((hpmcast.LineNews(1, scene.ada.me.peer, stamp, (), 0, ""),)),
        me,
    )


LISTED: Final[dict[str, dict[str, Frames]]] = {
    "one frame that makes copies or minutes of CPU": {
        "joins": in_invented_names(scamp.Subscribe(0, 7), scamp.Subscribe(-1, 8)),
        "renewals": in_invented_names(scamp.Renew(200, 7)),
        "hpmcast: questions": in_invented_names(hpmcast.Gossip(())),
    },
    "a forged event that silences a publisher": {"later and far ahead": forged_events},
    "sizes": {"a crowd": one_by_one(*[a_crowd] * 20)},
    "a stamp that buries a member": {
        "hpmcast: far ahead": one_by_one(adas_line(2**62), adas_line(2**40)),
    },
    "goodbyes, addresses, super-links": {
        "goodbyes": one_by_one(
            in_adas_name(Kind.MEMBERSHIP, scamp.Drop(True)),
            in_adas_name(Kind.LIVENESS, liveness.Answer((), ((1, SOCCER.group),))),
            lambda scene, me: said(Kind.MEMBERSHIP, scamp.Replace(me), scene.ada.me),
        ),
        "addresses": one_by_one(
            ada_elsewhere(Kind.MEMBERSHIP, scamp.Probe(b"", True)),
            ada_elsewhere(Kind.LIVENESS, liveness.Heartbeat((), (), 0)),
            ada_elsewhere(Kind.MEMBERSHIP, scamp.Subscribe(0, 9)),
        ),
        "super-links": one_by_one(
            lambda _scene, me: said(Kind.LINKS, links.SuperProcesses(".", (me,), pushed=True), me),
            lambda scene, _me: said(Kind.LINKS, links.Gone("."), scene.above.me),
        ),
    },
    "windows evicted, then replay": {"invented publishers": invented_publishers},
    "third parties dialled": {
        "asking": one_by_one(
            *(
                of_a_third(Kind.MEMBERSHIP, one)
                for one in (scamp.Subscribe(0, 3), scamp.Renew(9, 4))
            ),
            *(
                of_a_third(Kind.LINKS, one)
                for one in (links.NewProcess(SOCCER.name, 9), links.Ping(SOCCER.name))
            ),
        ),
    },
}
"""By the words of docs/security.md's table; those with `hpmcast` are for that membership."""


@cache
def idle_bytes(profile: str, membership: str) -> int:
    """Return what the processes of a scene send while nobody attacks."""
    scene = Scene.of(profile, membership)
    scene.world.run(AFTER_SECONDS)
    return sum(scene.sent.values())


CASES: Final = [
    pytest.param(who, attacks, id=f"{who[0]}, {who[1]}: {name}")
    for who in ATTACKERS
    for name, attacks in LISTED.items()
]


@pytest.mark.parametrize(("who", "attacks"), CASES)
def test_an_attack_of_the_list_does_no_harm(
    who: tuple[str, str], attacks: dict[str, Frames], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_streams, "STREAMS_MAX", STREAMS)
    monkeypatch.setattr(known_streams, "SHARE", STREAMS // 4)
    for name, frames in attacks.items():
        membership = "hpmcast" if name.startswith("hpmcast") else "scamp"
        scene = Scene.of(who[0], membership)
        me = (NOBODY if who[1] == "a stranger" else EVE).public.peer_id
        before = arrived(scene.victim)
        size = attack(scene, who, frames(scene, me), me)
        assert (arrived(scene.victim) > before) is (who not in KEPT_OUT), name
        scene.world.run(SOON_SECONDS)
        scene.keeps_its_tables()
        scene.world.run(AFTER_SECONDS)
        scene.unharmed(DRAWN_TIMES_MAX * size + 2 * idle_bytes(who[0], membership))
