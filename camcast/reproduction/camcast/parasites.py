"""Copies that reach processes which are not interested in them, counted at real nodes (Table 2).

The nodes are those of `camcast.simulation.static_network`: shipped code, dealt tables, one second
a round. Every frame that arrives is counted by the node that it arrives at (`NodeCounters`), as
live; nothing is concluded from what was sent.
"""

from __future__ import annotations

from camcast.settings.chain import Setting
from camcast.simulation.network import Process
from camcast.simulation.static_network import DealtNetwork
from camcast.vocabulary.streams import stream


def copies_outside(
    setting: Setting, publisher_in: int, interested: int, seed: int, run: int
) -> int:
    """Publish one event in a community, and count its copies at those it is not for.

    These are all members of the communities before (below) the publisher's, and of its own all
    but the first `interested`, of whom the publisher is one. A copy that a node counts as a
    parasite counts, whoever the node is.
    """
    dealt = DealtNetwork(setting, stream(seed, "workload", "parasites", run))
    dealt.publish(publisher_in)
    return sum(
        _arrived(process)
        if index < publisher_in or (index == publisher_in and position >= interested)
        else process.node.counters.parasites
        for index, living in enumerate(dealt.alive)
        for position, process in living.items()
    )


def _arrived(process: Process) -> int:
    counters = process.node.counters
    return counters.events + counters.duplicates + counters.parasites + counters.late
