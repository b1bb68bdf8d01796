"""Views of hpmcast: their sizes, and who knows a process (002, Equations 14 to 18, 30 to 36).

Every function takes a *regular* hierarchy where it says so: a subsystems in each, l levels, so
n = a^l processes (Equations 15, 16), and R <= a delegates of each subsystem.

Where the print is wrong:

* Equation 14's exponent, the number of subtrees, should be Equation 13's number of participants;
  Equation 19, a^(i-1), has it right, and shifted by one level: an entity *of* level i is a
  subsystem of level i - 1.
* Equation 30 leaves the 1 of R(l-1) + 1 = Rl - (R-1) out of the derivative: it is R n^(1/l)
  (1 - ln n / l + (R-1)/R · ln n / l²). The view is smallest not at l = ln n, but at
  l = (ln n + sqrt(ln² n - 4 ln n (R-1)/R)) / 2, somewhat before: for n = 22^3 and R = 3 at 8.55
  instead of 9.27. The conclusion, smaller with each level up to there, holds from l = 2 on
  (not from 1 to 2 where R is as large as n^(1/2)).
* Equation 35 is exact.
* Equation 36 takes R(a-1)a^(l-i) for the number of processes of level 1, too, which is a^(l-1)
  (a-R), and so counts nearly all R times: in Figure 7's hierarchy its sum is 3.14, the integral
  in its place 1.28 and the average level 1.14. `average_level` is exact; it does grow with l, as
  the paper says.
"""

from __future__ import annotations

from math import fsum, log, sqrt


def _hierarchy(arity: float, depth: int, redundancy: float) -> None:
    if arity < 1 or depth < 1 or not 1 <= redundancy <= arity:
        raise ValueError(
            f"a hierarchy of arity {arity}, depth {depth} and redundancy {redundancy}; give 1 or"
            " more of each, and no more delegates than the arity"
        )


def interest_share(interested: float, processes: float) -> float:
    """Return 1 - (1 - p_1)^N: a delegate of N processes is interested for them (Equation 14).

    With N = a^(i-1), p_i of Equation 19. Raises `ValueError` for p_1 outside [0, 1].
    """
    if not 0.0 <= interested <= 1.0:
        raise ValueError(f"interested is {interested}; give a probability")
    return float(1 - (1 - interested) ** processes)


def level_view(arity: int, redundancy: int, level: int) -> int:
    """Return m_i: Ra, or a for level 1 (Equation 17)."""
    return arity if level == 1 else redundancy * arity


def view_size(arity: float, depth: int, redundancy: float) -> float:
    """Return m = Ra(l-1) + a (Equation 18). Raises `ValueError` for numbers below 1."""
    _hierarchy(arity, depth, redundancy)
    return redundancy * arity * (depth - 1) + arity


def best_depth(processes: float, redundancy: float) -> float:
    """Return the l that makes the view smallest, a real number (see the module's text).

    1 where the view does not shrink with l at all. Raises `ValueError` for numbers below 1.
    """
    if processes < 1 or redundancy < 1:
        raise ValueError(f"{processes} processes, redundancy {redundancy}; give 1 or more")
    logarithm = log(processes)
    square = logarithm**2 - 4 * logarithm * (redundancy - 1) / redundancy
    return max(1.0, (logarithm + sqrt(square)) / 2) if square > 0 else 1.0


def average_informed(arity: int, depth: int, redundancy: int) -> float:
    """Return u_upd = (a-1)(R(l-1) + 1): who must learn of a failure, on average (Equation 35)."""
    _hierarchy(arity, depth, redundancy)
    return (arity - 1) * (redundancy * (depth - 1) + 1)


def average_level(arity: float, depth: int, redundancy: float) -> float:
    """Return l_upd, the average level of a process (Equation 36), exactly.

    1 + R Σ a^(1-i) over i = 2 to l: R a^(l-i+1) processes appear at level i or above.
    """
    _hierarchy(arity, depth, redundancy)
    return 1 + fsum(redundancy * float(arity) ** (1 - i) for i in range(2, depth + 1))
