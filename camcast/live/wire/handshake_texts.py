"""The words for processes without the keys that are asked for, whatever the transport."""

from __future__ import annotations

from typing import Final

SPEAKS_PLAIN: Final = (
    "it speaks without encryption, and here only those are heard who have the passphrase or a key"
)
ASKS_FOR_ENCRYPTION: Final = (
    "it asks for encryption (CURVE), and this process was given no passphrase and no key"
)
OTHER_KEY: Final = "it has another passphrase, or was told another key of this process"
NOT_ADMITTED: Final = (
    "its key is not known here, or barred for what it forged, or it shows no certificate that"
    " counts here (--trust)"
)
NO_RECORD: Final = "no record of the process there is known, signed by its own key"
SAYS_NO_KEY: Final = "it does not say its key, as no process does over zmq: name it with its key, tcp://HOST:PORT#KEY"
BROKEN_OFF: Final = "it broke the greeting off; have both the same passphrase, or neither?"
SILENT_AT_HELLO: Final = "it broke the handshake off; is its passphrase or key another one?"
SILENT_AT_INITIATE: Final = "it broke the handshake off; does it not know the key of this process?"
