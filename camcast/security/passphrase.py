"""A group's key from its passphrase: the `shared-key` profile (docs/security.md).

All processes that know the passphrase must derive the same key pair, so groups have no salts of
their own, and each guess of an attacker is a guess at every group of CAMCAST. The protections
against guessing are the cost of argon2id and the length of the passphrase.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from camcast.vocabulary.errors import CamcastError

if TYPE_CHECKING:
    from camcast.security.keys import SecretKey

# [RFC 9106, 4, the second recommended option] three passes over 64 MiB; one lane, as libsodium has
# no more. 0.12 s of CPU, once a process.
_PASSES: Final = 3
_MEMORY_BYTES: Final = 2**26
_SALT: Final = blake2b(b"camcast-shared-key-1", digest_size=16).digest()

# [NIST SP 800-63B-4, 3.1.1.2] of a password that nothing else stands beside
CHARACTERS_MIN: Final = 15
# chosen: a word said twice, a row of keys and a run of letters have fewer; of 15 random letters two
# in 4,000 have, and the next ones drawn have not
PIECES_MIN: Final = 9
DRAWN_BYTES: Final = 12  # chosen: six words, 96 bits, which nobody tries
_CONSONANTS: Final = "bdfghjklmnprstvz"  # [Wilkerson 2009, arXiv:0901.4016] proquints, 4 bits
_VOWELS: Final = "aiou"  # [Wilkerson 2009] 2 bits each
_ROWS: Final = ("qwertyuiopasdfghjklzxcvbnm", "0123456789012", "qwertzuiopasdfghjklyxcvbnm")
"""Rows of keys and of digits, which are gone along in both directions, as letters in order are."""
_NO_TEXT: Final = ("Cc", "Cs")
"""Control characters, and what Python makes of bytes that are no UTF-8."""


class PassphraseError(CamcastError, ValueError):
    """A passphrase is too short or too easily guessed, or no text; the message does not show it."""


def passphrase_of(drawn: bytes) -> str:
    """Return words that can be spoken, of five letters each, one for each two random bytes."""
    pairs = zip(drawn[::2], drawn[1::2], strict=True)
    return " ".join(_word(256 * high + low) for high, low in pairs)


def _word(number: int) -> str:
    letters = ""
    for row in (_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS, _CONSONANTS):
        number, place = divmod(number, len(row))
        letters += row[place]
    return letters


def pieces_of(text: str) -> int:
    """Return of how many pieces a text is made that do not follow from what is before them.

    What was there before, of two characters or more, is one piece however long it is; a row of the
    same, of neighbouring or of adjacent characters is as well.
    """
    text = text.casefold()
    pieces = place = 0
    while place < len(text):
        length = 1
        while text[place : place + length + 1] in text[:place] and place + length < len(text):
            length += 1
        run = 1
        while place + run < len(text) and _follows(*text[place + run - 1 : place + run + 1]):
            run += 1
        place += max(length, run if run > 2 else 1)
        pieces += 1
    return pieces


def _follows(one: str, next_one: str) -> bool:
    """Return whether a character is the same as the one before, or the next in some row."""
    return abs(ord(one) - ord(next_one)) <= 1 or any(
        one + next_one in row or next_one + one in row for row in _ROWS
    )


def check_passphrase(passphrase: str) -> str:
    """Return the passphrase as it is derived from; `PassphraseError` if it cannot be one.

    What editors and shells add counts for nothing: a byte order mark, and white space before and
    behind. A letter with an accent counts the same however it was typed (Unicode NFC). Whatever
    else differs is another passphrase.
    """
    if not isinstance(passphrase, str):  # which the message does not show
        raise TypeError(f"a passphrase is a text, and no {type(passphrase).__name__}")
    normal = unicodedata.normalize("NFC", passphrase.strip().removeprefix("\ufeff").strip())
    if any(unicodedata.category(character) in _NO_TEXT for character in normal):
        raise PassphraseError(
            "a passphrase is one line of text in UTF-8, and this one has characters that are none:"
            " control characters, or bytes of another encoding"
        )
    if len(normal) < CHARACTERS_MIN:
        raise PassphraseError(
            f"a passphrase has at least {CHARACTERS_MIN} characters, this one has {len(normal)};"
            " take four or five words, since whoever guesses it is a member"
        )
    if pieces_of(normal) < PIECES_MIN:
        raise PassphraseError(
            "this passphrase repeats itself, or goes along a row of letters: it is among the first"
            " that are tried; camcast keys passphrase makes one of six words"
        )
    return normal


@lru_cache(maxsize=16)  # chosen: a process is in one group, a test of several in a few
def group_key(passphrase: str) -> SecretKey:
    """Return the key of all processes with this passphrase, the same on every machine.

    Takes about 0.1 s and 64 MiB of memory; raises as `check_passphrase`.
    """
    # Imported when used: PyNaCl takes a tenth of `import camcast`, and few processes need it.
    from nacl import bindings

    from camcast.security.keys import KEY_BYTES, SecretKey

    seed = bindings.crypto_pwhash_alg(
        KEY_BYTES,
        check_passphrase(passphrase).encode(),
        _SALT,
        _PASSES,
        _MEMORY_BYTES,
        bindings.crypto_pwhash_ALG_ARGON2ID13,
    )
    return SecretKey(seed)
