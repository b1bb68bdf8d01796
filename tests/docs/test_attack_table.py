"""docs/security.md's table of attacks: each has a test in each profile, and the tests are there."""

from __future__ import annotations

import re
from pathlib import Path

from camcast.doors.profile import PROFILES
from tests.library.hostile.test_attack_list import ATTACKERS, LISTED

LIBRARY = Path(__file__).parents[1] / "library"
PAGE = LIBRARY.parents[1] / "docs" / "security.md"


def rows() -> dict[str, list[list[str]]]:
    """Return the tests that each row names, a list for each profile."""
    rest = PAGE.read_text().partition("\n## The list of attacks and their tests\n")[2]
    table = rest[rest.index("\n| ") :].lstrip().partition("\n\n")[0]
    lines = re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    head, *body = [line.split(" | ") for line in lines]
    assert head == ["attack", *(f"`{profile}`" for profile in PROFILES)]
    return {attack: [re.findall(r"`(.*?)`", cell) for cell in cells] for attack, *cells in body}


def test_every_attack_of_the_table_has_a_test_that_is_there_in_each_profile() -> None:
    for attack, profiles in rows().items():
        assert len(profiles) == len(PROFILES), attack
        for named in profiles:
            assert named, attack
            for name in named:
                assert any((LIBRARY / room / name).is_file() for room in ("", "hostile")), name


def test_the_attacks_by_messages_are_those_that_are_tried_by_everybody() -> None:
    tried = {
        attack
        for attack, profiles in rows().items()
        if all("test_attack_list.py" in named for named in profiles)
    }
    assert tried == set(LISTED)
    assert {profile for profile, _ in ATTACKERS} == set(PROFILES)
