"""A discovery that waits: what its base promises, whatever the register does."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from typing_extensions import override

from camcast.doors.waiting_discovery import ANSWER_SECONDS, RETRY_SECONDS, Found, WaitingDiscovery
from camcast.testing import Town
from camcast.testing.town import TOPIC
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import Topic

LEASE = 30.0


class Register(WaitingDiscovery):
    """A register that all processes of a town share, and that takes its time."""

    delay: ClassVar[float]
    members: ClassVar[dict[Topic, dict[Contact, float]]]
    error: ClassVar[Exception | None]
    running: ClassVar[int]

    @override
    async def enter(self, topic: Topic) -> float:
        await self._wait()
        self.members.setdefault(topic, {})[self._me] = self._waiting.wall() + LEASE
        return LEASE

    @override
    async def strike(self, topic: Topic) -> None:
        await self._wait()
        self.members.get(topic, {}).pop(self._me, None)

    @override
    async def find(self, topic: Topic, wanted: int) -> Found:
        await self._waiting.sleep(self.delay)
        if self.error is not None:
            raise self.error
        now = self._waiting.wall()
        return Found([c for c, until in self.members.get(topic, {}).items() if until >= now])

    async def _wait(self) -> None:
        """Wait, and see that no other writing of this town's process runs."""
        type(self).running += 1
        assert self.running == 1
        await self._waiting.sleep(self.delay)
        type(self).running -= 1


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> Town:
    Register.delay, Register.members, Register.error, Register.running = 0.1, {}, None, 0
    monkeypatch.setattr("camcast.testing.town.find_discovery", lambda _name: Register)
    return Town("register")


def test_the_last_word_holds_however_fast_they_follow(town: Town) -> None:
    fickle = town.add()
    for _ in range(5):
        town.announce(fickle, settle=0.03)
        town.withdraw(fickle)
        town.run(0.03)
    town.run(5.0)
    assert Register.members == {TOPIC: {}}
    town.withdraw(fickle)
    town.announce(fickle, settle=1.0)
    assert list(Register.members[TOPIC]) == [fickle.me]


def test_an_entry_is_renewed_until_it_is_withdrawn(town: Town) -> None:
    member = town.add()
    town.announce(member)
    town.run(10 * LEASE)
    assert Register.members[TOPIC][member.me] > town.now
    town.withdraw(member)
    town.run(10 * LEASE)
    assert Register.members == {TOPIC: {}}


def test_a_register_that_cannot_be_read_founds_no_community(town: Town) -> None:
    Register.error = FileNotFoundError(2, "no such file", "/shared")
    finding = town.seek(town.add())
    assert (finding.contacts, finding.unreachable) == ((), ("/shared",))


def test_one_that_takes_too_long_is_not_waited_for(town: Town) -> None:
    seeker = town.add()
    Register.delay = 2 * ANSWER_SECONDS
    ((seconds, finding),) = town.seek_all([seeker])
    assert (seconds, finding.unknown) == (ANSWER_SECONDS, True)
    assert seeker.discovery.state == "degraded"
    town.run(3 * ANSWER_SECONDS)  # the late answer is nobody's
    assert len(seeker.findings) == 1


def test_after_a_failure_it_is_entered_again(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_self: Any, _topic: Topic) -> float:
        raise OSError("the disk is full")

    member = town.add()
    with monkeypatch.context() as failing:
        failing.setattr(Register, "enter", fail)
        town.announce(member, settle=3 * RETRY_SECONDS)
        assert Register.members == {}
    town.run(2 * RETRY_SECONDS)
    assert list(Register.members[TOPIC]) == [member.me]


def test_a_bug_is_answered_as_a_failure_and_raised(town: Town) -> None:
    Register.error = ZeroDivisionError("a bug")
    seeker = town.add()
    town.start_seek(seeker)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        town.run(1.0)
    town.run(2 * ANSWER_SECONDS)  # the next input takes along what the raise left behind
    ((_, finding),) = seeker.findings
    assert finding.unknown


def test_a_context_has_no_coroutines_to_wait_for_after_a_close(town: Town) -> None:
    person = town.add()
    town.announce(person, settle=0.0)
    town.start_seek(person)
    town.close(person)
    town.run(60.0)
    assert person.findings == []


def test_it_needs_a_driver_that_runs_coroutines() -> None:
    context: Any = type("Context", (), {"waiting": None})
    with pytest.raises(AssertionError, match="driver"):
        Register(context)
