"""The contract of protocols, for the tests of plugs, ours and a third party's (docs/plugs.md)."""

import camcast.testing  # noqa: F401  # before the contract, for pytest to show its values
from camcast.research.testing.protocol_contract import ProtocolContract

__all__ = ["ProtocolContract"]
