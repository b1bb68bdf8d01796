"""What commands write for programs and for people, of text that comes from elsewhere."""

import json
import os

from rich.table import Table

from camcast.cli.ask import print_lines
from camcast.cli.console import wide_console
from camcast.cli.output import print_json, print_line, say
from tests.camcast_command import Capture

HOSTILE = "h2\x1b[31mred\x9b2J\x7f\u202e\u2028[/bold] :skull:\U000e0041"
SHOWN = "h2\\x1b[31mred\\x9b2J\\x7f\\u202e\\u2028[/bold] :skull:\\U000e0041"


def test_json_is_ascii_where_a_terminal_would_obey_and_means_the_same(
    capfd: Capture,
) -> None:
    print_json({HOSTILE: [HOSTILE, "Zürich"]}, "test/1")
    printed = capfd.readouterr().out
    assert printed[:-1].isprintable()
    assert "Zürich" in printed
    assert json.loads(printed) == {"schema": "camcast.test/1", HOSTILE: [HOSTILE, "Zürich"]}


def test_a_file_whose_name_is_not_utf_8_is_named_in_json(
    capfd: Capture,
) -> None:
    name = os.fsdecode(b"b\xff.key")
    print_json({"file": name, "list": b"x"}, "test/1")
    printed = capfd.readouterr().out
    assert json.loads(printed) == {"schema": "camcast.test/1", "file": name, "list": "eA=="}
    assert printed[:-1].isprintable()


def test_lines_and_tables_show_text_as_text(capfd: Capture) -> None:
    print_line(HOSTILE)
    say(HOSTILE)
    assert capfd.readouterr().out == f"{SHOWN}\n{SHOWN}\n"
    table = Table("who", HOSTILE)
    table.add_row(HOSTILE, "1")
    wide_console(200).print(table)
    wide_console(200).print(HOSTILE)
    printed = capfd.readouterr().out
    assert all(line.isprintable() for line in printed.splitlines())
    assert printed.count("h2\\x1b[31mred") == 3
    assert SHOWN in printed


def test_into_a_pipe_a_line_stays_whole(capfd: Capture) -> None:
    text = " ".join(["word"] * 50)
    print_lines(text, "next")
    assert capfd.readouterr().out == f"{text}\nnext\n"
