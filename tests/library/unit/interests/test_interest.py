"""Interests against a dumb twin: every law is checked event by event over a grid of events.

The grid has, for each attribute, all literals that the generated interests name, a number between
any two of them and beyond the ends, a text that none names, and no attribute; and all topics that
they name, with all others that may include an event beside those of its name. So it has an event in
every set that such interests can tell apart, and covering can be asked of it exactly.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from itertools import product
from math import inf, nan
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from camcast.interests.grammar import TERMS_MAX, TEXT_MAX
from camcast.interests.interest import Interest, InterestError, attributes_of
from camcast.interests.term import PIECES_MAX, Term
from camcast.interests.values import ANYTHING, Values, compared, listed
from camcast.vocabulary.topics import ROOT, Topic

TOPICS = (".", ".a", ".b", ".a.a", ".ab")
# The topic of an event, and those above it that its name does not say: all that topics tell apart.
PLACES = [
    (low, tuple(Topic.parse(name) for name in above))
    for low in (".", ".a", ".a.a")
    for above in ((), (".b",), (".ab",), (".b", ".ab"))
]
NUMBERS = (0, 1, 2)
TEXTS = ("p", "q")
NAMES = ("x", "y")
MISSING: Any = object()
VALUES = (MISSING, "", *TEXTS, *(half / 2 for half in range(-1, 6)))

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Tree = tuple[Any, ...]
Event = tuple[Topic, dict[str, Any], tuple[Topic, ...]]

GRID: list[Event] = [
    (
        Topic.parse(topic),
        {name: value for name, value in zip(NAMES, both, strict=True) if value is not MISSING},
        above,
    )
    for topic, above in PLACES
    for both in product(VALUES, repeat=len(NAMES))
]

TOPIC = st.sampled_from(TOPICS).map(lambda name: ("topic", name))
COMPARISON = st.one_of(
    st.tuples(
        st.just("compare"),
        st.sampled_from(NAMES),
        st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(NUMBERS),
    ),
    st.tuples(
        st.just("compare"), st.sampled_from(NAMES), st.sampled_from(["==", "!="]),
        st.sampled_from(TEXTS),
    ),
    st.tuples(
        st.just("in"),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3)
        | st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    ),
)  # fmt: skip
TREES: st.SearchStrategy[Tree] = st.recursive(
    TOPIC | COMPARISON | COMPARISON,
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=6,
)


def written(tree: Tree) -> str:
    match tree:
        case ("topic", name):
            return str(name)
        case ("compare", name, sign, literal):
            return f"{name}{sign}{quoted(literal)}"
        case ("in", name, literals):
            return f"{name} in({' , '.join(map(quoted, literals))})"
        case (word, left, right):
            return f"({written(left)}) {word} ({written(right)})"
    raise AssertionError(tree)


def quoted(literal: Any) -> str:
    return f'"{literal}"' if isinstance(literal, str) else str(literal)


def holds(tree: Tree, topic: Topic, attributes: dict[str, Any], above: tuple[Topic, ...]) -> bool:
    match tree:
        case ("topic", name):
            return any(
                one.name == name or name == "." or one.name.startswith(name + ".")
                for one in (topic, *above)
            )
        case ("compare", name, sign, literal):
            value = attributes.get(name, MISSING)
            if value is MISSING or isinstance(value, str) != isinstance(literal, str):
                return False
            return OPERATORS[sign](value, literal)
        case ("in", name, literals):
            return attributes.get(name, MISSING) in literals
        case ("and", left, right):
            return holds(left, topic, attributes, above) and holds(right, topic, attributes, above)
        case ("or", left, right):
            return holds(left, topic, attributes, above) or holds(right, topic, attributes, above)
    raise AssertionError(tree)


def holding(tree: Tree) -> list[bool]:
    return [holds(tree, *event) for event in GRID]


def conjunctions(tree: Tree) -> Iterator[Tree]:
    if tree[0] in ("and", "or"):
        if tree[0] == "and":
            yield tree
        yield from (part for side in tree[1:] for part in conjunctions(side))


def parsed(tree: Tree) -> Interest | None:
    """Parse what is written; None where a part of it can match no event, which is refused."""
    try:
        return Interest.parse(written(tree))
    except InterestError as error:
        if "no event can match both" in error.message:
            return None
        raise


INTERESTS = TREES.map(parsed).filter(lambda one: one is not None)


def matched(interest: Interest) -> list[bool]:
    return [interest.matches(*event) for event in GRID]


# -- matching ----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(TREES)
@example(("or", ("topic", "."), ("and", ("compare", "x", "==", 0), ("compare", "x", "==", 1))))
def test_an_interest_matches_what_its_text_says(tree: Tree) -> None:
    interest = parsed(tree)
    if interest is None:
        assert any(not any(holding(part)) for part in conjunctions(tree))
    else:
        assert matched(interest) == holding(tree)


@pytest.mark.parametrize("text", ["x == 5", "x != 5", "x < 9", "x > 0", "x in (5, 6)"])
@pytest.mark.parametrize("value", [None, "5", True, [5], {"x": 5}, nan, b"5"])
def test_a_number_is_compared_with_numbers_only(text: str, value: object) -> None:
    """A comparison with what is missing or of another kind is false, != as well."""
    assert not Interest.parse(text).matches(ROOT, {"x": value})
    assert not Interest.parse(text).matches(ROOT, {})


@pytest.mark.parametrize("text", ['x == "5"', 'x != "6"', 'x in ("5", "6")'])
def test_a_text_is_compared_with_texts_only(text: str) -> None:
    assert Interest.parse(text).matches(ROOT, {"x": "5"})
    assert not Interest.parse(text).matches(ROOT, {"x": 5})
    assert not Interest.parse(text).matches(ROOT, {})


@pytest.mark.parametrize("value", [None, True, nan, [5], b"5"])
def test_what_is_no_number_or_text_is_the_rest(value: object) -> None:
    assert ANYTHING.has(value)
    assert ANYTHING.minus(compared("!=", 5)).has(value)
    assert not compared("!=", 5).has(value)
    assert not ANYTHING.minus(ANYTHING).has(value)


def test_numbers_are_compared_exactly() -> None:
    large = 2**60 + 1  # as a float it is 2^60
    assert not Interest.parse(f"x == {large}").matches(ROOT, {"x": float(2**60)})
    assert Interest.parse(f"x > {2**60}").matches(ROOT, {"x": large})
    assert Interest.parse("x > 1e308").matches(ROOT, {"x": inf})
    assert Interest.parse("x < -1e308").matches(ROOT, {"x": -inf})
    assert Interest.parse("x != 5").matches(ROOT, {"x": 10**400})


def test_the_interest_of_the_readme() -> None:
    quakes = Interest.parse("mag >= 5 and .earthquake.nepal")
    nepal = Topic.parse(".earthquake.nepal.gorkha")
    assert quakes.matches(nepal, {"mag": 7.8})
    assert not quakes.matches(nepal, {"mag": 4.9})
    assert not quakes.matches(nepal, {})
    assert not quakes.matches(Topic.parse(".earthquake.nepal2"), {"mag": 7.8})
    assert str(quakes) == ".earthquake.nepal and mag >= 5"


# -- covering and union -------------------------------------------------------------------------


@settings(max_examples=60)
@given(INTERESTS, INTERESTS)
@example(Interest.parse("x != 1"), Interest.parse("x < 1 or x > 1"))
@example(Interest.parse("x < 1 or x > 1"), Interest.parse("x != 1"))
@example(Interest.parse("x < 1 and y > 0 or x >= 1"), Interest.parse("x >= 0 and y == 1"))
@example(Interest.parse('x != "p" or x == "p"'), Interest.parse('x in ("p", "q")'))
@example(Interest.parse(".a.a or .ab or .b"), Interest.parse(".a"))
@example(Interest.parse(".a and .b"), Interest.parse(".b and .a.a"))
@example(Interest.parse(".b"), Interest.parse(".a.a and .b or .ab and .b"))
@example(Interest.parse('x < 1 or x >= 1 or x == "p" or x != "p"'), Interest.parse("."))
def test_covering_is_what_the_events_say(one: Interest, other: Interest) -> None:
    """Sound, and complete as well: the grid has a witness for every no."""
    implied = all(
        mine or not theirs for mine, theirs in zip(matched(one), matched(other), strict=True)
    )
    assert one.covers(other) == implied


@settings(max_examples=60)
@given(INTERESTS, INTERESTS, INTERESTS)
def test_covering_is_an_order(one: Interest, two: Interest, three: Interest) -> None:
    assert one.covers(one)
    wide, wider = one.union(two), one.union(two, three)
    assert wide.covers(one)
    assert wider.covers(wide)
    if two.covers(one) and three.covers(two):
        assert three.covers(one)


@settings(max_examples=40)
@given(st.lists(INTERESTS, min_size=1, max_size=4))
def test_a_union_is_all_of_them_and_nothing_twice(interests: list[Interest]) -> None:
    union = interests[0].union(*interests[1:])
    expected = [any(one) for one in zip(*map(matched, interests), strict=True)]
    assert matched(union) == expected
    for term in union.terms:
        others = [other for other in union.terms if other is not term]
        assert not term.covered_by(others)
        assert not others or any(
            term.matches(*event) and not any(other.matches(*event) for other in others)
            for event in GRID
        )
    assert union == interests[-1].union(*interests[:-1])
    assert union.union(union) == union


def test_of_a_whole_and_its_parts_the_whole_remains() -> None:
    parts = Interest.parse("x >= 0 and x < 5 or x >= 5")
    assert str(parts.union(Interest.parse("x >= 0"))) == "x >= 0"
    assert str(parts) == "x >= 0 and x < 5 or x >= 5"
    assert str(Interest.parse("x == 1 or x == 2 or x in (1, 2)")) == "x in (1, 2)"


def test_what_only_all_others_together_cover_goes() -> None:
    assert str(Interest.parse("x < 3 or x > 1 or x > 0 and x < 4")) == "x < 3 or x > 1"


def test_too_many_pieces_count_as_not_covered() -> None:
    """Each of these leaves two pieces of each piece; the last would cover them all."""
    others = [
        Term(wanted={f"x{at}": compared(">", 0), f"y{at}": compared(">", 0)}) for at in range(13)
    ]
    assert 2 ** len(others) > PIECES_MAX
    assert not Term().covered_by([*others, Term()])
    assert Term().covered_by([*others[:11], Term()])
    assert Interest([*others, Term()]).covers(Interest([Term()]))  # keeps the last one only


# -- text --------------------------------------------------------------------------------------


@settings(max_examples=75)
@given(INTERESTS)
def test_an_interest_reads_back_as_itself(interest: Interest) -> None:
    assert Interest.parse(str(interest)) == interest
    assert str(Interest.parse(str(interest))) == str(interest)


@given(
    st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    st.sampled_from(["==", "!="]),
)
@example(1e16, "==")
@example(-0.0, "==")
@example(2**53 + 1, "!=")
@example('"\\\n\N{SNOWMAN}', "==")
def test_any_literal_reads_back(literal: float | str, sign: str) -> None:
    interest = Interest([Term(wanted={"x": compared(sign, literal)})])
    again = Interest.parse(str(interest))
    assert again == interest
    assert again.matches(ROOT, {"x": literal}) == (sign == "==")
    assert Interest.parse(str(again)) == again


ANY_NUMBER = st.integers() | st.floats() | st.sampled_from([2**200, 10**45, 10**400, True])
ANY_CUTS = st.lists(st.tuples(ANY_NUMBER, st.booleans()), max_size=6).map(tuple)
ANY_VALUES = (
    st.builds(compared, st.sampled_from(list(OPERATORS)), ANY_NUMBER)
    | st.builds(compared, st.sampled_from(["==", "!="]), st.text(max_size=3))
    | st.builds(
        listed, st.lists(ANY_NUMBER, max_size=3) | st.lists(st.text(max_size=3), max_size=3)
    )
    | st.builds(Values, ANY_CUTS.map(sorted).map(tuple) | ANY_CUTS, st.just(()))
    | st.builds(Values, ANY_CUTS, st.lists(st.text(max_size=3)).map(tuple))
    | st.builds(Values, st.just(()), st.lists(st.text(max_size=3)).map(tuple), st.booleans())
    | st.builds(Values, st.just(()), st.just(("a",)), st.booleans(), st.booleans())
    | st.sampled_from([ANYTHING, Values(), Values(texts=("\ud800",)), Values(numbers=((1, True),))])
)
ANY_NAME = (
    st.sampled_from(["x", "é", "_1", "x", "my attr", "a-b", "", "in", "1a", "x\n"]) | st.text()
)
ANY_TERM = st.builds(
    lambda topic, wanted: (Topic.parse(topic), wanted),
    st.sampled_from(TOPICS),
    st.dictionaries(ANY_NAME, ANY_VALUES, max_size=2)
    | st.dictionaries(st.just("x"), ANY_VALUES, max_size=1),
)


@settings(max_examples=150)
@given(st.lists(ANY_TERM, min_size=1, max_size=3))
def test_what_can_be_built_in_code_reads_back_as_itself(
    parts: list[tuple[Topic, dict[str, Values]]],
) -> None:
    """And what cannot is refused, with the name of an attribute that is to blame."""
    interest = error = None
    try:
        interest = Interest([Term(*part) for part in parts])
    except ValueError as raised:
        error = raised
    if error is not None:
        assert any(repr(name) in str(error) for _, wanted in parts for name in wanted)
    else:
        assert Interest.parse(str(interest)) == interest


@pytest.mark.parametrize("name", ["my attr", "a-b", "", "and", "in", "1st", "x\n", " x", "x==1"])
def test_a_name_that_the_grammar_has_not_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"an attribute is called {name!r}; a name has")):
        Term(wanted={name: compared("==", 5)})


@pytest.mark.parametrize(
    "values",
    [
        compared("==", nan),
        compared("<", inf),
        compared("==", 10**400),
        compared("==", 10**45 + 1),
        compared("==", 10**5000),
        compared("==", True),
        compared("==", "\ud800"),
        listed([]),
        listed([1, "a"]),
        Values(numbers=((1, False), (2, True), (3, False), (4, True))),
        Values(numbers=((1, False), (1, True), (3, False), (4, True))),
        Values(numbers=((2, False), (1, True))),
        Values(numbers=((1, False),)),
        Values(texts=("b", "a")),
        ANYTHING,
        ANYTHING.minus(compared("==", "a")),
    ],
)
def test_values_that_no_comparison_leaves_are_refused(values: Values) -> None:
    with pytest.raises(ValueError, match="no comparison of the attribute 'mag' leaves what"):
        Term(wanted={"mag": values})


def test_numbers_of_other_libraries_are_written_as_numbers() -> None:
    class Ours(float):
        def __repr__(self) -> str:
            return "Ours(5.5)"

    interest = Interest([Term(wanted={"mag": compared(">=", Ours(5.5))})])
    assert str(interest) == "mag >= 5.5"


def test_a_number_has_one_form() -> None:
    forms = {str(Interest.parse(f"x == {form}")) for form in ("5", "5.0", "0.5e1", "05")}
    assert forms == {"x == 5"}
    assert str(Interest.parse("x == 10000000000000000")) == "x == 1e+16"
    assert str(Interest.parse("x == -0.0")) == "x == 0"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" mag>=5 and.earthquake ", ".earthquake and mag >= 5"),
        (".a or .a.b or .a", ".a"),
        (".a and .a.b", ".a.b"),
        (". and x == 1", "x == 1"),
        (".", "."),
        ("x >= 5 and x <= 5", "x == 5"),
        ("x >= 5 and x != 5", "x > 5"),
        ("x in (3, 1, 2, 1) and x != 2", "x in (1, 3)"),
        ('x != "b" and x != "a"', 'x != "a" and x != "b"'),
        ("(.a or .b) and x > 1 and (.b or .c)", ".a and .c and x > 1 or .b and x > 1"),
        (".b and x > 1 and .a.c and .a", ".a.c and .b and x > 1"),
        ("y < 1 and x > 2 and x != 4", "x > 2 and x != 4 and y < 1"),
    ],
)
def test_the_canonical_text(text: str, canonical: str) -> None:
    assert str(Interest.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("", 1, "found nothing"),
        ("mag >> 5", 6, "expected a number or a text, found '>'"),
        ("mag = 5", 5, "equality is =="),
        ("mag >= .5", 8, "write 0.5"),
        ("place == 'x'", 10, "double quotes"),
        ("place == x", 10, "double quotes"),
        ("not mag > 5", 1, "there is no not"),
        ("5 < mag", 1, "stands on the left"),
        (".b or .a..b", 7, "empty level"),
        ("mag > 5 and mag < 3", 13, "no event can match both"),
        (" and ".join(f".t{n}" for n in range(9)), 65, "at most 8 topics"),
        ('x == 1 and x == "a"', 12, "no event can match both"),
        ('x in (1, "a")', 10, "either numbers or texts"),
        ("x in ()", 7, "found ')'"),
        ("x in 1", 6, "expected '('"),
        ('x < "a"', 5, "== and != only"),
        ("x == 1e999", 6, "too large"),
        ("x == " + "1" * 41, 6, "at most 40 characters"),
        ("x == 5mag", 6, "'5mag' is no number"),
        ("x == 1.", 6, "'1.' is no number"),
        ("(.a", 4, "expected ')', found nothing"),
        (".a .b", 4, "expected and, or, or the end"),
        (".a or and", 7, "found 'and'"),
        ('x == "a', 6, "has no end"),
        (r'x == "a\q"', 8, "Invalid"),
        (r'x == "\ud800"', 6, "surrogate"),
        ("x == 1 $", 8, "found '$'"),
        ("in == 1", 1, "found 'in'"),
    ],
)
def test_an_error_points_at_its_column(text: str, column: int, told: str) -> None:
    with pytest.raises(InterestError, match=re.escape(told)) as caught:
        Interest.parse(text)
    assert caught.value.column == column
    message, line, caret = str(caught.value).split("\n")
    assert message.startswith(f"column {column}: ")
    assert line == "  " + text
    assert caret.index("^") == 2 + column - 1


def test_of_a_long_text_the_error_shows_the_part_in_question() -> None:
    with pytest.raises(InterestError) as caught:
        Interest.parse(" or ".join([".aa"] * 40 + ["?"] + [".bb"] * 40))
    _, line, caret = str(caught.value).split("\n")
    assert line[caret.index("^")] == "?"
    assert len(line) < 80


TOKENS = st.sampled_from(
    ["and", "or", "in", "not", "x", ".", ".a", "..", "(", ")", ",", "==", "=", "<", "!", "5", "-1",
     "1e9", '"p"', '"', "\\", "\n", " ", "é", "\ud800", "\x00"]
)  # fmt: skip


@settings(max_examples=200)
@given(st.lists(TOKENS, max_size=14).map(" ".join) | st.lists(TOKENS).map("".join) | st.text())
def test_the_parser_raises_nothing_else(text: str) -> None:
    interest = error = None
    try:
        interest = Interest.parse(text)
    except InterestError as raised:
        error = raised
    if error is not None:
        assert 1 <= error.column <= len(text) + 1
        assert str(error).count("\n") == 2
    else:
        assert Interest.parse(str(interest)) == interest


def test_what_would_take_too_long_is_refused() -> None:
    eleven = " and ".join(f"(x{at} > 1 or y{at} > 1)" for at in range(11))
    assert TERMS_MAX < 2**11
    with pytest.raises(InterestError, match="alternatives"):
        Interest.parse(eleven)
    with pytest.raises(InterestError, match="parentheses within each other"):
        Interest.parse("(" * 5000 + ".a" + ")" * 5000)
    with pytest.raises(InterestError, match="characters"):
        Interest.parse(" " * TEXT_MAX + ".a")
    assert str(Interest.parse("(" * 32 + ".a" + ")" * 32)) == ".a"
    assert len(Interest.parse(" or ".join(f"(.a{at})" for at in range(40))).terms) == 40


def test_an_interest_in_nothing_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="terms"):
        Interest([])


# -- attributes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "attributes"),
    [
        (
            b'{"mag": 5.5, "place": "Gorkha", "id": null}',
            {"mag": 5.5, "place": "Gorkha", "id": None},
        ),
        (b"[5]", {}),
        (b"5", {}),
        (b"", {}),
        (b"goal", {}),
        (b'{"mag": 5.5', {}),
        (b"\xff\xfe", {}),
        (b'{"a":' * 100_000, {}),
    ],
)
def test_attributes_are_those_of_a_json_object(payload: bytes, attributes: dict[str, Any]) -> None:
    assert attributes_of(payload) == attributes
