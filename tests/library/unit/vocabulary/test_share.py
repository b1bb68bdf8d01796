"""Shares: whoever says much loses only what it said itself, and keeps nobody out."""

from __future__ import annotations

from camcast.vocabulary.share import TELLERS_MIN, Latest, Places, Share, Used


def test_the_tellers_that_spoke_last_are_heard() -> None:
    share = Share[str, str, int](each=9, tellers=9)
    for number, teller in enumerate("abca"):
        share.add(teller, "key", number)
    assert share.of("key", 2) == [2, 3]
    assert share.of("key", 9) == [1, 2, 3]
    assert share.of("nonesuch", 9) == []


def test_a_flood_drives_out_its_tellers_own_words_alone() -> None:
    share = Share[str, int, str](each=3, tellers=9)
    share.add("honest", 0, "true")
    for key in range(100):
        share.add("liar", key, "false")
    assert [share.of(key, 9) for key in (0, 96, 97, 99)] == [["true"], [], ["false"], ["false"]]


def test_of_too_many_tellers_the_one_silent_for_longest_is_forgotten() -> None:
    share = Share[str, str, str](each=3, tellers=2)
    for teller in ("a", "b", "a", "c"):
        share.add(teller, "key", teller)
    assert share.of("key", 9) == ["a", "c"]


def test_free_places_are_for_anybody_and_who_has_most_makes_room_for_whoever_has_fewer() -> None:
    places = Places[str, int](8)
    assert [places.take("liar", number) for number in range(8)] == [None] * 8
    assert places.take("liar", 8) == 8
    assert [places.take("honest", number) for number in range(10, 15)] == [7, 6, 5, 4, 14]
    assert [places.take("another", 20), places.take("another", 21)] == [3, 13]
    assert (len(places), 0 in places, 7 in places) == (8, True, False)
    for number in (0, 7, 10):  # 7 has none
        places.leave(number)
    assert len(places) == 6
    assert [places.take("liar", number) for number in (30, 31)] == [None, None]


def test_as_many_tellers_as_there_are_places_have_one_each() -> None:
    places = Places[int, tuple[int, int]](4)
    for teller in range(6):
        for number in range(4):
            places.take(teller, (teller, number))
    assert [(teller, 0) in places for teller in range(6)] == [True] * 4 + [False] * 2


def test_the_oldest_make_room_and_a_sixteenth_is_all_that_one_teller_has() -> None:
    latest = Latest[str, int, str](2 * TELLERS_MIN)
    latest.set("honest", 0, "true")
    for key in range(100):
        latest.set("liar", key, "false")
    assert len(latest) == 3
    assert [latest.get("liar", key) for key in (97, 98, 99)] == [None, "false", "false"]
    latest.set("honest", 0, "changed")
    assert latest.get("honest", 0) == "changed"
    for number in range(2 * TELLERS_MIN):
        latest.set(f"another {number}", 0, "true")
    assert (len(latest), latest.get("liar", 99)) == (2 * TELLERS_MIN, None)
    latest.drop("another 3", 0)
    latest.drop("another 3", 0)
    assert len(latest) == 2 * TELLERS_MIN - 1


def test_what_was_used_longest_ago_makes_room_and_of_a_flood_its_own() -> None:
    used: Used[str, int] = Used(16 * 4)
    for key in range(8):
        used.use(None, key)
    used.use(None, 0)
    assert used.to_go() == 1
    for key in range(10, 14):
        used.use("a quarter", key)
    assert used.to_go() == 1, "a sixteenth is in order"
    for key in range(20, 25):
        used.use("a flood", key)
    used.use("a flood", 20)
    assert used.to_go() == 21
    used.drop(21)
    assert used.to_go() == 1
    used.use(None, 20)
    for key in range(1, 8):
        used.drop(key)
    assert used.to_go() == 0, "what is another teller's now counts there"
