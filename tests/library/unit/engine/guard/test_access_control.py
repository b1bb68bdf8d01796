"""Every command and input of a node is judged and vouched for at its own time, no earlier one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from random import Random
from typing import Any, Final, cast

import pytest

from camcast.doors.plugs import find_backend, find_discovery, find_protocol
from camcast.engine.link_messages import Ping
from camcast.engine.node import Node
from camcast.engine.open_guard import Guard
from camcast.engine.settings import Parts, Settings
from camcast.engine.store import Store
from camcast.testing.lone_process import contact
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.messages import Arrival, Message, encode
from camcast.vocabulary.outbox import Finding, Token
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.refusal import TAKEN
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, control_head, encode_control
from membership.scamp.messages import Welcome

A, AB = Topic.parse(".a"), Topic.parse(".a.b")
ME, ADA = contact(1), contact(2)
WALL: Final = 1_000.0  # when the time of inputs is 0
THEN: Final = 7_200.0  # two hours after the process has joined, as after a laptop's sleep


class Admission:
    """Everybody may do everything. Notes the times, in seconds since 1970, that it is asked for."""

    key = bytes(32)

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []

    def __getattr__(self, name: str) -> Callable[..., object]:
        answers: dict[str, object] = {
            "own": Introduction(b"record", ()),
            "introduction": None,
            "numbered": None,
            "take": TAKEN,
            "mandate_refusal": TAKEN,
            "sign_mandate": bytes(80),
            "key_text": "",
            "moved": None,
        }

        def verb(*arguments: object, **_: object) -> object:
            self.asked += [(name, one) for one in arguments if isinstance(one, float)]
            return answers.get(name, True)

        return verb


def member() -> tuple[Node, Admission]:
    """Return a node that has been a member of `.a` with a neighbour since the time 0."""
    admission = Admission()
    settings = Settings(
        backend=find_backend("scamp"),
        discovery=find_discovery("gateways"),
        protocol=find_protocol("camcast"),
        gateways={Topic.parse("."): ("tcp://10.0.0.9:7000",)},
    )
    parts = Parts(store=Store(), admission=cast(Any, admission))
    node = Node(ME, settings, Random(1), Clock(0.0, WALL), parts=parts)
    node.join(A, 0.0)
    node.contacts_found(Finding(A, (ADA,)), 0.0)
    node.receive(said(Kind.MEMBERSHIP, A, Welcome(b"")), 0.0, ADA.peer)
    node.outbox.sends.clear()
    admission.asked.clear()
    return node, admission


def said(kind: Kind, topic: Topic, message: Message) -> bytes:
    """Return the frame in which Ada sends a message."""
    head = control_head(kind, topic.group, ADA.peer, ADA.address, bytes(80))
    return FRAME_HEADER + encode_control(head, encode(message))


def history(node: Node, now: float) -> None:
    local_group = node.local_group(A)
    assert local_group is not None
    node.history(local_group, 1e6, now)


def confirm(node: Node, now: float) -> None:
    local_group = node.local_group(A)
    assert local_group is not None
    node.confirm(local_group, node.publish(A, b"event", now).id, 1, now)


INPUTS: Final[dict[str, Callable[[Node, float], object]]] = {
    "join": lambda node, now: node.join(AB, now),
    "leave": lambda node, now: node.leave(A, now),
    "publish": lambda node, now: node.publish(A, b"event", now),
    "tune": lambda node, now: node.tune(A, CommunitySettings(z=5), now),
    "link": lambda node, now: node.link(A, Topic.parse(".r"), now),
    "unlink": lambda node, now: node.unlink(A, ROOT, now),
    "flush": lambda node, now: node.flush(now),
    "history": history,
    "confirm": confirm,
    "receive": lambda node, now: node.receive(said(Kind.LINKS, AB, Ping(A.name)), now, ADA.peer),
    "wake": lambda node, now: node.wake(Token(Kind.DISCOVERY, A.group, ("renew",)), now),
    "open": lambda node, now: node.open(cast(Any, None), now),
    "close": lambda node, now: node.close(now),
    "receive_datagram": lambda node, now: node.receive_datagram(1, ("10.0.0.3", 1), b"", now),
    "finished": lambda node, now: node.finished(("nonesuch",), None, now),
    "seek": lambda node, now: node.seek(AB, now),
    "contacts_found": lambda node, now: node.contacts_found(Finding(A, (contact(3),)), now),
    "ask_back": lambda node, now: node.ask_back((contact(3).address,), now),
    "unattached": lambda node, now: node.unattached(contact(3), now),
    "move": lambda node, now: node.move("tcp://10.0.0.99:7000", now),
    "compare_clocks": lambda node, now: node.compare_clocks(now, WALL + now),
    "on_standstill": lambda node, now: node.on_standstill(1.0, now),
}
# Those that ask the admission in any case; the others may, when a timer or a plug wants it.
ASKING: Final = ("join", "leave", "history", "confirm", "receive", "seek", "contacts_found")


def test_all_commands_and_inputs_with_a_time_are_tried_here() -> None:
    verbs = inspect.getmembers(Node, inspect.isfunction)
    timed = [name for name, verb in verbs if "now" in inspect.signature(verb).parameters]
    assert {name for name in timed if not name.startswith("_")} == INPUTS.keys()


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_is_judged_and_vouched_for_at_its_own_time(name: str) -> None:
    node, admission = member()
    INPUTS[name](node, THEN)
    assert node.outbox.now == THEN
    assert {when for _, when in admission.asked} <= {WALL + THEN}
    assert admission.asked or name not in ASKING


def test_whoever_may_link_to_a_topic_may_to_those_declared_above_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the application of the process that is asked."""
    node, admission = member()
    below = Topic.parse(".l.x")

    def is_answered() -> bool:
        node.outbox.sends.clear()
        node.receive(said(Kind.LINKS, below, Ping(A.name)), THEN, ADA.peer)
        return bool(node.outbox.sends)

    def may_link(_peer: PeerId, topic: Topic, _now: float) -> bool:
        return topic == below

    monkeypatch.setattr(admission, "may_link", may_link, raising=False)
    assert not is_answered()
    node.hierarchy.tell(below, (A,), THEN)
    assert not is_answered()
    node.hierarchy.declare({below: (A,)})
    assert is_answered()


def test_the_guard_of_an_open_process_lets_everything_pass() -> None:
    guard, unknown = Guard(), Contact(PeerId(b"x" * 16), "tcp://10.0.0.7:7000")
    arrival = Arrival(None, unknown, Kind.LINKS, A.group, b"", THEN)
    message = Ping(A.name)
    assert guard.lets_in(arrival, b"no message")
    assert guard.judge(message, arrival, None) is message
    assert guard.only_members([unknown], A, THEN) == (unknown,)
    assert guard.may_join(unknown.peer, A, THEN)
    guard.refuse("for no reason", THEN, None)
    assert not guard.refused
    assert (guard.admits, guard.vouch, guard.admission, guard.certified(A)) == (None,) * 4
