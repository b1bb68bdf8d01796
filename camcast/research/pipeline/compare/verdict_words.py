"""A verdict in words: `WORDS_MAX` of them at most; what they leave out is in a table.

A few verdicts are a sentence each. Of more the words say what to choose for what, as far as they
reach, and the table has a line for each question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from camcast.research.pipeline.compare.power import RUNS_MAX
from camcast.research.pipeline.compare.verdict import Duel, Verdict
from camcast.research.pipeline.compare.words import apart, with_unit
from camcast.research.report.measures import Measure

WORDS_MAX: Final = 150  # chosen: a paragraph, read in half a minute
_NAMED_MAX: Final = 3  # chosen: of names and questions in a list; the rest is counted
_CHOICE_MAX: Final = WORDS_MAX // 2  # chosen: words of what to choose; the rest is for sentences


def choice(verdicts: Sequence[Verdict], repair: str = "") -> str:
    """Say what to choose for what, shortly; empty: nothing was compared.

    Benchmarks are left out where there are runs: each has a verdict of its own. `repair` is said of
    all runs (`Findings.repair_in_words`).
    """
    chosen = _choice(verdicts)
    return f"{chosen} All runs are {repair}." if chosen and repair else chosen


def _choice(verdicts: Sequence[Verdict]) -> str:
    of_runs = [verdict for verdict in verdicts if not verdict.measure.benchmark]
    asked = [verdict for verdict in of_runs or verdicts if verdict.tested and not verdict.equal]
    if not asked:
        return (
            "Nothing to choose by: there is no difference that could be tested." if verdicts else ""
        )
    for_what: defaultdict[tuple[str, ...], list[Verdict]] = defaultdict(list)
    for verdict in asked:
        some = () if len(verdict.best) == len(verdict.ranked) else tuple(sorted(verdict.best))
        for_what[some].append(verdict)
    told = _chosen(for_what, most=max(len(asked), *(len(verdict.ranked) for verdict in asked)))
    if _words(told) <= _CHOICE_MAX:
        return told
    often = sorted(for_what, key=lambda some: -len(for_what[some]))
    for kept in range(len(often), 0, -1):
        left = sum(len(for_what[some]) for some in often[kept:])
        rest = f" For {left} more questions see the table." if left else ""
        told = _chosen({some: for_what[some] for some in often[:kept]}, most=_NAMED_MAX) + rest
        if _words(told) <= _CHOICE_MAX:
            return told
    return f"What to choose for {len(asked)} questions, the table says."


def _chosen(for_what: Mapping[tuple[str, ...], Sequence[Verdict]], most: int) -> str:
    """Say what to choose for what; of lists of more than `most` the rest is counted."""
    chosen = [
        f"{_listed(some, ' or ', most)} for {_questions(asked, most)}"
        for some, asked in for_what.items()
        if some
    ]
    sentences = [f"Choose {'; '.join(chosen)}."] if chosen else []
    if () in for_what:
        sentences.append(f"No winner in {_questions(for_what[()], most)}.")
    return " ".join(sentences)


def _questions(asked: Sequence[Verdict], most: int) -> str:
    wheres: defaultdict[str, list[str]] = defaultdict(list)
    for verdict in asked:
        wheres[verdict.question].append(verdict.where)
    return _listed([_at(question, at, most) for question, at in wheres.items()], " and ", most)


def _at(question: str, wheres: Sequence[str], most: int) -> str:
    if len(wheres) == 1:
        return _at_end(question, wheres[0])
    between = "; " if any("," in where for where in wheres) else ", "
    many = f"{len(wheres)} settings" if len(wheres) > most else between.join(wheres)
    return f"{question} ({many})"


def told(verdicts: Sequence[Verdict], repair: str = "") -> tuple[str, list[str]]:
    """Return the verdict: what to choose, and a sentence for each question.

    Where both together are more than `WORDS_MAX` words there is no sentence: `table` has it all.
    `repair` is as in `choice`.
    """
    chosen = choice(verdicts, repair)
    sentences: list[str] = []
    for verdict in verdicts:
        sentences.append(sentence(verdict))
        if _words(chosen, *sentences) > WORDS_MAX:
            return chosen, []
    return chosen, sentences


def table(verdicts: Sequence[Verdict]) -> tuple[list[str], list[list[str]]]:
    """Return the columns of a table, and a line for each verdict, as short as can be."""
    heads = ["question", "at", "best", "beside the others"]
    lines: list[list[str]] = []
    before = ""
    for verdict in verdicts:
        question = verdict.question + _over(verdict)
        means = {each.name: with_unit(each.mean, verdict.measure) for each in verdict.ranked}
        best = _listed([f"{name} {means[name]}" for name in verdict.best], " or ", _NAMED_MAX)
        if verdict.equal:
            best = means[verdict.best[0]]
        lines.append(
            ["" if question == before else question, verdict.where, best, _beside(verdict)]
        )
        before = question
    if not any(verdict.where for verdict in verdicts):
        return [heads[0], *heads[2:]], [[question, *rest] for question, _, *rest in lines]
    return heads, lines


def _beside(verdict: Verdict) -> str:
    """Say how sure it is who is best: of many others, beside the nearest."""
    if verdict.equal:
        return "equal in every run"
    if not verdict.tested:
        return "single runs: it may be chance"
    if verdict.winner:
        nearest = verdict.of_best if len(verdict.of_best) <= _NAMED_MAX else verdict.of_best[:1]
        return "; ".join(_ahead(duel, verdict.measure) for duel in nearest)
    _, bound = _untold(verdict)
    known = (
        "not told apart"
        if bound is None
        else f"within {apart(bound, verdict.measure)} of each other"
    )
    close = [duel.more_runs for duel in verdict.of_best if not duel.told and duel.apart]
    if not close:
        return known
    most = f"more than {RUNS_MAX:,}" if None in close else f"{max(filter(None, close)):,} more"
    return f"{known}; {most} {'run' if most == '1 more' else 'runs'} of each may tell"


def sentence(verdict: Verdict) -> str:
    """Say who is best in one question, by how much, and what is not known."""
    asked = _at_end(verdict.question, verdict.where)
    return " ".join([f"{asked[:1].upper()}{asked[1:]}:", *_told(verdict)])


def _told(verdict: Verdict) -> Iterator[str]:
    measure, first = verdict.measure, verdict.ranked[0]
    means = {each.name: with_unit(each.mean, measure) for each in verdict.ranked}
    if verdict.equal:
        yield f"{means[first.name]} in every run of all."
        return
    if not verdict.tested:
        listed = _listed([f"{name} {mean}" for name, mean in means.items()], " and ")
        yield f"{listed}, of a single run: it may be chance; three runs of each or more would tell."
        return
    over = _over(verdict)
    beaten = _listed([_ahead(duel, measure) for duel in verdict.of_best if duel.told], " and ")
    if verdict.winner:
        yield f"{first.name} is best, {means[first.name]}{over}: {beaten}."
        return
    level = _listed([f"{name} ({means[name]})" for name in verdict.best], " and ")
    untold, bound = _untold(verdict)
    alike = "are not told apart" if any(d.apart for d in untold) else "measured the same"
    known = alike if bound is None else f"do not differ by more than {apart(bound, measure)}"
    yield f"no winner; {level} {known}{over}."
    if beaten:
        yield f"{first.name} is {beaten}."
    if close := [duel for duel in verdict.of_best if not duel.told and duel.apart]:
        yield _needed(close, measure)


def _over(verdict: Verdict) -> str:
    return f", mean over {len(verdict.p_sels)} p_sel" if len(verdict.p_sels) > 1 else ""


def _untold(verdict: Verdict) -> tuple[list[Duel], float | None]:
    """Return the comparisons among the best, and the most that these may differ by, if known."""
    untold = [d for d in verdict.duels if {d.better, d.worse} <= set(verdict.best)]
    ends = [abs(end) for d in untold for end in (d.least, d.most) if end is not None]
    bound = max(ends, default=None)
    says_nothing = bound is not None and verdict.measure.is_share and bound >= 1
    return untold, None if says_nothing else bound


def _ahead(duel: Duel, measure: Measure) -> str:
    side = "above" if measure.better == "more" else "below"
    if duel.least is None or duel.most is None:
        return f"{apart(duel.apart, measure)} {side} {duel.worse} in every run"
    least, most = (apart(end, measure) for end in (duel.least, duel.most))
    unit = " points" if measure.is_share else f" {measure.unit}" if measure.unit else ""
    return f"{least.removesuffix(unit)} to {most} {side} {duel.worse}"


def _needed(duels: Sequence[Duel], measure: Measure) -> str:
    """Say how many more runs would tell the best from each of those that are close to it."""
    needed = []
    for duel in duels:
        runs = duel.more_runs
        more = f"{runs:,} more" if runs else f"more than {RUNS_MAX:,}"
        each = f" {'run' if runs == 1 else 'runs'} of each" if duel is duels[0] else ""
        needed.append((duel.worse, f"{more}{each}", apart(duel.apart, measure)))
    (other, more, by), *others = needed
    rest = "".join(f"; from {other} {more} ({by})" for other, more, by in others)
    return (
        f"To tell {duels[0].better} from {other} you need {more},"
        f" if they differ by {by}, as it seems{rest}."
    )


def _at_end(question: str, where: str) -> str:
    return f"{question} at {where}" if where else question


def _listed(names: Sequence[str], last: str, most: int | None = None) -> str:
    """Return a list in words; of one longer than `most` the number of the rest is its end."""
    if most is not None and len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    *before, end = names or [""]
    return f"{', '.join(before)}{last}{end}" if before else end


def _words(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)
