"""TOML read into attrs classes: what is wrong is named with its file, its line and its key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import field, frozen, validators
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.scenarios.toml_file import TomlError, TomlFile
from camcast.vocabulary.topics import ROOT, Topic


@frozen(kw_only=True)
class Inner:
    share: float = field(default=0.5, validator=validators.le(1.0))
    low: float = 0.0
    high: float = 1.0
    where: Topic | None = None
    also: tuple[Topic, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError(f"high={self.high} is below low={self.low}")


@frozen(kw_only=True)
class Outer:
    size: int
    name: str = "nobody"
    fast: bool = False
    file: Path | None = None
    kind: Literal["plain", "fancy"] = "plain"
    rate: float | None = None
    topics: Mapping[Topic, int] = field(factory=dict)
    options: Mapping[str, object] = field(factory=dict)
    inner: Inner = field(factory=Inner)
    events: tuple[Inner, ...] = ()

    def __attrs_post_init__(self) -> None:
        for topic, size in self.topics.items():
            if size < 0:
                raise ValueError(f"topic {topic} has size {size}")
        if "share" in self.options:
            raise LookupError("kind 'plain' has no option 'share'; it has: size, low")
        if self.name == "":
            raise ValueError


GOOD = """\
size = 3 # a comment
name = "some = body"
fast = true
file = "beside.csv"
kind = "fancy"
rate = 2
[topics]
"." = 1
".a.b" = 2
'.c' = 3
[options]
anything = [1, "2"]
[inner] # another
share = 0.25
where = ".a"
[[events]]
low = 1
high = 2
[[events]]
also = [".", ".b"]
"""


def read(tmp_path: Path, content: str | bytes) -> Outer:
    path = tmp_path / "a.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return TomlFile(path).read(Outer)


def test_a_file_says_everything(tmp_path: Path) -> None:
    got = read(tmp_path, GOOD)
    a, b = Topic.parse(".a"), Topic.parse(".b")
    assert got == Outer(
        size=3,
        name="some = body",
        fast=True,
        file=tmp_path / "beside.csv",
        kind="fancy",
        rate=2.0,
        topics={ROOT: 1, Topic.parse(".a.b"): 2, Topic.parse(".c"): 3},
        options={"anything": [1, "2"]},
        inner=Inner(share=0.25, where=a),
        events=(Inner(low=1, high=2), Inner(also=(ROOT, b))),
    )
    assert isinstance(got.rate, float)
    assert isinstance(got.events[0].low, float)
    assert read(tmp_path, "size = 1") == Outer(size=1)


def test_what_a_file_says_may_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(GOOD, "utf-8")
    assert "name" in TomlFile(path).content


BAD: list[Any] = [  # of texts and what they are told; of long ones, with a name
    # unknown keys, in each kind of table
    (GOOD.replace("fast", "slow"), ":3: slow: unknown key; known are size, name, fast, file,"),
    (GOOD.replace("share =", "part ="), ":14: inner.part: unknown key; known are share, low, high"),
    (GOOD.replace("also", "too"), ":20: events.too: unknown key"),
    (GOOD.replace("high = 2", "tall = 2"), ":18: events.tall: unknown key"),
    (GOOD + "[more]\nx = 1\n", ":21: more: unknown key"),
    ("size = 1\ninner.part = 2\n", ": inner.part: unknown key"),  # its line is not looked for
    # types
    (GOOD.replace("= 3 #", '= "3" #'), ":1: size: takes a whole number, not '3'"),
    (GOOD.replace("= 3 #", "= 3.0 #"), ":1: size: takes a whole number, not 3.0"),
    (GOOD.replace("= 3 #", "= true #"), ":1: size: takes a whole number, not True"),
    (GOOD.replace("true", "1"), ":3: fast: takes true or false, not 1"),
    (GOOD.replace("rate = 2", "rate = true"), ":6: rate: takes a number, not True"),
    (GOOD.replace("rate = 2", "rate = inf"), ":6: rate: takes a number that is finite, not inf"),
    (GOOD.replace("rate = 2", "rate = nan"), ":6: rate: takes a number that is finite, not nan"),
    (GOOD.replace('"some = body"', "7"), ":2: name: takes text, not 7"),
    (GOOD.replace('"beside.csv"', "7"), ":4: file: takes the name of a file, not 7"),
    (GOOD.replace('"fancy"', '"odd"'), ":5: kind: is one of plain, fancy, not 'odd'"),
    (GOOD.replace('"fancy"', "[]"), ":5: kind: is one of plain, fancy, not []"),
    (GOOD.replace('[".", ".b"]', '"."'), ":20: events.also: takes an array, not '.'"),
    ("size = 1\ninner = 3\n", ":2: inner: is a table, written as [inner]; not 3"),
    ("size = 1\ntopics = 3\n", ":2: topics: is a table, written as [topics]; not 3"),
    ("size = 1\nevents = [1]\n", ":2: events: is a table, written as [[events]]; not 1"),
    (
        "size = 1\n[events]\nlow = 1\n",
        ":2: events: takes an array of tables, written as [[events]]",
    ),
    # topics
    (GOOD.replace('where = ".a"', 'where = "a"'), ":15: inner.where: topic 'a' must start with"),
    (GOOD.replace('where = ".a"', "where = 1"), ":15: inner.where: topic '1' must"),
    (GOOD.replace('".b"]', '"b"]'), ":20: events.also: topic 'b' must start with"),
    (GOOD.replace("'.c'", "c"), ":10: topics.c: topic 'c' must start with"),
    # what a class says of its values
    (GOOD.replace("share = 0.25", "share = 1.5"), ":14: inner.share: 'share' must be <= 1.0: 1.5"),
    (GOOD.replace("high = 2", "high = 0"), ":18: events.high: high=0.0 is below low=1.0"),
    (GOOD.replace("high = 2", "").replace("low = 1", "low = 3"), ":17: events.low: high=1.0 is"),
    (GOOD.replace("'.c' = 3", "'.c' = -3"), ':10: topics.".c": topic .c has size -3'),
    (GOOD.replace('".a.b" = 2', '".a.b" = -3'), ':9: topics.".a.b": topic .a.b has size -3'),
    (GOOD.replace("anything", "share"), ":12: options.share: kind 'plain' has no option 'share'"),
    ("size = 1\nname = ''\n", ": "),  # an error without words
    # what is missing
    (GOOD.replace("size = 3", ""), ": the key 'size' is missing"),
    # no TOML
    ("size = 1\nname =\n", ": not TOML: Invalid value (at line 2, column 7)"),
    ("size = 1\nsize = 2\n", ": not TOML: Cannot overwrite a value (at line 2"),
    pytest.param("size = " + "[" * 10_000, ": not TOML: nested deeper than 32", id="deep"),
    pytest.param("size = 1" + "0" * 5_000, ": not TOML: Exceeds the limit", id="digits"),
    pytest.param(
        GOOD.replace("rate = 2", "rate = 1" + "0" * 400),
        ":6: rate: takes a number that is finite",
        id="no float",
    ),
    (b"size = 1\n# caf\xe9\n", ":2: not TOML: not UTF-8: invalid continuation byte"),
]


@pytest.mark.parametrize(("content", "named"), BAD)
def test_what_is_wrong_is_named_with_line_and_key(
    tmp_path: Path, content: str | bytes, named: str
) -> None:
    with pytest.raises(TomlError) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'a.toml'}{named}")


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(TomlError) as caught:
            TomlFile(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith("; name a file that can be read")


def test_a_key_of_a_table_that_is_a_class_is_not_blamed(tmp_path: Path) -> None:
    """The message says 'low' and 'share', which are keys of [inner], too; it means [options]."""
    content = "size = 1\n[inner]\nshare = 0.5\nlow = 0\n[options]\nlow = 1\nshare = 1\n"
    with pytest.raises(TomlError, match=r":7: options\.share: "):
        read(tmp_path, content)


@frozen
class Numbers:
    a: int = 0
    b: int = 0
    c: int = 0

    def __attrs_post_init__(self) -> None:
        for name in ("a", "b", "c"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name!r} is negative, like a, b or c must not be")


@frozen
class Tables:
    numbers: tuple[Numbers, ...] = ()


@given(st.data())
def test_the_line_is_found_among_comments_and_other_tables(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    """Of some tables with some keys one value is wrong: its line and key are named."""
    tables = data.draw(
        st.lists(
            st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=3),
            min_size=1,
            max_size=4,
        )
    )
    which = data.draw(st.integers(0, len(tables) - 1))
    key = data.draw(st.sampled_from(tables[which]))
    lines: list[str] = []
    expected = 0
    for number, keys in enumerate(tables):
        lines += data.draw(
            st.lists(st.sampled_from(["", "# a = -1", "  # [[numbers]]"]), max_size=2)
        )
        lines.append(data.draw(st.sampled_from(["[[numbers]]", " [[ numbers ]] # [x]"])))
        for name in keys:
            wrong = (number, name) == (which, key)
            lines.append(f"{name} = {'-1' if wrong else '1'} # -1")
            expected = len(lines) if wrong else expected
    path = tmp_path_factory.getbasetemp() / "found.toml"
    path.write_text("\n".join(lines), "utf-8")
    file = TomlFile(path)
    with pytest.raises(TomlError, match=rf":{expected}: numbers\.{key}: '{key}' is negative"):
        file.read(Tables)
