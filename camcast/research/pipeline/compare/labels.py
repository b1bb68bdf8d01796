"""Labels: the names of what is compared, short enough for a figure, a column and a sentence.

A long setting gets a letter, as in ``dht (A)``, and a long name is cut where the cut names still
differ. The legend says what letters and cut names stand for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_uppercase
from typing import Final

from attrs import field, frozen

from camcast.research.pipeline.compare.comparison import Variant, differing, natural
from camcast.research.report.measures import repair_in_words
from camcast.vocabulary.printable import printable

LABEL_MAX: Final = 24  # chosen: characters; a third of a terminal's line, 150 pixels of a figure
_SETTING_MAX: Final = LABEL_MAX // 2  # chosen: characters; what is left is for the backend
_CUT: Final = "\N{HORIZONTAL ELLIPSIS}"
_REPAIR: Final = {repair_in_words(True): "repair", repair_in_words(False): "no repair"}


@frozen
class Labels:
    """The label of each variant, and the legend of the labels."""

    names: Mapping[Variant, str]
    """No two are equal."""
    letters: Mapping[str, str] = field(factory=dict)
    """The letters of the settings, by setting; empty where settings are short."""
    legend: Mapping[str, str] = field(factory=dict)
    """Settings and whole names, by the letters and the cut names that stand for them."""


def whole_names(variants: Sequence[Variant]) -> dict[Variant, str]:
    """Return names made of what differs: a protocol that all have in common is left out."""
    return {variant: _named(who, tail) for variant, who, tail in _parts(variants, {})}


def labels_of(variants: Sequence[Variant]) -> Labels:
    """Return labels of `LABEL_MAX` characters, where settings are not many and long."""
    letters: dict[str, str] = {}
    if any(
        len(name) > LABEL_MAX and len(variant.setting) > _SETTING_MAX
        for variant, name in whole_names(variants).items()
    ):
        settings = {variant.setting for variant in variants if variant.values}
        letters = dict(zip(sorted(settings, key=natural), _alphabet(), strict=False))
    parts = list(_parts(variants, letters))
    tails = max((len(f" ({tail})") for _, _, tail in parts if tail), default=0)
    cut = cut_apart((who for _, who, _ in parts if who), LABEL_MAX - tails)
    names = {variant: _named(cut.get(who, ""), tail) for variant, who, tail in parts}
    legend = {letter: setting for setting, letter in letters.items()}
    legend |= {short: who for who, short in cut.items() if short != who}
    return Labels(names, letters, legend)


def cut_apart(names: Iterable[str], most: int) -> dict[str, str]:
    """Return what is shown of each name: of a longer one than `most` characters so many.

    No two are equal: they are cut at the end, or in the middle where the ends tell them apart, or
    else numbered.
    """
    every = dict.fromkeys(names)
    shown = {name: name for name in every if len(name) <= most}
    ways: tuple[Callable[[str], str], ...] = (
        lambda name: name[: most - 1] + _CUT,
        lambda name: name[: (most - 1) // 2] + _CUT + name[-(most // 2) :],
    )
    for way in ways:
        cut = {name: way(name) for name in every if name not in shown}
        counts = Counter([*cut.values(), *shown.values()])
        shown |= {name: short for name, short in cut.items() if counts[short] == 1}
    numbers = count(1)
    for name in every:
        if name not in shown:
            numbered = (_numbered(name, number, most) for number in numbers)
            shown[name] = next(each for each in numbered if each not in shown.values())
    return {name: shown[name] for name in every}


def _numbered(name: str, number: int, most: int) -> str:
    end = f"{_CUT}{number}"
    return name[: most - len(end)] + end


def _parts(
    variants: Sequence[Variant], letters: Mapping[str, str]
) -> Iterator[tuple[Variant, str, str]]:
    """Yield each variant with its backend and protocol, and with its setting, as they are shown.

    Beside the setting it is said who has repair, where others have not.
    """
    factors = differing(*(variant for variant in variants if variant.backend))
    apart = len({variant.repair for variant in variants if variant.repair}) > 1
    for variant in variants:
        who = [variant.factors[name] for name in ("backend", "protocol") if name in factors]
        named = " ".join(filter(None, who)) or ("" if variant.values else variant.backend)
        tail = letters.get(variant.setting, variant.setting)
        if apart and variant.repair and "repair" not in variant.factors:
            tail = ", ".join(filter(None, (tail, _REPAIR[variant.repair])))
        yield variant, printable(named or ("" if tail else str(variant))), printable(tail)


def _named(who: str, tail: str) -> str:
    return f"{who} ({tail})" if who and tail else who or tail


def _alphabet() -> Iterator[str]:
    """Yield A to Z, AA to ZZ, and so on."""
    for letters in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=letters))
