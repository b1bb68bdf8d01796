"""The table of conditions: nothing in what is well, and each fault by its name, since when.

A snapshot of a node of the virtual network is changed in one place at a time.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import attrs
import pytest

from camcast.observe.condition_table import (
    FADES_SECONDS,
    LOOK_SECONDS,
    SETTLED_SECONDS,
    SLOW_SECONDS,
    TABLE,
)
from camcast.observe.conditions import HISTORY_SECONDS, Tell, Watch
from camcast.observe.stats import (
    CertificateStats,
    ConditionStats,
    FirstContactStats,
    RevocationStats,
    Stats,
    SubscriptionStats,
)
from camcast.testing.world import World
from camcast.vocabulary.topics import Topic
from tests.snapshots import changed, stats_of

GATEWAY: Final = "tcp://10.0.0.9:7000"
OTHER: Final = "tcp://10.0.0.8:7000"
QUEUE: Final = SubscriptionStats(
    where=None,
    queued_events=0,
    queued_events_max=100,
    queued_bytes=0,
    queued_bytes_max=1000,
    missed=0,
    errors=0,
)

TAKEN: Final = 1e9 + 100.0
"""When `Life` begins, in seconds since 1970."""
VALID: Final = CertificateStats(topic=".a", serial="5", begins=0.0, ends=3e9)
ENDED: Final = attrs.evolve(VALID, ends=TAKEN - 1.0)
ENDS: Final = attrs.evolve(VALID, ends=TAKEN + 7200.0)


def gateways(*answers: bool | None) -> tuple[FirstContactStats, ...]:
    addresses = (GATEWAY, OTHER)
    return tuple(
        FirstContactStats(address=address, answers=one, seconds=5.0)
        for address, one in zip(addresses, answers, strict=False)
    )


@pytest.fixture(scope="module")
def well() -> Stats:
    """A member of `.a` with a peer, a link, a gateway that answers and a subscriber who reads."""
    world = World(repair=True)
    member, _, _ = (world.join(Topic.parse(topic)) for topic in (".a", ".a", "."))
    assert world.run(60.0, until=lambda: all(one.live_links() for one in member.local_groups))
    stats = stats_of(member, world.now)
    (community,) = stats.communities
    assert community.links[0].contacts
    return attrs.evolve(
        stats,
        certificates=(VALID,),
        revocations=(RevocationStats(issuer="key", signed=1e9, due=3e9),),
        discovery=attrs.evolve(stats.discovery, first_contacts=gateways(True)),
        communities=(attrs.evolve(community, subscriptions=(QUEUE,)),),
    )


class Life:
    """A watch, and the time at which it looks."""

    def __init__(self, *stats: Stats, tell: Tell | None = None) -> None:
        self.watch, self.now = Watch(tell), 100.0
        for one in stats:
            self.look(one, 0.0)

    def look(self, stats: Stats, seconds: float = LOOK_SECONDS) -> tuple[ConditionStats, ...]:
        """Look again after so many seconds."""
        self.now += seconds
        taken = 1e9 + self.now
        return self.watch.look(attrs.evolve(stats, up_seconds=self.now, taken=taken))

    def lasting(self, stats: Stats, seconds: float = LOOK_SECONDS) -> list[str]:
        return [one.name for one in self.look(stats, seconds) if one.stage == "lasting"]


HELD_UP: Final = attrs.evolve(gateways(False)[0], heard_seconds=1.0)
FAULTS: Final[list[tuple[str, str, object, str]]] = [
    ("paused", "liveness.paused_seconds", 9.0, "did not run for 9 s"),
    ("clock_set", "counters.clock_sets", 1, "set 1 time"),
    ("key_twice", "counters.key_conflicts", 2, "2 times"),
    ("in_own_name", "counters.forged", 2, "2 events came in the name"),
    ("no_certificate", "certificates", (ENDED,), "ended at 2001-09-09T01:48:19"),
    ("certificate_ended", "certificates", (VALID, attrs.evolve(ENDED, topic=".b")), "for .b ended"),
    ("certificate_ends", "certificates", (ENDS,), "in 2 hours"),
    ("list_overdue", "revocations.0.due", TAKEN - 300.0, "revocations of key"),
    ("no_list", "unlisted_roots", ("key",), "trusted root key"),
    ("not_admitted", "counters.outputs.strangers_refused", 3, "3 connections"),
    ("not_admitted", "counters.outputs.handshakes_broken", 2, "2 connections"),
    ("strangers", "counters.input.strangers_refused", 1, "1 connection "),
    ("other_release", "counters.input.versions_refused", 1, "another version"),
    ("other_release", "counters.outputs.versions_refused", 1, "another version"),
    ("misfit", "misfits", (f"{OTHER}: it is of the system 'b'",), "of the system"),
    ("too_few_files", "counters.outputs.pipes_refused", 1, "refused"),
    ("too_few_files", "counters.input.connections_refused", 1, "refused"),
    ("deaf", "liveness.deaf", True, "any longer"),
    ("isolated", "liveness.isolated", True, "nothing is heard"),
    ("no_gateway", "discovery.first_contacts", gateways(False, False), GATEWAY),
    ("gateway_silent", "discovery.first_contacts", gateways(True, False), "others do"),
    ("unjoined", "communities.0.state", "joining", ".a is not joined"),
    ("peer_lost", "communities.0.lost_peers", (OTHER,), "in .a"),
    ("slow_subscriber", "communities.0.subscriptions.0.queued_events", 51, "51 events of .a"),
    ("slow_subscriber", "communities.0.subscriptions.0.queued_bytes", 501, "50% full"),
    ("slow_peer", "pipes.crowded_peers", (OTHER,), "half full"),
    ("slow_peer", "discovery.first_contacts", (HELD_UP,), "come late"),
    ("store_filling", "store.bytes", 501, "50% of the room"),
    ("archive_full", "archive.state", "full", "takes nothing for events.archive"),
    ("archive_slow", "archive.waiting_bytes", 501, "50% of the room"),
    ("archive_damaged", "archive.state", "damaged", "events.archive is damaged"),
    ("events_dropped", "counters.missed", 7, "7 events"),
    ("events_gone", "counters.told_missed", 3, "3 events"),
    ("too_many_streams", "counters.unplaced", 9, "9 events refused"),
    ("not_accepted", "counters.unpublished", 9, "9 events"),
    ("keys_let_go", "communities.0.repair.keys_let_go", 3, "3 last values"),
    ("let_go_early", "store.let_go_early", 4, "4 batches"),
    ("callback_fails", "communities.0.callback_errors", 2, "2 times"),
    ("plug_fails", "counters.plug_errors", 2, "2 times"),
    ("fails", "counters.failures", 2, "2 times"),
    ("trace_fails", "counters.trace_failures", 1, "1 time"),
]
OF_TWO_CHANGES: Final = ("alone", "no_link")  # have tests of their own


def test_nothing_is_found_in_what_is_well(well: Stats) -> None:
    assert Life().look(well) == ()


@pytest.mark.parametrize(("name", "path", "value", "word"), FAULTS)
def test_each_fault_is_found_by_its_name_and_comes_with_advice(
    name: str, path: str, value: object, word: str, well: Stats
) -> None:
    life, ill = Life(well), changed(well, path, value)
    life.look(ill)
    found = [one for one in life.look(ill, SETTLED_SECONDS) if one.stage == "lasting"]
    assert [one.name for one in found if not one.because] == [name]
    assert word in found[0].says
    assert found[0].do
    assert found[0].since == found[0].seen - SETTLED_SECONDS


def test_every_row_of_the_table_has_its_fault() -> None:
    assert {row.name for row in TABLE} == {*(name for name, *_ in FAULTS), *OF_TWO_CHANGES}


def test_the_documentation_has_the_table() -> None:
    """A row that is missing is the one shown."""
    page = (Path(__file__).parents[4] / "docs/operating.md").read_text("utf-8").splitlines()
    for row in TABLE:
        mark = " ?" if row.ok is None else ""
        level = "" if row.level is None else logging.getLevelName(row.level)
        explains = ", ".join(f"`{one}`" for one in row.explains)
        assert f"| `{row.name}`{mark} | {row.meaning} | {level} | {explains} |" in page


def test_a_row_explains_rows_below_it() -> None:
    """So no condition can be its own cause, and causes are shown above consequences."""
    names = [row.name for row in TABLE]
    for row in TABLE:
        assert set(row.explains) <= set(names[names.index(row.name) + 1 :])


def test_a_gateway_that_never_answered_is_not_one_that_does_no_longer(well: Stats) -> None:
    silent = changed(well, "discovery.first_contacts", gateways(False))
    (never,) = Life().look(silent)
    (no_longer,) = Life(well).look(silent)
    assert "no gateway has ever answered" in never.says
    assert "no gateway answers any longer" in no_longer.says
    assert never.do != no_longer.do


@pytest.mark.parametrize(
    ("answers", "otherwise"),
    [((False,), "no_gateway"), ((False, True), "gateway_silent"), ((False, False), "no_gateway")],
)
def test_a_gateway_whose_answers_wait_behind_what_it_sends_as_a_peer_is_not_blamed(
    answers: tuple[bool, ...], otherwise: str, well: Stats
) -> None:
    """The pipes to this process are full, as the peer says, too; nobody restarts a gateway."""
    first, *others = gateways(*answers)
    for heard_seconds, name in ((1.0, "slow_peer"), (9.0, otherwise), (None, otherwise)):
        gateway = attrs.evolve(first, heard_seconds=heard_seconds)
        life, stats = Life(well), changed(well, "discovery.first_contacts", (gateway, *others))
        life.look(stats)
        assert life.lasting(stats, SETTLED_SECONDS) == [name]


def test_a_process_that_never_heard_of_anybody_is_not_one_that_does_no_longer(well: Stats) -> None:
    deaf = changed(well, "liveness.deaf", True)
    (never,) = Life().look(deaf)
    (no_longer,) = Life(well).look(deaf)
    assert "no frame has ever reached" in never.says
    assert "--advertise" in never.do
    assert "any longer" in no_longer.says
    assert "--advertise" not in no_longer.do


def test_nodes_of_a_dht_are_spoken_of_as_such(well: Stats) -> None:
    discovery = attrs.evolve(well.discovery, by_udp=True, first_contacts=())
    for state, name in (("degraded", "no_gateway"), ("alone", "unjoined")):
        stats = attrs.evolve(well, discovery=attrs.evolve(discovery, state=state))
        if name == "unjoined":
            stats = changed(stats, "communities.0.state", "joining")
        (found,) = Life().look(stats)
        assert found.name == name
        assert "UDP" in found.do
        assert "gateway" not in found.says


def test_a_founder_is_not_alone_and_who_outlived_all_others_is(well: Stats) -> None:
    founder = changed(well, "communities.0.state", "alone")
    assert Life().look(founder) == ()
    assert Life(well).look(founder) == ()  # the last peer left politely
    last = changed(founder, "communities.0.outlived", True)
    assert Life(well).lasting(last) == ["alone"]


def test_where_nobody_above_ever_was_no_link_is_missed(well: Stats) -> None:
    unlinked = changed(well, "communities.0.links.0.contacts", 0)
    never, no_longer = Life(unlinked), Life(well)
    assert never.lasting(unlinked, SETTLED_SECONDS) == []
    assert no_longer.lasting(unlinked) == []  # another is searched for
    assert no_longer.lasting(unlinked, SETTLED_SECONDS) == ["no_link"]


def test_a_count_that_stands_still_fades_into_history_and_history_ends(well: Stats) -> None:
    life, ill = Life(well), changed(well, "counters.missed", 7)
    life.look(changed(well, "counters.missed", 4))
    (found,) = life.look(ill)
    assert "7 events" in found.says  # since it began to grow
    assert life.lasting(ill, FADES_SECONDS) == ["events_dropped"]
    (over,) = life.look(ill)
    assert (over.name, over.stage, over.since) == ("events_dropped", "over", found.since)
    assert life.look(ill, HISTORY_SECONDS - LOOK_SECONDS) == (over,)
    assert life.look(ill) == ()
    (again,) = life.look(changed(well, "counters.missed", 9))
    assert "2 events" in again.says


def test_the_oldest_event_that_waits_is_a_finding_long_before_the_queue_is_full(
    well: Stats,
) -> None:
    """A reader who takes as many as come leaves some at every look, of which none is old."""
    quick, stalled = Life(well), Life(well)
    path = "communities.0.subscriptions.0.queued_events"
    for delivered in range(10, 200, 10):
        stats = changed(changed(well, path, 10), "communities.0.delivered", delivered)
        assert quick.lasting(stats, SLOW_SECONDS / 2) == []
    waits = changed(changed(well, path, 10), "communities.0.delivered", 10)
    assert stalled.lasting(waits, SLOW_SECONDS) == []  # it may have come just now
    (found,) = stalled.look(waits, SLOW_SECONDS)
    assert "10 events of .a wait" in found.says
    assert "the oldest for 5 s or more" in found.says


def test_who_asks_all_the_time_does_not_hide_that_events_wait(well: Stats) -> None:
    """A doctor that asked fifteen times a second, for a minute, was told of nothing."""
    life, path, later = Life(well), "communities.0.subscriptions.0.queued_events", 0
    for look in range(15 * 60):
        later += look % 30 == 0  # events come behind the one that waits
        waits = changed(well, path, 10 + later)
        found = life.lasting(changed(waits, "communities.0.delivered", 10 + later), 1 / 15)
        if look > 15 * SLOW_SECONDS + 1:
            assert found == ["slow_subscriber"]
        elif look < 15 * SLOW_SECONDS - 1:
            assert found == []


def test_a_consequence_has_its_cause_and_is_no_warning(
    well: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    ill = changed(changed(well, "discovery.first_contacts", gateways(False)), "liveness.deaf", True)
    deaf, gateway = Life(well).look(ill)
    assert (deaf.name, deaf.because) == ("deaf", None)
    assert (gateway.name, gateway.because) == ("no_gateway", "deaf")
    assert [one.getMessage().partition(":")[0] for one in caplog.records] == ["deaf"]


def test_what_a_cause_leaves_behind_for_a_moment_is_no_warning(
    well: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    """The gateway is asked again only some seconds after the process hears of others again."""
    life = Life(well)
    cut_off = changed(well, "discovery.first_contacts", gateways(False))
    for _ in range(9):
        life.look(changed(cut_off, "liveness.deaf", True))
    assert life.lasting(cut_off, FADES_SECONDS - 1.0) == []
    assert "no_gateway" not in caplog.text
    assert life.lasting(cut_off, 1.0) == ["no_gateway"]
    assert "no_gateway: no gateway answers any longer" in caplog.text


def test_the_application_is_told_once_of_each_cause_and_of_its_end(well: Stats) -> None:
    told: list[tuple[str, str, str]] = []
    life = Life(well, tell=lambda kind, name, sight: told.append((kind, name, sight.about)))
    joining = changed(well, "communities.0.state", "joining")
    life.look(joining)
    life.look(well)
    assert told == []  # it ended by itself
    deaf = changed(joining, "liveness.deaf", True)
    for _ in range(9):
        life.look(deaf)
    assert told == [("wrong", "deaf", "")]  # which explains the other
    for _ in range(4):
        life.look(joining)
    assert told[1:] == [("right", "deaf", ""), ("wrong", "unjoined", ".a")]
    life.look(well)
    assert told[3:] == [("right", "unjoined", ".a")]


def test_the_log_has_a_warning_once_with_since_when_and_what_to_do_and_a_line_at_the_end(
    well: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    life, ill = Life(well), changed(well, "communities.0.state", "joining")
    for _ in range(9):
        (found,) = life.look(ill)
    life.look(well)
    begins, ends = caplog.records
    assert {begins.levelno, ends.levelno} == {logging.WARNING}
    assert begins.getMessage() == (
        f"unjoined: .a is not joined (since 2001-09-09T01:48:25+00:00); {found.do}"
    )
    assert ends.getMessage() == "unjoined of .a is over, after 45 s"
    fields = {"event": "condition", "condition": "unjoined", "about": ".a", "since": found.since}
    assert fields.items() <= begins.__dict__["camcast"].items()
    assert (fields | {"seconds": 45.0}).items() <= ends.__dict__["camcast"].items()


def test_what_ends_soon_is_neither_logged_nor_remembered(
    well: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    life, ill = Life(well), changed(well, "communities.0.state", "joining")
    (beginning,) = life.look(ill)
    assert beginning.stage == "beginning"
    assert life.look(well) == ()
    assert caplog.records == []


@pytest.mark.parametrize("path", ["liveness.deaf", "liveness.isolated", "communities.0.state"])
def test_a_process_is_not_ready_from_the_first_moment_on(path: str, well: Stats) -> None:
    ill = changed(well, path, "joining" if path.endswith("state") else True)
    assert well.unready() == ()
    (found,) = Life(well).look(ill)
    assert attrs.evolve(ill, conditions=(found,)).unready() == (f"{found.name}: {found.says}",)


def test_the_end_of_a_certificate_is_told_before_at_and_after_it_and_blames_no_gateway(
    well: Stats, caplog: pytest.LogCaptureFixture
) -> None:
    """The last one: what follows from its end is explained by it."""
    life = Life(well)
    ends = attrs.evolve(VALID, ends=TAKEN + 4 * LOOK_SECONDS)
    stats = changed(well, "certificates", (ends,))
    names = [life.lasting(stats) for _ in range(4)]
    assert names == [["certificate_ends"]] * 4
    cut_off = changed(stats, "discovery.first_contacts", gateways(False))
    life.look(cut_off)
    looked = life.look(cut_off, SETTLED_SECONDS)
    found = {one.name: one.because for one in looked if one.stage == "lasting"}
    assert found == {
        "no_certificate": None,
        "certificate_ended": "no_certificate",
        "no_gateway": "no_certificate",
    }
    assert any(one.unready for one in life.look(cut_off))
    renewed = changed(well, "certificates", (VALID,))
    assert life.lasting(renewed) == []
    said = [record.getMessage() for record in caplog.records]
    assert [one.split(":")[0].partition(" is over")[0] for one in said] == [
        "certificate_ends",
        "no_certificate",
        "certificate_ends of .a",
        "no_certificate",
    ]
