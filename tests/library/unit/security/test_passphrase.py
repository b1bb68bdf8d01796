from __future__ import annotations

from random import Random
from string import ascii_lowercase, digits

import pytest

from camcast.security.passphrase import (
    CHARACTERS_MIN,
    DRAWN_BYTES,
    PassphraseError,
    check_passphrase,
    group_key,
    passphrase_of,
)

WORDS = "correct horse battery staple"


def test_the_key_of_a_passphrase_is_frozen() -> None:
    # Computed by argon2-cffi as well: hash_secret_raw(WORDS, blake2b-16("camcast-shared-key-1"),
    # time_cost=3, memory_cost=65536, parallelism=1, hash_len=32, type=ID).
    assert (
        group_key(WORDS).seed.hex()
        == "36f3f710c66e38a72c6d4db32343c1158caef6c290f935f38b18de0f34f6a222"
    )


def test_how_an_accent_was_typed_does_not_matter() -> None:
    composed, decomposed = "my th\u00e9 at the caf\u00e9", "my the\u0301 at the cafe\u0301"
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


@pytest.mark.parametrize(
    "weak",
    [
        "aaaaaaaaaaaaaaa",
        "abcabcabcabcabc",
        "123456789012345",
        "987654321098765",
        "qwertyuiopasdfgh",
        "QWERTZUIOPqwertzuiop",
        "passwordpassword",
        "camcastcamcast123",
        "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9",
    ],
)
def test_what_is_long_and_easily_guessed_is_refused_and_not_shown(weak: str) -> None:
    with pytest.raises(PassphraseError, match="camcast keys passphrase") as caught:
        check_passphrase(weak)
    assert weak not in str(caught.value)


def test_six_words_are_made_each_time_others_and_are_taken() -> None:
    rng = Random(1)
    made = {passphrase_of(rng.randbytes(DRAWN_BYTES)) for _ in range(100)}
    assert len(made) == 100
    for one in made:
        assert [len(word) for word in one.split()] == [5] * 6
        assert check_passphrase(one) == one


def test_nearly_all_random_letters_are_taken() -> None:
    """1 of 1,000 is refused at most: 0 of 1,000 shows less than 0.7 % at 99.9 % confidence."""
    rng = Random(1)
    for _ in range(1000):
        check_passphrase("".join(rng.choices(ascii_lowercase + digits, k=CHARACTERS_MIN)))
