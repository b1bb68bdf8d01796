"""Our nodes for a fleet: of one community or more, untraced; any protocol."""

from __future__ import annotations

import asyncio
import statistics

from community_members import TOPIC, CommunityMembers

from camcast.doors.plugs import find_protocol
from camcast.vocabulary.identity import UNKNOWN_PEER
from camcast.vocabulary.topics import Topic

GROUPS_SETTLE_SECONDS = 10.0  # chosen: ten heartbeats


class CamcastMembers(CommunityMembers):
    """`CommunityMembers` that say what they sent."""

    async def settle(self, everybody: list[str]) -> None:
        """See `CommunityMembers`.

        Where a protocol has several groups, what their sizes should be is its own affair.
        """
        topic = Topic.parse(TOPIC)
        if len(find_protocol(self._protocol).groups(topic, [topic], UNKNOWN_PEER)) > 1:
            await asyncio.sleep(GROUPS_SETTLE_SECONDS)
        else:
            await super().settle(everybody)

    def counts(self) -> dict[str, int]:
        """Return the copies of events, the control messages and the bytes of all frames.

        Beside them, what found no room or was malformed.
        """
        counters = [pipes.counters for pipes in self._pipes]
        return {
            "messages": sum(
                manager.counters.event_copies_sent + manager.counters.upward_sent
                for manager in self._managers
            ),
            "control_messages": sum(each.controls_sent for each in counters),
            "bytes": sum(each.bytes_sent for each in counters),
            "records_dropped": sum(each.records_dropped for each in counters),
            "refused": self.refused,
            "malformed": sum(manager.counters.malformed for manager in self._managers),
        }

    def facts(self) -> dict[str, float]:
        """Return the mean size of the topic tables."""
        return {
            "view_mean": statistics.mean(len(community.peers) for community in self._communities)
        }
