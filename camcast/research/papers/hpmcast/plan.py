"""What of the hpmcast paper (002) is to be computed again: Figures 7 to 13, and of section 6."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from camcast.research.papers.chosen_protocols import ChosenProtocols

RFPBCAST, PMCAST, HPMCAST = "rfpbcast", "pmcast", "hpmcast"

RUNS: Final = 100
"""chosen: a reliability of Figure 8 to ±0.0001; some minutes on two cores."""

SHARES_SMALL: Final = (0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07)
"""p_1 where Figure 7 has its dip. chosen: evenly in their logarithm, but finer at the edge."""
SHARES: Final = (*SHARES_SMALL, *(twentieth / 20 for twentieth in range(2, 21)))
"""p_1 of Figure 7; from 0.1 on that of Figure 8, whose axis begins there."""
SHARES_COMPARED: Final = (0.2, 0.5, 1.0)  # chosen: few, half, all
SHARES_LOW: Final = (0.02, 0.1, 0.5)  # chosen: one in the dip of Figure 7
SHARES_SCALED: Final = (0.05, 0.2, 0.5)  # chosen: with a = 40 a lower one takes minutes to model

FLAT_PROCESSES: Final = 100  # [hpmcast Figure 9]
FLAT_ROUNDS: Final = 2000  # chosen: of two interested the second waits 50 in the mean
FAN_OUTS: Final = tuple(range(1, 9))  # chosen: the caption of Figure 10 is not in the text we have
ARITIES: Final = (10, 15, 20, 25, 30, 35, 40)  # chosen: 64,000 processes at the most
REDUNDANCIES: Final = tuple(range(1, 7))  # chosen: the caption of Figure 12 is not in our text
THRESHOLDS: Final = (0, 6, 12)  # chosen: 5.4.2 names no D; multiples of R add whole lines
FAN_OUTS_FLAT: Final = (2, 4)  # chosen: that of Figure 9, and twice it
INTERESTED_FLAT: Final = (20, 50)  # chosen: of Figure 9's processes, a fifth and half
ROUNDS_FLAT: Final = {RFPBCAST: 10, PMCAST: 20}  # chosen: then nearly all have it
DEPTH_PROCESSES: Final = 4096  # chosen: a power with many roots
DEPTHS: Final = (1, 2, 3, 4, 6)  # of 4096: a = 4096, 64, 16, 8, 4; below, there are no R = 3


@frozen(kw_only=True)
class Plan(ChosenProtocols):
    """All that determines a reproduction. Raises `ValueError` for a value out of range."""

    PAPER = "hpmcast"

    runs: int = RUNS
    seed: int = 1
