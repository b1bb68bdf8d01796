"""Labels: short, unlike each other, and explained."""

from __future__ import annotations

from random import Random

from camcast.research.pipeline.compare.labels import LABEL_MAX, cut_apart, labels_of
from tests.research.unit.pipeline.compare.rows import row

HOSTILE = (
    *("x" * 300 + end for end in ("a", "b")),
    *(f"{'x' * 100}{middle}{'y' * 100}" for middle in "ab"),
    *("<script>alert(1)</script>", "<b>", "a & b", "&amp;", "\"'`", "{{ 7 * 7 }}", "%s{}"),
    *("\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}", "a\u202eb", "a\nb", "\x1b[31mred", "a\tb"),
    *("\N{CJK UNIFIED IDEOGRAPH-6E2C}" * 30, "e\N{COMBINING ACUTE ACCENT}", "datum.who", "null"),
)


def test_cut_names_are_short_and_no_two_are_equal() -> None:
    """200 sets of names of two letters, which agree at one end, at both, or in nothing."""
    rng = Random(4)
    for _ in range(200):
        names = {
            rng.choice(("", "abcdef" * 4))
            + "".join(rng.choices("ab", k=rng.randint(0, 20)))
            + rng.choice(("", "fedcba" * 4))
            for _ in range(rng.randint(1, 30))
        }
        shown = cut_apart(sorted(names), 12)
        assert set(shown) == names
        assert len(set(shown.values())) == len(names)
        for name, short in shown.items():
            assert len(short) <= 12
            assert short == name or len(name) > 12


def test_a_short_name_that_looks_cut_is_not_mistaken_for_one() -> None:
    names = ["x" * 30 + "a" * 30 + "x" * 30, "x" * 30 + "b" * 30 + "x" * 30]
    taken = [*cut_apart(names, 8).values()]
    assert len(set(cut_apart([*names, *taken], 8).values())) == 4


def test_long_settings_have_letters_and_short_ones_are_said() -> None:
    def labelled(*losses: str, backend: str = "dht") -> list[str]:
        rows = [
            row("reception", [0.5], name, loss=loss) for loss in losses for name in (backend, "x")
        ]
        labels = labels_of([each.variant for each in rows])
        assert {labels.legend.get(letter) for letter in labels.letters.values()} <= {
            f"loss={loss}" for loss in losses
        }
        return list(labels.names.values())

    assert labelled("0", "2") == ["dht (loss=0)", "x (loss=0)", "dht (loss=2)", "x (loss=2)"]
    long = "20 of links that are far"
    assert labelled(long, f"10{long}") == ["dht (A)", "x (A)", "dht (B)", "x (B)"]
    assert labelled("0", "2", backend="a" * 30)[::2] == [
        "a" * 14 + "\N{HORIZONTAL ELLIPSIS} (loss=0)",
        "a" * 14 + "\N{HORIZONTAL ELLIPSIS} (loss=2)",
    ]


def test_thirty_settings_have_letters_in_the_order_of_their_numbers() -> None:
    rows = [row("reception", [0.5], "dht", communities=f".a.long.name={n}") for n in range(30)]
    labels = labels_of([each.variant for each in rows])
    assert [*labels.names.values()][:2] == ["A", "B"]
    assert labels.legend["AD"] == "communities=.a.long.name=29"
    assert labels.legend["C"] == "communities=.a.long.name=2"


def test_hostile_names_have_labels_that_can_be_printed() -> None:
    labels = labels_of([row("reception", [0.5], name).variant for name in HOSTILE])
    shown = list(labels.names.values())
    assert len(set(shown)) == len(HOSTILE)
    assert all(label.isprintable() and 0 < len(label) <= LABEL_MAX for label in shown)
