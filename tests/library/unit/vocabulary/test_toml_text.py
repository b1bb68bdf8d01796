"""Whatever a TOML file holds, it is parsed or refused with a sentence, soon."""

from pathlib import Path

import pytest

from camcast.vocabulary.toml_text import BYTES_MAX, DEPTH_MAX, TomlTextError, parse_toml, read_toml

HOSTILE = {
    "arrays": ("a = " + "[" * 100_000, "deeper"),
    "arrays that Python's parser takes": ("a = " + "[" * 40 + "]" * 40, "deeper"),
    "tables": ("a = " + "{a = " * 40 + "1" + "}" * 40, "deeper"),
    # Python's parser would take half an hour
    "a dotted key": ("a." * 500_000 + "a = 1", "deeper"),
    "a dotted key of quoted parts": ('"." . ' * 100_000 + "a = 1", "deeper"),
    "a dotted heading": ("[a" + ".a" * 50_000 + "]", "deeper"),
    "digits": ("a = 1" + "0" * 5_000, "4300 digits"),
    "no value": ("a = ", "line 1|end of document"),
}


@pytest.mark.parametrize(("text", "why"), HOSTILE.values(), ids=HOSTILE)
def test_what_would_exhaust_the_parser_is_refused(text: str, why: str) -> None:
    with pytest.raises(TomlTextError, match=why):
        parse_toml(text)


def test_what_people_write_is_parsed() -> None:
    deep = ".a" * DEPTH_MAX
    text = f'[gateways]\n"{deep}" = ["tcp://h:1"]\n# one.{"two." * 40}\n'
    text = text.replace("one.", "one. ").replace("two.", "two. and ")
    assert parse_toml(text) == {"gateways": {deep: ["tcp://h:1"]}}


def test_a_file_is_read_up_to_a_bound(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_bytes(b"#" * BYTES_MAX)
    assert len(read_toml(file)) == BYTES_MAX
    file.write_bytes(b"#" * (BYTES_MAX + 1))
    with pytest.raises(TomlTextError, match="longer than 1,048,576 bytes"):
        read_toml(file)
