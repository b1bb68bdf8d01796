"""What is said again is the same record, and one wish if nothing came between."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import pytest

from camcast.engine.liveness_messages import Answer
from camcast.observe.recorder import Recorder
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind, decode_control

ME, X, Y, Z = (Contact(PeerId(bytes([n]) * 16), f"tcp://10.0.0.{n}:7000") for n in range(1, 5))
TOPIC = Topic.parse(".x")
GROUP, OTHER = GroupId(b"g" * 8), GroupId(b"o" * 8)
ALIVE, GONE = Answer((), ()), Answer((), ((1, GROUP),))


def outlet(outbox: Outbox) -> ControlOutlet:
    return ControlOutlet(outbox, Kind.LIVENESS, GROUP)


def wishes(outbox: Outbox) -> list[Sequence[Contact]]:
    return [one.contacts for one in outbox.sends]


def test_the_same_said_in_a_row_is_one_wish() -> None:
    outbox = Outbox(ME)
    outbox.control_bytes = {}
    says = outlet(outbox)
    for contact in (X, Y, Z):
        says.send([contact], ALIVE)
    assert wishes(outbox) == [[X, Y, Z]]
    assert outbox.control_bytes == {GROUP: 3 * len(outbox.sends[0].record)}


def test_what_comes_between_keeps_its_place() -> None:
    outbox = Outbox(ME)
    says = outlet(outbox)
    for contact, message in ((X, ALIVE), (Y, GONE), (Z, ALIVE)):
        says.send([contact], message)
    assert wishes(outbox) == [[X], [Y], [Z]]
    first, between, last = (one.record for one in outbox.sends)
    assert first == last != between


def test_a_wish_that_was_carried_out_is_not_changed() -> None:
    outbox = Outbox(ME)
    says = outlet(outbox)
    says.send([X], ALIVE)
    (carried_out,) = outbox.sends
    outbox.sends.clear()
    says.send([Y], ALIVE)
    assert (carried_out.contacts, wishes(outbox)) == ([X], [[Y]])


def test_in_another_group_or_for_another_process_the_same_is_another_record() -> None:
    outbox = Outbox(ME)
    says = outlet(outbox)
    says.send([X], ALIVE)
    says.send([X], ALIVE, group=OTHER)
    says.send([X], ALIVE, reply_to=Z)
    says.send([X], ALIVE)
    heads = [decode_control(one.record, 0, len(one.record)) for one in outbox.sends]
    assert [(one.group, one.sender) for one in heads] == [
        *((GROUP, ME.peer), (OTHER, ME.peer), (GROUP, Z.peer), (GROUP, ME.peer)),
    ]


def test_each_message_is_vouched_for() -> None:
    outbox, asked = Outbox(ME), list[Sequence[Contact]]()

    def vouch(contacts: Sequence[Contact], *_: object) -> bytes | None:
        asked.append(contacts)
        return None if contacts == [Y] else b""

    outbox.vouch = vouch
    says = outlet(outbox)
    for contact in (X, Y, Z):
        says.send([contact], ALIVE)
    assert asked == [[X], [Y], [Z]]
    assert wishes(outbox) == [[X], [Z]]


WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(("wake", (delay, "beat"), {}) for delay in (nan, inf, -1.0, -1e-9, 1e13, None, "1")),
    *(("send", (contacts, ALIVE), {}) for contacts in ([X, b"x"], ["tcp://10.0.0.1:7000"], [None])),
    *(("send", ([X], message), {}) for message in (None, b"bytes", {"alive": True})),
    *(("seek", arguments, {}) for arguments in ((".x", 1), (None, 1), (TOPIC, 1.5), (TOPIC, None))),
    *(("seek", (TOPIC, wanted), {}) for wanted in (-1, 10**30)),
    *(("found", (TOPIC, contacts), {}) for contacts in (["nobody"], [X, None], None)),
    ("found", (".x", [X]), {}),
    *(("found", (TOPIC, [X]), {"size": size}) for size in (nan, inf, "7")),
    ("found", (TOPIC, []), {"unreachable": [X]}),
    ("report", ("no such kind",), {}),
]


@pytest.mark.parametrize(("verb", "arguments", "named"), WRONG)
def test_what_no_driver_could_carry_out_is_refused_and_leaves_no_wish(
    verb: str, arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    outbox = Outbox(ME)
    recorder = Recorder(None, outbox, lambda _: "")
    with pytest.raises((TypeError, ValueError, KeyError)):
        getattr(outlet(outbox), verb)(*arguments, **named)
    assert [outbox.sends, outbox.wakes, outbox.seeks, outbox.findings] == [[], [], [], []]
    assert recorder.counters.controls == 0
