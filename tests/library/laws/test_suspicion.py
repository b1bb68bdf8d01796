"""Suspicion in whole communities: weather gives no live peer up, and a crash is still noticed.

At 30 % loss, in both forms: frames are lost for good, as over UDP, or TCP sends them again, so that
they come up to 13 s late (`tests.library.laws.retransmitting_network`).
"""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from camcast.doors.contained import plug_of
from camcast.doors.membership import Membership
from camcast.engine.errands import PROBE_UNITS
from camcast.engine.liveness import HIGH_FACTOR, LOW_MAX, SILENCE_UNITS, UNREACHED
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import ROOT
from tests.library.laws.communities import TOPIC
from tests.library.laws.overlay_graphs import membership_in
from tests.library.laws.retransmitting_network import RetransmittingNetwork

LOSS = 0.3
UNIT = 1.0  # of both memberships, with their defaults: a third of the silence until suspicion
TIMERS = UNIT * (SILENCE_UNITS + max(HIGH_FACTOR * LOW_MAX, UNREACHED))
"""No suspicion lasts longer."""
BOTH = pytest.mark.parametrize("membership", ["scamp", "dht"])


def grown(world: World, size: int) -> World:
    for _ in range(size):
        world.join(TOPIC, gap=0.3)
    world.run(10.0)
    return world


def count_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the peers that are given up from now on, which grows."""
    given_up: list[str] = []

    def told(membership: Membership, contact: Contact, now: float) -> None:
        given_up.append(contact.address)
        type(membership).peer_silent(membership, contact, now)

    for node in world.nodes:
        membership = plug_of(membership_in(node))
        monkeypatch.setattr(membership, "peer_silent", partial(told, membership))
    return given_up


@BOTH
@pytest.mark.parametrize(
    ("size", "late"),
    [
        (3, False),
        (20, True),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((3, True), (20, False))),
    ],
)
def test_thirty_percent_of_loss_gives_no_live_peer_up(
    membership: str, size: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For longer than any timer of a suspicion; views then hold everybody that they should."""
    network = RetransmittingNetwork(1, LOSS) if late else None
    world = grown(World(loss=LOSS, virtual=network, membership=membership), size)
    given_up = count_given_up(world, monkeypatch)
    world.run(TIMERS + 10.0)
    assert given_up == []


@pytest.mark.slow
@pytest.mark.parametrize(("membership", "late"), [("scamp", False), ("scamp", True), ("dht", True)])
def test_thirty_percent_of_loss_gives_up_fewer_than_one_live_arc_in_a_thousand(
    membership: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In sixty periods. With none of `arcs` given up, a share of 3/arcs
    would show with a probability of 0.95 (1 - e^-3)."""
    arcs = given_up = 0
    for seed in range(1, 28):
        network = RetransmittingNetwork(seed, LOSS) if late else None
        world = grown(World(seed, loss=LOSS, virtual=network, membership=membership), 20)
        lost = count_given_up(world, monkeypatch)
        arcs += sum(len(membership_in(node).peers()) for node in world.nodes)
        world.run(60 * UNIT)
        given_up += len(lost)
    assert given_up == 0
    assert 3 / arcs < 0.001


@BOTH
@pytest.mark.parametrize(
    "killed", [*(pytest.param(one, marks=pytest.mark.slow) for one in (1, 15, 25)), 40]
)
def test_a_crash_is_confirmed_and_noticed_within_ten_seconds(membership: str, killed: int) -> None:
    """Of 50 processes; none of them hears the dead, and who is asked first may be dead as well.

    A unit until the silence is noticed, one until dead helpers are replaced, each a tenth longer
    than a period at most. If 40 of 50 die, some have nobody alive in their tables, and must first
    find others to ask: a look-up and a suspicion's helpers more.
    """
    world = grown(World(membership=membership), 50)
    for victim in Random(killed).sample(world.nodes, killed):
        world.kill(victim)
    world.run(UNIT * (SILENCE_UNITS + PROBE_UNITS + 2 * 1.1))
    living = world.alive.keys()
    tables = [membership_in(node).peers() for node in world.alive.values()]
    dead = sum(contact.address not in living for table in tables for contact in table)
    if killed < 40:
        assert dead == 0
    else:
        assert all(any(contact.address in living for contact in table) for table in tables)
        world.run(UNIT * PROBE_UNITS)
        assert all(contact.address in living for table in tables for contact in table)


@BOTH
def test_a_process_that_is_cut_off_for_a_while_gives_nobody_up(
    membership: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its peers are silent at once, and nobody is there to confirm that any of them is dead."""
    world = grown(World(membership=membership), 20)
    lonely = world.nodes[7]
    given_up = count_given_up(world, monkeypatch)
    table = [contact.address for contact in membership_in(lonely).peers()]
    assert set(table) <= world.alive.keys() - {lonely.me.address}
    me = lonely.me.address
    world.cut(lambda source, target: me not in (source, target))
    world.run(25.0)
    assert {*given_up} == {me}
    world.heal()
    world.run(10.0)
    assert {*given_up} == {me}


def test_two_that_only_others_reach_part_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut between two processes of a community: others vouch for each, but not for ever.

    What others pass on for a process is a sign of life, too, so nobody searches a super-topic here.
    """
    world = World(membership="dht")
    for _ in range(5):
        world.join(ROOT)
    world.run(10.0)
    given_up = count_given_up(world, monkeypatch)
    parted = {node.me.address for node in world.nodes[1:3]}
    world.cut(lambda source, target: {source, target} != parted)
    world.run(UNIT * (SILENCE_UNITS + HIGH_FACTOR * LOW_MAX))
    assert given_up == []
    world.run(UNIT * UNREACHED)
    assert {*given_up} == parted
