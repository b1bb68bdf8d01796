"""The context of memberships whose members tell each other what they want of events.

Few memberships do (hpmcast's views, 002, section 4.1). A backend asks for this context by
``Backend(…, context=SelectiveContext)``; other memberships import nothing of the algebra of
interests.
"""

from __future__ import annotations

from attrs import field, frozen

from camcast.doors.membership import MembershipContext
from camcast.interests.wanted import ProcessInterest


@frozen
class SelectiveContext(MembershipContext):
    """The arguments of a membership that tells other members what this process wants."""

    interest: ProcessInterest = field(kw_only=True)
    """What this process wants of the group's events. It changes as the process subscribes, without
    a call to the membership: read `ProcessInterest.whole` whenever it is sent."""
