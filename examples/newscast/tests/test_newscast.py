"""What CAMCAST asks of every membership, asked of this one."""

from camcast.testing import MembershipContract


class TestNewscast(MembershipContract):
    """The whole contract, in worlds of real nodes with this membership."""

    membership = "newscast"
