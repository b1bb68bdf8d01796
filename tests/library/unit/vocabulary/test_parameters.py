"""The parameters: the paper's values, closed forms, ranges."""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from math import log
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.parameters import (
    PRESETS,
    SETTINGS_PRESETS,
    CommunitySettings,
    Parameters,
    settings_of,
)


def test_the_defaults_are_those_of_section_6_1_1() -> None:
    p = Parameters()
    assert (p.c, p.g, p.a, p.z, p.tau, p.p_sel) == (5, 5, 1, 3, 2, None)


@pytest.mark.parametrize(
    ("size", "c", "fan_out"),
    [
        (1000, 5, 12),  # the paper's setting: ln 1000 + 5 = 11.91
        (1, 5, 5),
        (2, 5, 6),  # 5.69
        (100, 5, 10),  # 9.61
        (10_000, 5, 15),  # 14.21
        (1000, 0, 7),  # 6.91
        (84, 0, 5),  # 4.43, the communities of 6.2.1
        (27, 0, 4),  # 3.30
        (7, 0, 2),  # 1.95
        (1, 0, 1),
        (7, -10, 1),  # never less than one
        (0, 5, 5),  # an estimate below 1 counts as 1
        (1000, 0.5, 8),  # 7.41
    ],
)
def test_the_fan_out_is_the_ceiling_of_ln_n_plus_c(size: float, c: float, fan_out: int) -> None:
    assert Parameters(c=c).fan_out(size) == fan_out


@given(st.floats(1, 1e9), st.floats(-10, 100))
def test_the_fan_out_is_the_least_whole_number_that_suffices(size: float, c: float) -> None:
    fan_out, wanted = Parameters(c=c).fan_out(size), log(size) + c
    assert fan_out == 1 or fan_out - 1 < wanted
    assert fan_out >= wanted


@pytest.mark.parametrize(
    ("size", "p_sel"), [(1000, 0.005), (10, 0.5), (5, 1), (4, 1), (1, 1), (0.1, 1)]
)
def test_p_sel_is_g_over_n_and_certain_in_a_small_community(size: float, p_sel: float) -> None:
    assert Parameters(g=5).selection_probability(size) == pytest.approx(p_sel)


@pytest.mark.parametrize("fixed", [0.0, 0.3, 1.0])
def test_p_sel_can_be_fixed(fixed: float) -> None:
    assert Parameters(p_sel=fixed).selection_probability(1000) == fixed
    assert Parameters(p_sel=fixed).selection_probability(2) == fixed


@pytest.mark.parametrize(("a", "z", "p_a"), [(1, 3, 1 / 3), (2, 4, 0.5), (3, 3, 1), (9, 3, 1)])
def test_p_a_is_a_over_z(a: float, z: int, p_a: float) -> None:
    assert Parameters(a=a, z=z).link_probability(1000, z) == pytest.approx(p_a)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 100])
@pytest.mark.parametrize("links", [1, 2, 3])
def test_the_mean_of_g_a_upward_messages_holds_in_small_communities_too(
    size: int, links: int
) -> None:
    """Unless everybody sends to everybody, which is then the most there is."""
    parameters = Parameters(g=5, a=1, z=3)
    p_a = parameters.link_probability(size, links)
    mean = size * parameters.selection_probability(size) * p_a * links
    assert mean == pytest.approx(min(5 * 1, size * links))


def test_a_fixed_p_sel_goes_with_the_papers_p_a() -> None:
    assert Parameters(p_sel=1.0, a=1, z=4).link_probability(1, 4) == 0.25


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("links", [1, 2, 4])
def test_as_printed_p_a_is_a_over_z_whoever_is_there(size: int, links: int) -> None:
    """3.5, note 7; ours is larger where there are fewer than g processes, or than z links."""
    printed = Parameters(**PRESETS["paper"], g=5, a=1, z=4)
    assert printed.link_probability(size, links) == 0.25
    assert (Parameters(g=5, a=1, z=4).link_probability(size, links) == 0.25) == (
        size == 100 and links == 4
    )


@pytest.mark.parametrize(("size", "c"), [(1000, 5), (7, 0), (1, 5), (1, -3), (84, 0.5)])
def test_as_printed_the_fan_out_is_how_often_the_loop_of_figure_8_runs(
    size: float, c: float
) -> None:
    sent, j = 0, 0
    while j <= log(size) + c:  # for (j=0;j<=ln(Nt)+ct;j++)
        sent, j = sent + 1, j + 1
    assert Parameters(c=c, as_printed=True).fan_out(size) == sent


@pytest.mark.parametrize(("z", "tau"), [(1, 0), (3, 2), (10, 9)])
def test_tau_is_one_less_than_z_unless_given(z: int, tau: int) -> None:
    assert Parameters(z=z).tau == tau
    assert Parameters(z=z, tau=0).tau == 0
    assert Parameters(z=z, tau=z).tau == z


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"c": -11}, {"c": 101}, {"c": NAN}, {"g": 0}, {"g": NAN}, {"a": 0}, {"a": -1}),
        *({"z": 0}, {"z": 1001}, {"tau": -1}, {"tau": 4}, {"p_sel": -0.1}, {"p_sel": 1.1}),
        *({"p_sel": NAN}, {"refresh_probability": 1.1}, {"batch_events_max": 0}),
        *({"search_seconds": 0}, {"search_seconds_max": 0}, {"check_seconds": 0}),
        *({"g": INF}, {"a": INF}, {"g": 10**400}, {"check_seconds": INF}, {"search_seconds": NAN}),
    ],
    ids=str,
)
def test_a_value_outside_its_range_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CommunitySettings(**wrong)


class Size(IntEnum):
    """Whole numbers of a type of their own, as those of numpy are."""

    THREE = 3


def test_numbers_of_other_types_become_such_as_messages_carry() -> None:
    made = Parameters(c=cast("Any", Fraction(5, 2)), z=Size.THREE)
    assert (type(made.c), type(made.z), type(made.tau)) == (float, int, int)
    assert made == Parameters(c=2.5, z=3)
    with pytest.raises(ValueError, match="c is a finite number"):
        Parameters(c=cast("Any", Fraction(10**400)))


def test_the_paper_s_parameters_leave_the_rest_of_the_settings_as_it_was() -> None:
    before = CommunitySettings(c=1, z=9, spread="tree", retention_seconds=7)
    after = before.with_parameters(Parameters(c=2, p_sel=0.5))
    assert after == CommunitySettings(c=2, p_sel=0.5, spread="tree", retention_seconds=7)
    assert settings_of(Parameters(a=2)) == CommunitySettings(a=2)


def test_settings_replace_all_settings() -> None:
    settings = CommunitySettings(retention_seconds=5)
    assert CommunitySettings(c=1, spread="tree").with_parameters(settings) is settings


def test_a_preset_of_settings_has_the_same_parameters() -> None:
    for name, values in SETTINGS_PRESETS.items():
        assert settings_of(Parameters(**PRESETS[name])).as_printed is values["as_printed"]
        CommunitySettings(**values)


def test_an_unknown_spread_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^there is no spread 'x'; there is: auto, infect, tree$"):
        CommunitySettings(spread="x")  # type: ignore[arg-type]  # for that it is refused
