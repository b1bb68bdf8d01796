"""The letters of topics are the same, whichever Python reads them or writes their table."""

from __future__ import annotations

import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from camcast.vocabulary import frozen_letters, topic_letters
from tests.patience import PATIENCE_SECONDS

TABLE = Path(topic_letters.__file__).read_text("utf-8")
KNOWN = unicodedata.unidata_version in frozen_letters.VERSIONS


@pytest.mark.skipif(not KNOWN, reason="this Python's Unicode is later than those of the generator")
def test_the_table_is_what_the_generator_writes() -> None:
    assert frozen_letters.table() == TABLE


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_another_python_writes_the_same_table(version: str) -> None:
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no Python {version} on the PATH")
    script = [python, "-I", str(Path(frozen_letters.__file__))]
    done = subprocess.run(script, capture_output=True, check=True, timeout=PATIENCE_SECONDS)
    assert done.stdout.decode() == TABLE


def test_a_python_of_a_later_unicode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unicodedata, "unidata_version", "99.0.0")
    with pytest.raises(RuntimeError, match=r"Unicode 99\.0\.0"):
        frozen_letters.table()


def test_every_character_of_the_table_is_a_letter_in_this_python_too() -> None:
    """No version of Unicode takes one back, nor changes what its NFC is."""
    bounds = topic_letters.BOUNDS
    assert list(bounds) == sorted(bounds)
    ranges = zip(bounds[::2], bounds[1::2], strict=True)
    letters = [chr(code) for start, stop in ranges for code in range(start, stop)]
    assert all(one.isalnum() or one in "+-_" for one in letters)
    assert len(letters) == 133_550  # of Unicode 14.0: 133,547 letters and numbers, and "+-_"
    assert sys.maxunicode == 0x10FFFF
