"""The series of a comparison: what tells one from the others in every figure of a page.

Up to `TOGETHER_MAX` lines are in one frame, told apart by colour, dash and shape: in grey by the
shape alone. More are in panels: a setting each, with the same colours in all, or else a few each.
Points have a legend where each has a colour of its own, and else their names beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from camcast.research.pipeline.compare.labels import Labels
from camcast.research.report.chart import PALETTE, nominal

TOGETHER_MAX: Final = 12  # chosen: lines that an eye can follow in one frame
_PANEL_MAX: Final = 6  # chosen: of more series, as many as there are colours
COLOURS: Final = (*PALETTE, "#E69F00", "#56B4E9")  # the rest of Okabe and Ito's palette
SHAPES: Final = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"),
    "M-.4,-1L0,-.6L.4,-1L1,-.4L.6,0L1,.4L.4,1L0,.6L-.4,1L-1,.4L-.6,0L-1,-.4Z",  # an x
    "M-1,-1L1,-1L-1,1L1,1Z",  # an hourglass
    "triangle-left",
    "M-1,-1L-1,1L1,-1L1,1Z",  # a bow tie
    "M-.3,-1L.3,-1L.3,1L-.3,1Z",  # a bar
    "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",  # a pentagon
)
"""One more than fit together, so that with the six colours 78 series are told apart."""
DASHES: Final = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2])  # likewise, of 30


@frozen
class Series:
    """The labels of all that is compared, and the panels that they are in."""

    panels: tuple[tuple[str, tuple[str, ...]], ...]
    """Titles, and the labels of each panel; of a single one the title is empty."""
    by_setting: bool
    """Whether each panel is of one setting."""
    shown: Mapping[str, str]
    """The texts beside lines, by label: no setting that the title of the panel says."""

    @classmethod
    def of(cls, labels: Labels) -> Series:
        """Distribute labels over panels."""
        names = list(labels.names.values())
        if len(names) <= TOGETHER_MAX:
            return cls(
                (("", tuple(names)),), by_setting=False, shown={name: name for name in names}
            )
        settings: defaultdict[str, list[str]] = defaultdict(list)
        for variant, name in labels.names.items():
            settings[labels.letters.get(variant.setting, variant.setting)].append(name)
        several = 1 < len(settings) < len(names)
        groups = settings if several else {"": names}
        panels: list[tuple[str, tuple[str, ...]]] = []
        for setting in sorted(groups):
            here = groups[setting]
            most = TOGETHER_MAX if len(here) <= TOGETHER_MAX else _PANEL_MAX
            parts = [tuple(here[at : at + most]) for at in range(0, len(here), most)]
            for number, part in enumerate(parts, 1):
                part_of = f"{number} of {len(parts)}" if len(parts) > 1 else ""
                panels.append((", ".join(filter(None, (setting, part_of))), part))
        shown = {
            name: name.removesuffix(f" ({setting})") or name
            for setting, of_setting in groups.items()
            for name in of_setting
        }
        return cls(tuple(panels), by_setting=several, shown=shown)

    @property
    def names(self) -> list[str]:
        """All labels, in reading order."""
        return [name for _, names in self.panels for name in names]

    @property
    def few(self) -> bool:
        """Whether each has a colour of its own, so that a legend can be read."""
        return len(self.shown) <= len(COLOURS)

    def panel_of(self, name: str) -> int:
        """Return the number of the panel that a label is in."""
        return next(at for at, (_, names) in enumerate(self.panels) if name in names)

    def channel(self, present: Collection[str], values: Sequence[object]) -> dict[str, Any]:
        """Return the channel that tells those who are present apart by `values`, in any figure."""
        panels = [names for _, names in self.panels] if self.by_setting else [self.names]
        shown = {
            name: values[at % len(values)]
            for names in panels
            for at, name in enumerate(names)
            if name in present
        }
        scale = {"domain": list(shown), "range": list(shown.values())}
        return nominal("who", scale=scale, legend=None)
