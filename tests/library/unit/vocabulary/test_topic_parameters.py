"""Parameters by topic: what is inherited, what is refused and where, and the text of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topic_parameters import TopicParameters, TopicParametersError
from camcast.vocabulary.topics import ROOT, Topic

A, AB, ABC, R = map(Topic.parse, (".a", ".a.b", ".a.b.c", ".r"))


def read(path: Path, text: str) -> TopicParameters:
    file = path / "p.toml"
    file.write_text(text)
    return TopicParameters.read(file)


def test_a_subtopic_inherits_what_it_does_not_say(tmp_path: Path) -> None:
    said = read(
        tmp_path,
        '[topics."."]\nc = 2\nsuccess = 0.9\n[topics.".a"]\ng = 20\nz = 5\n'
        '[topics.".a.b.c"]\ng = 7\nsuccess_up = 0.5\n',
    )
    before = CommunitySettings(a=2, retention_seconds=10)
    assert said.over(R, before) == CommunitySettings(c=2, a=2, retention_seconds=10)
    for topic in (A, AB):
        after = CommunitySettings(c=2, g=20, a=2, z=5, retention_seconds=10)
        assert said.over(topic, before) == after
    assert (said.over(ABC, before).g, said.over(ABC, before).tau) == (7, 4)
    assert [said.share(topic, "success") for topic in (ROOT, A, ABC)] == [0.9, 0.9, 0.9]
    assert [said.share(topic, "success_up") for topic in (ROOT, AB, ABC)] == [None, None, 0.5]
    assert TopicParameters().over(ABC, before) is before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[topics.".a"]\nc = 1\ng = 0', "p.toml:3: .a: g: 'g' must be > 0: 0"),
        ('[topics.".a"]\ng = "20"', "p.toml:2: .a: g: g is a number, and not '20'"),
        ('[topics.".a"]\ng = true', "p.toml:2: .a: g: g is a number, and not True"),
        ('[topics.".a"]\nc = nan', "p.toml:2: .a: c: c is a finite number"),
        ('[topics.".a"]\nz = 2.5', "p.toml:2: .a: z: z is a whole number"),
        ('[topics.".a"]\nas_printed = 1', "p.toml:2: .a: as_printed: as_printed is True or False"),
        ('[topics.".a"]\np_sel = 1.5', "p.toml:2: .a: p_sel: 'p_sel' must be <= 1"),
        ('\n[topics.".a"]\nsuccess = 1.5', "p.toml:3: .a: success: success is a probability"),
        ('[topics.".a"]\nsuccess_up = true', "p.toml:2: .a: success_up: success_up is a number"),
        ('[topics.".a"]\nq = 1', "p.toml:2: .a: q: there is no parameter 'q'; there is: c, g"),
        ('[topics.".a"]\nz = 4\ntau = 5', "p.toml:3: .a: tau: tau=5 is larger than z=4"),
        ('[topics.".a"]\ntau = 3\n[topics.".a.b"]\nz = 1', "p.toml:3: .a.b: tau: tau=3 is larger"),
        ("[topics.a]\ng = 1", "p.toml:1: a: topic 'a' must start with '.'"),
        ('[topics]\n".a" = 5', "p.toml:2: .a: it is a table, written as [topics"),
        ('[".a"]\ng = 5', "p.toml:1: .a: it is no table of a topic, which is written as [topics"),
        ("g = 5", "p.toml:1: g: it is no table of a topic"),
        ("topics = 5", "p.toml:1: it is no table of a topic"),
        ("[topics", "p.toml: not TOML:"),
    ],
)
def test_a_wrong_file_is_refused_with_line_topic_and_key(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(TopicParametersError) as refused:
        read(tmp_path, text)
    assert why in str(refused.value)


def test_no_file_and_no_text_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TopicParametersError, match=r"none\.toml: No such file"):
        TopicParameters.read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(TopicParametersError, match=r"bytes\.toml: not TOML"):
        TopicParameters.read(tmp_path / "bytes.toml")


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "c": st.floats(-10, 100),
        "g": st.floats(1e-6, 1e12),
        "a": st.integers(1, 100),
        "z": st.integers(1, 1000),
        "p_sel": st.floats(0, 1),
        "as_printed": st.booleans(),
        "success": st.floats(0, 1),
        "success_up": st.floats(0, 1),
    },
)


@given(st.dictionaries(st.sampled_from([ROOT, A, AB, R]), VALUES))
def test_the_text_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, said: dict[Topic, dict[str, Any]]
) -> None:
    given = TopicParameters(said)
    assert read(tmp_path_factory.getbasetemp(), given.as_toml()) == given


@given(VALUES, VALUES)
def test_a_key_of_the_topic_counts_before_one_above(
    above: dict[str, Any], own: dict[str, Any]
) -> None:
    said = TopicParameters({A: above, AB: own})
    together = TopicParameters({AB: above | own})
    assert said.over(AB, Parameters()) == together.over(AB, Parameters())
