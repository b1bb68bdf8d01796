"""The contract of every discovery; a test class inherits `DiscoveryContract`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from camcast.testing.garbage import GARBAGE, malformed
from camcast.testing.replay import digests
from camcast.testing.town import DEAD, GATEWAY, SEEK_SECONDS, TOPIC, Person, Town
from camcast.virtual.network import address_of
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.topics import Topic

OTHER = Topic.parse(".other")
SUBTOPIC = Topic.parse(".contract.sub")
LEASE = 60.0  # in which a crashed process is forgotten
WITHDRAWAL = 5.0  # chosen: as the time that an announcement is given


def found(finding: Finding) -> set[str]:
    """Return the addresses of the contacts found, after checking that they are all different."""
    addresses = {contact.address for contact in finding.contacts}
    assert len(addresses) == len(finding.contacts)
    return addresses


def addresses(*people: Person) -> set[str]:
    """Return the addresses of these processes."""
    return {person.me.address for person in people}


def places(listed: tuple[str, ...]) -> set[str]:
    """Return the hosts and ports of addresses, without their schemes."""
    return {address.partition("://")[2] for address in listed}


def in_town(
    test: Callable[[DiscoveryContract, Town], None],
) -> Callable[[DiscoveryContract], None]:
    """Return the test with a new town as its argument.

    `functools.wraps` would not do: pytest would take the town for a fixture.
    """

    def run(self: DiscoveryContract) -> None:
        with self.town() as town:
            test(self, town)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def in_town_with_addresses(
    test: Callable[[DiscoveryContract, Town], None],
) -> Callable[[DiscoveryContract], None]:
    """Return the test with a new town; it passes if first contacts have no addresses."""
    inside = in_town(test)

    def run(self: DiscoveryContract) -> None:
        if self.has_addresses:
            inside(self)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class DiscoveryContract:
    """The contract of every discovery.

    A test class inherits it and names its plug: ``discovery = "lighthouse"``.
    """

    discovery: str
    """The name of the entry point in ``camcast.overlays``."""
    has_addresses: ClassVar[bool] = True
    """Whether first contacts are addresses, which may be dead. Only the census has none."""

    def options_of_a_town(self) -> Mapping[str, object]:
        """Return the options of the discovery in a new town."""
        return {}

    def spoil(self, town: Town) -> None:
        """Lose all entries of the register and write garbage into it, if others could do that."""

    def town(self) -> Town:
        """Return a new town of this discovery."""
        return Town(self.discovery, options=self.options_of_a_town())

    def test_it_replays_to_the_byte_under_any_hash_seed(self) -> None:
        """Two processes run the same town, each with a hash seed of its own, and later."""
        first, second = digests(
            "discovery", self.discovery, self.options_of_a_town(), self.options_of_a_town()
        )
        assert first == second

    # -- members that are found --------------------------------------------------------------------

    @in_town
    def test_an_empty_community_has_nobody_and_that_is_an_answer(self, town: Town) -> None:
        finding = town.seek(town.add())
        assert finding.contacts == ()
        assert finding.unreachable == ()

    @in_town
    def test_a_member_is_found_by_a_stranger_and_by_another_member(self, town: Town) -> None:
        member, other, stranger = town.add(), town.add(), town.add()
        town.announce(member)
        assert town.seek(stranger).contacts == (member.me,)
        town.announce(other)
        assert town.seek(other).contacts == (member.me,)
        assert town.seek(member).contacts == (other.me,)
        assert found(town.seek(stranger)) == addresses(member, other)

    @in_town
    def test_who_moves_is_found_at_its_new_address(self, town: Town) -> None:
        """And what it sought when it moved is answered."""
        member, stranger = town.add(), town.add()
        town.announce(member)
        town.start_seek(member)
        town.move(member)
        town.run(SEEK_SECONDS)
        assert len(member.findings) == 1
        assert town.seek(stranger).contacts == (member.me,)

    @in_town
    def test_who_founds_at_the_same_time_is_found(self, town: Town) -> None:
        """Both announce themselves and seek at once, as nodes do; one at least finds the other."""
        founders = [town.add(), town.add()]
        for founder in founders:
            town.announce(founder, settle=0)
            town.start_seek(founder)
        town.run(SEEK_SECONDS)
        assert any(town.answer(founder).contacts for founder in founders)

    def test_what_strangers_sought_before_does_not_make_two_founders(self) -> None:
        """Two processes seek, as for a link, and found the community while they still seek."""
        for seconds_before in (0.0, 0.01, 0.02, 0.03, 0.04):
            with self.town() as town:
                self._found_after(town, seconds_before)

    def _found_after(self, town: Town, seconds_before: float) -> None:
        town.announce(*(town.add() for _ in range(3)), topic=OTHER)  # so that look-ups take longer
        founders = [town.add(), town.add()]
        for founder in founders:
            town.start_seek(founder)
        town.run(seconds_before)
        for founder in founders:
            town.announce(founder, settle=0)
            town.start_seek(founder)
        town.run(SEEK_SECONDS)
        assert any(town.answer(founder).contacts for founder in founders)

    @in_town
    def test_who_wants_more_while_fewer_are_sought_gets_more(self, town: Town) -> None:
        members = [town.add() for _ in range(5)]
        town.announce(*members)
        seeker = town.add()
        for wanted in (1, 5, 2):
            town.start_seek(seeker, wanted=wanted)
        town.run(SEEK_SECONDS)
        assert any(found(finding) == addresses(*members) for _, finding in seeker.findings)

    @in_town
    def test_nobody_finds_himself(self, town: Town) -> None:
        member = town.add()
        town.announce(member)
        finding = town.seek(member)
        assert finding.contacts == ()
        assert finding.unreachable == ()
        others = [town.add() for _ in range(3)]
        town.announce(*others)
        for _ in range(5):
            assert found(town.seek(member)) == addresses(*others)

    @in_town
    def test_who_is_listed_as_announced_has_announced_himself(self, town: Town) -> None:
        """Nobody need be listed anywhere; who is has announced himself, and not withdrawn."""
        here, there = town.add(), town.add()
        town.announce(here)
        town.announce(there, topic=OTHER)
        for withdrawn in (False, True):
            true = {(OTHER, there.me.peer), (TOPIC, here.me.peer)}
            if withdrawn:
                town.withdraw(here)
                town.run(WITHDRAWAL)
                true = {(OTHER, there.me.peer)}
            for person in town.people.values():
                listed = [*person.discovery.announced(town.now)]
                assert {(one.topic, one.contact.peer) for one in listed} <= true
                assert all(one.since <= town.now for one in listed)

    @in_town
    def test_communities_do_not_mix(self, town: Town) -> None:
        here, there, both, below = [town.add() for _ in range(4)]
        town.announce(here, both)
        town.announce(there, both, topic=OTHER)
        town.announce(below, topic=SUBTOPIC)
        stranger = town.add()
        assert found(town.seek(stranger)) == addresses(here, both)
        assert found(town.seek(stranger, OTHER)) == addresses(there, both)
        assert found(town.seek(stranger, SUBTOPIC)) == addresses(below)
        assert found(town.seek(there)) == addresses(here, both)
        assert found(town.seek(both)) == addresses(here)
        town.withdraw(both, OTHER)
        town.run(LEASE)
        assert found(town.seek(stranger)) == addresses(here, both)
        assert found(town.seek(stranger, OTHER)) == addresses(there)

    @in_town
    def test_seeks_of_several_communities_are_answered_for_their_topics(self, town: Town) -> None:
        members = {topic: town.add() for topic in (TOPIC, OTHER, SUBTOPIC)}
        for topic, member in members.items():
            town.announce(member, topic=topic)
        seeker = town.add()
        for topic in members:
            town.start_seek(seeker, topic)
        town.run(SEEK_SECONDS)
        answers = {finding.topic: finding.contacts for _, finding in seeker.findings}
        assert answers == {topic: (member.me,) for topic, member in members.items()}
        assert len(seeker.findings) == len(members)

    @in_town
    def test_at_most_as_many_as_wanted_and_all_different(self, town: Town) -> None:
        members = [town.add() for _ in range(10)]
        town.announce(*members)
        seeker = town.add()
        seen: set[str] = set()
        for _ in range(30):
            three = found(town.seek(seeker, wanted=3))
            assert len(three) == 3
            seen |= three
        assert seen == addresses(*members)  # missed with 10 (7/10)^30 = 2e-4, the seed is fixed
        assert found(town.seek(seeker, wanted=20)) == addresses(*members)
        assert town.seek(seeker, wanted=0).contacts == ()

    @in_town
    def test_a_size_is_that_of_the_community(self, town: Town) -> None:
        members: list[Person] = []
        for size in (3, 12):
            members += [town.add() for _ in range(size - len(members))]
            town.announce(*members)
            for finding in (town.seek(town.add()), town.seek(members[0])):
                assert finding.size is None or 0.5 * size <= finding.size <= 2.0 * size

    # -- members that are no longer found ----------------------------------------------------------

    @in_town
    def test_who_withdraws_is_not_found(self, town: Town) -> None:
        member, stays = town.add(), town.add()
        town.announce(member, stays)
        town.withdraw(member)
        town.run(LEASE)
        seeker = town.add()
        assert town.seek(seeker).contacts == (stays.me,)
        assert town.seek(member).contacts == (stays.me,)  # a process that has left can still seek
        town.withdraw(stays)
        town.withdraw(stays)  # twice does no harm
        town.run(LEASE)
        assert town.seek(seeker).contacts == ()

    @in_town
    def test_a_withdrawal_does_not_wait_for_a_lease(self, town: Town) -> None:
        """An honest leave is known sooner than a crash, which only time tells."""
        member, stays = town.add(), town.add()
        town.announce(member, stays)
        town.withdraw(member)
        town.run(WITHDRAWAL)
        assert town.seek(town.add()).contacts == (stays.me,)

    @in_town
    def test_who_closes_is_not_found(self, town: Town) -> None:
        member = town.add()
        town.announce(member)
        town.withdraw(member)  # as a node does
        town.close(member)
        town.run(LEASE)
        assert town.seek(town.add()).contacts == ()

    @in_town
    def test_a_crashed_process_is_forgotten(self, town: Town) -> None:
        members = [town.add() for _ in range(4)]
        town.announce(*members)
        dead, *alive = members
        town.crash(dead)
        town.run(LEASE)
        assert found(town.seek(town.add())) == addresses(*alive)
        for member in alive:
            assert found(town.seek(member)) == addresses(*alive) - addresses(member)

    @in_town
    def test_who_starts_again_after_a_crash_is_found_as_whom_he_is_now(self, town: Town) -> None:
        before = town.add()
        town.announce(before)
        town.crash(before)
        town.run(LEASE)
        after = town.add(number=before.number)
        town.announce(after)
        assert after.me.peer != before.me.peer
        assert town.seek(town.add()).contacts == (after.me,)

    @in_town
    def test_an_announcement_lasts_while_its_process_lives(self, town: Town) -> None:
        member = town.add()
        town.announce(member)
        town.run(5 * LEASE)
        assert town.seek(town.add()).contacts == (member.me,)

    # -- saying it twice ---------------------------------------------------------------------------

    @in_town
    def test_announcing_twice_is_harmless(self, town: Town) -> None:
        member, seeker = town.add(), town.add()
        town.announce(member, member, settle=0)
        town.announce(member)
        assert town.seek(seeker).contacts == (member.me,)
        town.withdraw(member)  # once is enough
        town.run(LEASE)
        assert town.seek(seeker).contacts == ()

    def test_the_last_word_holds(self) -> None:
        """The last announcement or withdrawal counts, even while earlier ones are under way."""
        for pause_seconds in (0.0, 0.001, 0.01, 0.03, 0.1, 1.0):
            with self.town() as town:
                self._change_minds(town, pause_seconds)

    def _change_minds(self, town: Town, pause_seconds: float) -> None:
        fickle, decided, seeker = town.add(), town.add(), town.add()
        for _ in range(3):
            town.announce(fickle, settle=pause_seconds)
            town.withdraw(fickle)
            town.withdraw(decided)
            town.run(pause_seconds)
            town.announce(decided, settle=pause_seconds)
        town.run(LEASE)
        assert town.seek(seeker).contacts == (decided.me,)

    @in_town
    def test_withdrawing_what_was_never_announced_is_harmless(self, town: Town) -> None:
        person, member = town.add(), town.add()
        town.announce(member)
        town.withdraw(person)
        assert town.seek(person).contacts == (member.me,)

    @in_town
    def test_an_unknown_timer_is_harmless(self, town: Town) -> None:
        person = town.add()
        town.wake(person, "nonesuch", 1)
        town.wake(person)
        town.run(SEEK_SECONDS)
        assert not person.findings

    # -- first contacts ----------------------------------------------------------------------------

    @in_town_with_addresses
    def test_nobody_there_names_the_addresses_asked(self, town: Town) -> None:
        finding = town.seek(town.add(DEAD))
        assert finding.contacts == ()
        assert places(finding.unreachable) == places(DEAD)

    @in_town_with_addresses
    def test_a_member_who_reaches_nobody_is_told_so(self, town: Town) -> None:
        """Otherwise two founders that cannot reach their gateway would found two communities."""
        member = town.add(DEAD)
        town.announce(member, settle=0)
        finding = town.seek(member)
        assert finding.contacts == ()
        assert places(finding.unreachable) == places(DEAD)

    @in_town_with_addresses
    def test_the_gateway_may_come_later(self, town: Town) -> None:
        late = 1000
        seeker = town.add((address_of(late),))
        assert town.seek(seeker).unreachable
        town.add((), number=late)
        assert town.seek(seeker).unreachable == ()

    @in_town_with_addresses
    def test_one_of_several_is_enough(self, town: Town) -> None:
        member = town.add()
        town.announce(member)
        finding = town.seek(town.add((DEAD[0], GATEWAY)))
        assert finding.contacts == (member.me,)
        assert finding.unreachable == ()

    @in_town_with_addresses
    def test_without_any_first_contact_one_is_alone(self, town: Town) -> None:
        finding = town.seek(town.add(()))
        assert finding.contacts == ()
        assert finding.unreachable == ()

    # -- the end -----------------------------------------------------------------------------------

    @in_town
    def test_close_leaves_nothing_behind(self, town: Town) -> None:
        """A process closes all ports, also during an announcement, a withdrawal or seeks."""
        idle, announcing, withdrawing, seeking = [town.add() for _ in range(4)]
        town.announce(withdrawing)
        town.announce(announcing, settle=0)
        town.start_seek(announcing)
        town.withdraw(withdrawing)
        for topic in (TOPIC, OTHER):
            town.start_seek(seeking, topic)
        people = [idle, announcing, withdrawing, seeking, town.gateway]
        for person in people:
            answers = len(person.findings)
            town.close(person)
            assert not person.datagrams.ports
            assert len(person.findings) == answers

    @in_town
    def test_closing_twice_or_before_it_was_opened_is_harmless(self, town: Town) -> None:
        for opened in (True, False):
            person = town.add(opened=opened)
            town.close(person)
            town.people[person.me.address] = person  # closed again at the end

    # -- input of any kind -------------------------------------------------------------------------

    @in_town
    def test_a_spoilt_register_fills_again(self, town: Town) -> None:
        member = town.add()
        town.announce(member)
        self.spoil(town)
        town.run(LEASE)
        assert town.seek(town.add()).contacts == (member.me,)
        self.spoil(town)
        town.withdraw(member)
        town.run(WITHDRAWAL)
        assert member.discovery.state != "degraded"
        finding = town.seek(town.add())
        assert (finding.contacts, finding.unreachable) == ((), ())

    @in_town
    def test_garbage_is_malformed(self, town: Town) -> None:
        decoder = town.gateway.discovery.decoder
        if decoder is not None:  # it speaks in messages
            assert all(malformed(decoder, garbage) for garbage in GARBAGE)
