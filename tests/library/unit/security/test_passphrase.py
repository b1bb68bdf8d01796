from __future__ import annotations

import pytest

from camcast.security.passphrase import PassphraseError, group_key

WORDS = "correct horse battery staple"


def test_the_key_of_a_passphrase_is_frozen() -> None:
    # Computed by argon2-cffi as well: hash_secret_raw(WORDS, blake2b-16("camcast-shared-key-1"),
    # time_cost=3, memory_cost=65536, parallelism=1, hash_len=32, type=ID).
    assert (
        group_key(WORDS).seed.hex()
        == "36f3f710c66e38a72c6d4db32343c1158caef6c290f935f38b18de0f34f6a222"
    )


def test_how_an_accent_was_typed_does_not_matter() -> None:
    composed, decomposed = "caf\u00e9 caf\u00e9 caf\u00e9 1", "cafe\u0301 cafe\u0301 cafe\u0301 1"
    assert group_key(composed) == group_key(decomposed) != group_key(WORDS)


@pytest.mark.parametrize("inner", ["\n", "\t", "\0", "\udce0"])
def test_what_is_no_line_of_text_is_refused_and_not_shown(inner: str) -> None:
    with pytest.raises(PassphraseError, match="one line of text in UTF-8") as caught:
        group_key(f"correct horse{inner}battery")
    assert "horse" not in str(caught.value)


def test_a_short_passphrase_is_refused_and_not_shown() -> None:
    with pytest.raises(PassphraseError, match="at least 15 characters, this one has 14") as caught:
        group_key("correct horses")
    assert "horses" not in str(caught.value)
