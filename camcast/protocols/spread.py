"""The spread of events inside one group, which the parameter `spread` chooses."""

from __future__ import annotations

from camcast.doors.dissemination import Dissemination, DisseminationContext
from camcast.protocols.gossip import Gossip
from camcast.protocols.tree import Tree


def make_spread(context: DisseminationContext) -> Dissemination:
    """Make the spread that `Parameters.spread` names; without repair it is infect and die."""
    if context.parameters.spread == "tree" and context.repair is not None:
        return Tree(context, context.repair)
    return Gossip(context)
