"""What CAMCAST asks of every protocol, asked of this one."""

from camcast.research.testing import ProtocolContract


class TestPushPull(ProtocolContract):
    """The whole contract, in worlds of real nodes that run this protocol."""

    protocol = "push-pull"
