"""Shares: whoever says much loses only what it said itself."""

from __future__ import annotations

from camcast.vocabulary.share import Share


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
