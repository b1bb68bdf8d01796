"""The names that an application imports from `camcast`.

`camcast` itself imports this module at the first use of such a name: ``camcast ready`` needs none.
"""

from camcast import __version__
from camcast.app.community import Community
from camcast.app.community_errors import GatewayTimeout, InsecureError, NotReady
from camcast.app.manager import CommunityManager
from camcast.doors.contained import PlugError
from camcast.doors.options import OptionError
from camcast.doors.plugs import AmbiguousPlugError, UnknownPlugError
from camcast.doors.signatures import NotAllowedError, RateExceededError
from camcast.doors.transport import AddressInUse, BindError
from camcast.inbox.changes import Changes
from camcast.inbox.latest import Latest
from camcast.inbox.received import Lagged, Overflow, Reach, Received, ReceivedBatch
from camcast.inbox.subscription import Subscription
from camcast.interests.interest import Interest, InterestError
from camcast.live.archive.schema import ArchiveError
from camcast.live.gateway_file import GatewayError
from camcast.live.transports import open_pipes
from camcast.observe.stats import Stats
from camcast.observe.trace import DigestSink, JsonLinesSink, ListSink, TraceRecord
from camcast.security.passphrase import PassphraseError
from camcast.shipped import SHIPPED as _SHIPPED  # noqa: F401  # for tools that follow imports
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.errors import CamcastError, CommunityError
from camcast.vocabulary.events import EventId, Missed, Receipt
from camcast.vocabulary.happenings import Change
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import ROOT, Topic, TopicError
from camcast.vocabulary.typed import Sent, TypedEventError, topic, topic_of
from camcast.vocabulary.wire import PayloadTooLargeError

__all__ = [
    "ROOT",
    "AddressError",
    "AddressInUse",
    "AmbiguousPlugError",
    "ArchiveError",
    "BindError",
    "CamcastError",
    "Change",
    "Changes",
    "Community",
    "CommunityError",
    "CommunityManager",
    "CommunitySettings",
    "Contact",
    "DigestSink",
    "EventId",
    "GatewayError",
    "GatewayTimeout",
    "InsecureError",
    "Interest",
    "InterestError",
    "JsonLinesSink",
    "Lagged",
    "Latest",
    "ListSink",
    "Missed",
    "NotAllowedError",
    "NotReady",
    "OptionError",
    "Overflow",
    "Parameters",
    "PassphraseError",
    "PayloadTooLargeError",
    "PlugError",
    "RateExceededError",
    "Reach",
    "Receipt",
    "Received",
    "ReceivedBatch",
    "Sent",
    "Stats",
    "Subscription",
    "Topic",
    "TopicError",
    "TraceRecord",
    "TypedEventError",
    "UnknownPlugError",
    "__version__",
    "open_pipes",
    "topic",
    "topic_of",
]
