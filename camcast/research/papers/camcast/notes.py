"""The notes of Tables 1 and 2: which conventions are ours, by the approach that they are about."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

from camcast.research.papers.camcast.plan import BROADCAST, CAMCAST, HIERARCHICAL, MULTICAST, PMCAST
from camcast.research.papers.camcast.pmcast_rows import DEPTH, REDUNDANCY

Notes = Mapping[str | None, Sequence[str]]
"""By approach; None: of all."""

ROUNDS_NOTES: Final[Notes] = {
    None: (
        "Measured: the publisher sends in round 1; rounds are counted until nobody of any"
        " community has anything left to send, over all runs, those included in which the"
        " event does not climb. Nobody crashes; a copy arrives with probability 0.85.",
    ),
    CAMCAST: ("The model takes the last round of the highest community that the event gets to.",),
    BROADCAST: (
        'Gossip broadcast was "calculated using the analytical equations" (6.1.2), which'
        " the paper does not give. Of the formulas tried, ln n / ln ln n + 1 (Equation 12"
        " with O(1) = 1) comes closest: 3 % off at most. No formula that grows with n can"
        " have 4.39 for n = 300 and 4.31 for n = 500, though; with these two exchanged it"
        " would be within 1 %. Measured with our fan-out ⌈ln n + c⌉, broadcast takes more"
        " rounds than the formula says, as Equation 12 is an asymptote.",
    ),
    PMCAST: (
        'PMcast was "calculated", too. The paper names neither equations nor parameters, and'
        " what it cites [22] is not at hand. Ours is its successor hpmcast (002), where the sum"
        " over all levels is T(n, F) for any depth if an event interests all (Equation 28)."
        " With the 0.85 of 6.1.1 and a whole F, F = 4 comes closest, 3 % too high at most;"
        " F = 3 is 25 % too high, F = 5 is 12 % too low.",
        "The published three lie on a straight line in ln n, within their rounding, as Equation"
        " 5 does if a constant is added: F (1-ε)(1-τ) from 3.80 to 3.87, the constant from"
        " 0.30 to 0.36. F = 4, ε = 0.04 and 1/3 is one of many settings that have this; F = 5,"
        " ε = 0.15, τ = 0.1 is another. Two numbers fit three values: that says which form it"
        " had, perhaps, but not which setting.",
        "Equation 5 is an asymptote; by the chain that it stands for all have the event 0.9 rounds"
        " later. Measured are processes in step that disseminate as live ones do (002, Figure 6): R"
        f" = {REDUNDANCY} and l = {DEPTH} as 002 simulates (5.3), F = 2 as there and F = 4 as in"
        " the formula; the least arity that takes so many (11, 7, 8); addresses lie evenly. They"
        " take longer than Equation 5 says, since each level begins with delegates anew, lasts a"
        " whole number of rounds, and at level 1 counts each process R times (Figure 6, line 27).",
    ),
    MULTICAST: (
        "Gossip multicast is not in the paper's table. It is one group of all who are interested,"
        " here everybody: a broadcast. Equation 12 is for all communities at once (4.6.2).",
    ),
    HIERARCHICAL: (
        "Hierarchical gossip broadcast is not in the paper's table. Everybody sends from both of"
        " its tables, among √n clusters (4.4.2, Equation 5). Equation 12 is for passing the"
        " clusters, and then one of them (4.6.2).",
    ),
}

PARASITES_NOTES: Final[Notes] = {
    None: (
        'The worst case: "a publisher publishes an event of the root topic" (6.1.2), so'
        " that all processes but those of the root community are uninterested. Every copy"
        " that one of them receives is counted, duplicates included.",
    ),
    BROADCAST: (
        "The published numbers of gossip broadcast are the formula's, to within 0.06 %;"
        " they take the fan-out for ⌊ln n + c⌋, one less than ours. Both are measured: one"
        " group of all n processes, of shipped nodes with dealt tables, in the virtual"
        " network; what arrives is counted where it arrives.",
    ),
    CAMCAST: (
        "CAMCAST: the same nodes in their communities; one event of each topic, the root's"
        " among them. Copies that reach somebody the event is not for would count.",
    ),
    PMCAST: (
        "PMcast's numbers are of a formula, too, which is not given; 002 has none. They count"
        " copies: 369 and 615 are more than the 200 and 400 uninterested processes. Ours are of"
        f" hpmcast's uninterested delegates (002, 5.1.1), with R = {REDUNDANCY} and l = {DEPTH} as"
        " in Table 1, the root community being any of the processes. Processes: who of them"
        " receives it; the formula is exact if nobody is missed. Copies: as in the other rows.",
        "They do not come out as published, least of all for 10 interested of 1,110. These have"
        " fewer uninterested delegates than 100 of 300 have, in every tree tried, and so fewer"
        " copies come; the paper has more. Its numbers are 1.23 a process of 300 and of 500 alike,"
        " whoever is interested, and 0.41 of 1,110. What was computed there is not known.",
    ),
    MULTICAST: (
        "Gossip multicast is not in the paper's table: its group holds the interested alone.",
    ),
    HIERARCHICAL: (
        "Hierarchical gossip broadcast is not in the paper's table. Its clusters ignore interests,"
        " and its processes send from two tables each.",
    ),
}


def notes(listed: Notes, chosen: Container[str]) -> tuple[str, ...]:
    """Return the notes on some approaches."""
    return tuple(
        note
        for approach, of_it in listed.items()
        if approach is None or approach in chosen
        for note in of_it
    )
