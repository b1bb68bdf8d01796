"""The verdict against its twin, against known truths, and in words."""

from __future__ import annotations

import re
from random import Random

import pytest

from camcast.research.pipeline.compare.comparison import Row
from camcast.research.pipeline.compare.labels import labels_of
from camcast.research.pipeline.compare.verdict import Verdict, verdicts_of
from camcast.research.pipeline.compare.verdict_words import WORDS_MAX, choice, sentence, table, told
from camcast.research.report.measures import measure_of
from tests.research.unit.pipeline.compare.rows import row
from tests.research.unit.pipeline.compare.verdict_twin import TwinVerdict

ASKED = ("reception", "redundancy", "join_visible_seconds_p50", "heal_seconds_p50")
Truth = dict[str, tuple[float, float]]  # mean and deviation of a run


def drawn(rng: Random, truth: Truth, runs: int) -> dict[str, list[float]]:
    return {name: [rng.gauss(*about) for _ in range(runs)] for name, about in truth.items()}


def verdict_of(metric: str, values: dict[str, list[float]]) -> Verdict:
    rows = [row(metric, of_one, name, "") for name, of_one in values.items()]
    (verdict,) = answered(rows)
    return verdict


def answered(rows: list[Row]) -> list[Verdict]:
    return verdicts_of(rows, labels_of([row.variant for row in rows]))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ASKED)
def test_the_verdict_and_its_sentence_are_those_of_the_twin(metric: str) -> None:
    """Ten runs of three backends, of truths that are equal, near, and far apart."""
    rng, winners = Random(metric), 0
    more_is_better = measure_of(metric).better == "more"
    for gap in (0.0, 0.003, 0.01, 0.05) * 5:
        level = 0.9 + gap if more_is_better else 0.9 - gap
        truth = {"scamp": (0.9, 0.01), "dht": (level, 0.004), "hybrid": (0.9, 0.01)}
        values = drawn(rng, truth, 10)
        found = verdict_of(metric, values)
        twin = TwinVerdict(values, more_is_better=more_is_better)
        assert found.winner == twin.winner
        assert set(found.best) == set(twin.best)
        told = sentence(found)
        if twin.winner:
            winners += 1
            assert f"{twin.winner} is best" in told
            assert choice([found]).startswith(f"Choose {twin.winner} for ")
        else:
            assert "no winner" in told
            said = re.search(r"do not differ by more than ([\d.]*\d)( points)?", told)
            assert said is not None
            bound = float(said[1]) / (100 if said[2] else 1)
            assert bound == pytest.approx(twin.bound, rel=0.06)  # two digits are written
    assert winners >= 5  # those that are far apart


def test_without_a_difference_a_winner_is_named_once_in_twenty_at_most() -> None:
    """400 comparisons of three equal backends: 20 winners, and 38 in one case of 10,000."""
    rng, truth = Random(1), dict.fromkeys(("a", "b", "c"), (10.0, 1.0))
    found = [verdict_of("heal_seconds_p50", drawn(rng, truth, 10)) for _ in range(400)]
    assert sum(verdict.winner is not None for verdict in found) <= 38


def test_a_bound_holds_what_two_truly_differ_by() -> None:
    """In 95 % of 400 comparisons: in 363 or more, but for one case of 10,000."""
    rng, truth = Random(2), {"a": (10.0, 1.0), "b": (10.5, 2.0)}
    held = 0
    for _ in range(400):
        (duel,) = verdict_of("heal_seconds_p50", drawn(rng, truth, 6)).duels
        truly = 0.5 if duel.better == "a" else -0.5
        held += (duel.least or 0) <= truly <= (duel.most or 0)
    assert held >= 363


def test_so_many_more_runs_tell_two_apart() -> None:
    """With as many as the sentence asks for, four tries of five find that difference."""
    samples = {"a": [9.0, 10.0, 11.0, 10.0], "b": [9.6, 10.6, 11.6, 10.6]}
    verdict = verdict_of("heal_seconds_p50", samples)
    (duel,) = verdict.duels
    assert duel.more_runs is not None
    assert f"you need {duel.more_runs} more runs of each" in sentence(verdict)
    rng, needed = Random(3), 4 + duel.more_runs
    deviation = (2 / 3) ** 0.5
    truth = {"a": (10.0, deviation), "b": (10.6, deviation)}
    found = [verdict_of("heal_seconds_p50", drawn(rng, truth, needed)) for _ in range(300)]
    told = sum(verdict.winner == "a" for verdict in found)
    assert told / 300 == pytest.approx(0.8, abs=0.09)  # 4 standard deviations


