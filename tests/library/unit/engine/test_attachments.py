"""Calls to processes that nobody can dial: who is asked, who passes a call on, who obeys."""

from __future__ import annotations

from camcast.engine.attachments import ATTACHED_SECONDS, ATTACHES_A_SECOND, Attachments
from camcast.engine.liveness_messages import DECODER, Answer, Attach, Attached, Heartbeat
from camcast.engine.security_messages import WhoAre
from camcast.testing.lone_process import LoneProcess
from camcast.vocabulary.happenings import NO_GROUP
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.messages import Arrival, Message, encode
from camcast.vocabulary.wire import Kind
from membership.scamp.messages import Copy, Replace

ME, OTHER, THIRD = (Contact(PeerId(b"%d" % n * 16), f"tcp://10.0.0.{n}:1") for n in (1, 2, 3))
HIDDEN = placeholder(PeerId(b"h" * 16))


class Bench(LoneProcess):
    def __init__(self, me: Contact = ME) -> None:
        super().__init__(me, DECODER)
        self.attachments = Attachments(self.outlet(Kind.LIVENESS))

    def hears(self, source: Contact, message: Message, now: float = 0.0) -> None:
        arrival = Arrival(None, source, Kind.LIVENESS, NO_GROUP, b"", now)
        self.attachments.note(arrival, message, encode(message))

    def takes(self, source: Contact, message: Attach | Attached, now: float = 0.0) -> None:
        self.attachments.receive(source, message, now)


def test_whoever_named_an_undialable_process_is_asked_to_call_it() -> None:
    bench = Bench()
    bench.attachments.call(HIDDEN)
    assert bench.said_to() == []
    bench.hears(OTHER, Replace(HIDDEN))
    bench.takes(OTHER, Attached(HIDDEN.peer, THIRD))
    bench.attachments.call(HIDDEN)
    assert bench.said_to() == [(THIRD, Attach(HIDDEN.peer, ME))]


def test_a_call_is_passed_on_by_whom_the_process_is_attached_to_and_nobody_else() -> None:
    bench = Bench()
    call = Attach(HIDDEN.peer, OTHER)
    bench.hears(HIDDEN, Copy(3, 1))  # it may have come by others
    bench.takes(OTHER, call)
    assert bench.said_to() == []
    bench.hears(HIDDEN, Answer((), ()))
    bench.takes(OTHER, call, ATTACHED_SECONDS)
    assert bench.said_to() == [(HIDDEN, call)]
    bench.takes(OTHER, call, ATTACHED_SECONDS + 1.0)
    assert bench.said_to() == []


def test_the_process_that_is_called_connects() -> None:
    bench = Bench(HIDDEN)
    bench.takes(THIRD, Attach(HIDDEN.peer, OTHER))
    assert bench.said_to() == [(OTHER, Heartbeat(()))]
    bench.takes(THIRD, Attach(HIDDEN.peer, placeholder(PeerId(b"i" * 16))))
    assert bench.said_to() == []


def test_a_flood_of_calls_is_bounded_at_both_ends() -> None:
    hidden, bench = Bench(HIDDEN), Bench()
    bench.hears(HIDDEN, Answer((), ()))
    for _ in range(10 * ATTACHES_A_SECOND):
        hidden.takes(OTHER, Attach(HIDDEN.peer, THIRD))
        bench.takes(OTHER, Attach(HIDDEN.peer, THIRD))
    assert len(hidden.said_to()) == len(bench.said_to()) == ATTACHES_A_SECOND


def test_what_is_passed_on_says_to_whom_its_undialable_sender_is_attached() -> None:
    bench = Bench()
    bench.outbox.introduce = bench.attachments.introduce
    outlet = bench.outlet(Kind.LIVENESS)
    passed_on = Attached(THIRD.peer, THIRD)
    outlet.send([THIRD], passed_on, reply_to=OTHER)
    outlet.send([THIRD], passed_on, reply_to=HIDDEN)
    bench.takes(OTHER, Attached(HIDDEN.peer, OTHER))
    outlet.send([THIRD], passed_on, reply_to=HIDDEN)
    bench.hears(HIDDEN, WhoAre(".", ()))
    outlet.send([THIRD], passed_on, reply_to=HIDDEN)
    said = [one for _, one in bench.said_to()]
    by_me, by_other = (Attached(HIDDEN.peer, by) for by in (ME, OTHER))
    assert said == [passed_on, by_me, passed_on, by_other, passed_on, by_me, passed_on]


def test_an_undialable_process_that_enters_a_table_is_greeted_so_that_it_connects() -> None:
    bench = Bench()
    bench.attachments.greet(OTHER)
    bench.attachments.greet(HIDDEN)
    assert bench.said_to() == [(HIDDEN, Heartbeat(()))]
