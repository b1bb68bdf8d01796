"""The spread: how events go round inside one group, where the protocol leaves it to a parameter."""

from __future__ import annotations

from camcast.doors.dissemination import Dissemination, DisseminationContext
from camcast.protocols.gossip import Gossip
from camcast.protocols.tree import Tree


def make_spread(context: DisseminationContext) -> Dissemination:
    """Make what `Parameters.spread` names; where nothing is repaired, events infect and die."""
    if context.parameters.spread == "tree" and context.repair is not None:
        return Tree(context, context.repair)
    return Gossip(context)