def test_what_would_tell_the_best_from_several_is_one_sentence() -> None:
    values = {"a": [9.0, 10.0, 11.0, 10.0], "b": [9.6, 10.6, 11.6, 10.6], "c": [9.9, 10.9, 12, 11]}
    verdict = verdict_of("heal_seconds_p50", values)
    b, c = verdict.of_best
    assert (b.worse, c.worse) == ("b", "c")
    assert sentence(verdict).endswith(
        f" To tell a from b you need {b.more_runs} more runs of each, if they differ by 0.6 s, as"
        f" it seems; from c {c.more_runs} more (0.95 s)."
    )


def test_a_winner_in_words() -> None:
    values = {"dht": [10.0, 10.2, 9.8], "scamp": [20.0, 20.2, 19.8]}
    verdict = verdict_of("heal_seconds_p50", values)
    assert sentence(verdict) == "Healing: dht is best, 10 s: 9.55 to 10.5 s below scamp."
    assert choice([verdict]) == "Choose dht for healing."


def test_two_may_be_best_together() -> None:
    values = {"dht": [0.98, 0.99], "hybrid": [0.98, 0.991], "scamp": [0.1, 0.11]}
    verdict = verdict_of("reception", values)
    assert verdict.winner is None
    assert choice([verdict]) == "Choose dht or hybrid for reception."
    told = sentence(verdict)
    assert told.startswith("Reception: no winner; hybrid (98.55%) and dht (98.50%) do not differ")
    assert "above scamp" in told


def test_a_bound_that_every_share_keeps_is_not_said() -> None:
    """Two shares differ by 100 points at most; two wild runs of each allow more."""
    wild = verdict_of("reception", {"dht": [0.1, 0.9], "scamp": [0.2, 0.95]})
    assert wild.winner is None
    assert "are not told apart" in sentence(wild)
    assert "points" not in sentence(wild).partition("To tell")[0]


def test_equal_runs_are_no_certainty() -> None:
    same = verdict_of("reception", {"dht": [1.0] * 3, "scamp": [1.0] * 3})
    assert (same.equal, same.winner) == (True, None)
    assert sentence(same) == "Reception: 100% in every run of all."
    few = verdict_of("reception", {"dht": [1.0] * 3, "scamp": [0.9] * 3})
    assert few.winner is None  # p is 2 / 20
    assert "not told apart" in sentence(few)
    many = verdict_of("reception", {"dht": [1.0] * 5, "scamp": [0.9] * 5})
    assert many.winner == "dht"
    assert "10 points above scamp in every run" in sentence(many)


def test_a_single_run_is_no_evidence() -> None:
    verdict = verdict_of("reception", {"dht": [0.9], "scamp": [0.1]})
    assert verdict.winner is None
    assert "of a single run" in sentence(verdict)
    assert choice([verdict]).startswith("Nothing to choose by")


def test_over_several_p_sel_the_question_is_their_mean() -> None:
    """dht is better at one and worse at the other; each alone would be told."""
    better = [0.9, 0.91, 0.89], [0.5, 0.51, 0.49]
    rows = [
        row("reception", values, backend, "", p_sel)
        for p_sel, (dht, scamp) in ((0.1, better), (1.0, better[::-1]))
        for backend, values in (("dht", dht), ("scamp", scamp))
    ]
    (verdict,) = answered(rows)
    assert verdict.p_sels == (0.1, 1.0)
    assert [standing.mean for standing in verdict.ranked] == pytest.approx([0.7, 0.7])
    assert verdict.winner is None
    assert "mean over 2 p_sel" in sentence(verdict)


def test_who_differs_in_a_parameter_is_compared_and_named_by_it() -> None:
    rows = [row("reception", [0.1, 0.11], "scamp", "", c="2")]
    rows += [row("reception", [0.9, 0.91], "scamp", "", c="5")]
    (verdict,) = answered(rows)
    assert (verdict.winner, verdict.where) == ("c=5", "")


def test_backends_are_compared_at_each_value_of_a_parameter() -> None:
    rows = [
        row("reception", [level, level + 0.01], backend, "", c=c)
        for c in ("2", "5")
        for backend, level in (("dht", 0.9), ("scamp", 0.1))
    ]
    verdicts = answered(rows)
    assert [(v.where, v.winner) for v in verdicts] == [("c=2", "dht"), ("c=5", "dht")]
    assert sentence(verdicts[0]).startswith("Reception at c=2: dht is best")


