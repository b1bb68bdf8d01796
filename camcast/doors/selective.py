"""The door of memberships whose members tell each other what they want of events.

Few memberships do (hpmcast's views, 002, section 4.1), so the algebra of interests is a matter of
this module, and other memberships do not import it. A backend asks for the interest with
``Backend(…, context=SelectiveContext)``.
"""

from __future__ import annotations

from attrs import field, frozen

from camcast.doors.membership import MembershipContext
from camcast.interests.wanted import ProcessInterest


@frozen
class SelectiveContext(MembershipContext):
    """What a membership is made with that tells other members what this process wants."""

    interest: ProcessInterest = field(kw_only=True)
    """What this process wants through the group. It changes as the process subscribes, and
    nobody says so: look at `ProcessInterest.whole` whenever it is sent."""
