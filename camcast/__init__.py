"""CAMCAST: publish/subscribe without a broker, over hierarchical topics, on gossip."""

from camcast.addresses import AddressError
from camcast.community import (
    Community,
    CommunityError,
    CommunityManager,
    GatewayTimeout,
    InsecureError,
    NotReady,
    open_pipes,
)
from camcast.doors import OptionError, UnknownPlugError
from camcast.events import EventId, Receipt
from camcast.gateways import GatewayError
from camcast.identity import Contact
from camcast.interests import Interest, InterestError
from camcast.live.pipes import AddressInUse, BindError
from camcast.parameters import Parameters
from camcast.subscription import Lagged, Overflow, Received, Subscription
from camcast.topics import ROOT, Topic, TopicError
from camcast.trace import DigestSink, JsonLinesSink, ListSink, TraceRecord
from camcast.typed import TypedEventError, topic_of
from camcast.wire import PayloadTooLargeError

__all__ = [
    "ROOT",
    "AddressError",
    "AddressInUse",
    "BindError",
    "Community",
    "CommunityError",
    "CommunityManager",
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
    "ListSink",
    "NotReady",
    "OptionError",
    "Overflow",
    "Parameters",
    "PayloadTooLargeError",
    "Receipt",
    "Received",
    "Subscription",
    "Topic",
    "TopicError",
    "TraceRecord",
    "TypedEventError",
    "UnknownPlugError",
    "open_pipes",
    "topic_of",
]