def test_who_differs_in_several_things_at_once_is_compared_as_one() -> None:
    rows = [row("reception", [0.9, 0.91], "dht", "", c="2")]
    rows += [row("reception", [0.1, 0.11], "scamp", "", c="5")]
    (verdict,) = answered(rows)
    assert verdict.winner == "dht (c=2)"


def test_shortfalls_are_asked_for_where_there_are_any() -> None:
    rows = [row("unhealed", [0.0, 0.0], b, "") for b in ("dht", "scamp")]
    assert answered(rows) == []
    some = [*rows[:1], row("unhealed", [3.0, 4.0], "scamp", "")]
    assert [verdict.question for verdict in answered(some)] == ["crashes never healed"]


def test_each_benchmark_is_a_question_of_its_own() -> None:
    metric = "live.fast(nodes=50).deliveries_per_second"
    rows = [row(metric, [level, level + 1, level + 2], b, "") for b, level in (("a", 9), ("b", 90))]
    rows += [row("live.fast.nodes", [1.0, 2.0], b, "") for b in ("a", "b")]
    (verdict,) = answered(rows)
    assert verdict.winner == "b"
    assert choice([verdict]) == "Choose b for deliveries per second of live.fast(nodes=50)."


TOWNS = [{"communities": f".a={n}, .a.b={2 * n}, .a.b.c={4 * n}"} for n in (6, 8, 20, 30, 40, 50)]
FOUR = ["cyclon", "dht", "hybrid", "scamp"]


@pytest.mark.parametrize(
    ("names", "settings"),
    [
        (FOUR[:3], [{}]),
        ([f"membership_{n:02}" for n in range(20)], [{}]),
        (FOUR, TOWNS),
        (FOUR, [{"note": "many words " * 60 + str(n)} for n in range(4)]),
    ],
    ids=["three", "twenty", "four in six settings", "four in settings of 120 words"],
)
def test_a_verdict_is_a_paragraph_and_what_it_leaves_out_is_in_the_table(
    names: list[str], settings: list[dict[str, str]]
) -> None:
    rng, asked = Random(6), ASKED[: 2 if len(names) > 4 else 4]
    rows = [
        row(metric, [rng.gauss(mean, 0.02) for _ in range(3)], name, "", None, **setting)
        for metric in asked
        for setting in settings
        for name in names
        for mean in [rng.uniform(0.4, 0.9)]
    ]
    labels = labels_of([one.variant for one in rows])
    verdicts = verdicts_of(rows, labels)
    assert len(verdicts) == len(asked) * len(settings)
    chosen, sentences = told(verdicts)
    assert chosen
    assert sum(len(text.split()) for text in (chosen, *sentences)) <= WORDS_MAX
    assert sentences == ([sentence(one) for one in verdicts] if len(names) == 3 else [])
    heads, lines = table(verdicts)
    assert len(lines) == len(verdicts)
    assert ("at" in heads) == (len(settings) > 1)
    for verdict, line in zip(verdicts, lines, strict=True):
        assert verdict.best[0] in " ".join(line)  # the best, and its letter
        assert verdict.where in line or not verdict.where
        assert {standing.name for standing in verdict.ranked} == set(names)  # bare
    for text in (chosen, *map(sentence, verdicts[-1:]), *(cell for line in lines for cell in line)):
        assert not any(value in text for one in settings for value in one.values())
    assert {labels.legend[one.where] for one in verdicts if one.where} == {
        f"{name}={value}" for one in settings for name, value in one.items()
    }


def test_many_that_are_level_are_counted() -> None:
    values = {f"m{n:02}": [0.5 + n / 1000, 0.6, 0.7] for n in range(20)}
    verdict = verdict_of("reception", values)
    _, ((_, best, beside),) = table([verdict])
    assert best.endswith(" or 17 more")
    assert best.startswith("m19 ")
    assert beside.startswith("within ")


def test_a_table_of_three_has_all_that_the_best_is_ahead_of() -> None:
    values = {"a": [10.0, 10.2, 9.8], "b": [20.0, 20.2, 19.8], "c": [30.0, 30.2, 29.8]}
    verdict = verdict_of("heal_seconds_p50", values)
    heads, (line,) = table([verdict])
    assert heads == ["question", "best", "beside the others"]
    assert line[:2] == ["healing", "a 10 s"]
    assert re.fullmatch(r"[\d.]+ to [\d.]+ s below b; [\d.]+ to [\d.]+ s below c", line[2])
