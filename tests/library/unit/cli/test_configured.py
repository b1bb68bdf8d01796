"""Options from a file and the environment: which one counts, and what is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from camcast.app.settings import Contacts, Spread
from camcast.cli.app import app as camcast_app
from camcast.cli.configured import configured
from camcast.cli.option_group import grouped
from camcast.cli.options import option_of
from tests.camcast_command import Capture, all_commands, refusal
from tests.python_process import python

RUNNING = ("subscribe", "publish", "gateway", "doctor")
EXPERIMENTS = ("run", "demo")

taken: list[dict[str, Any]] = []
app = typer.Typer()


@app.command()
@configured
@grouped
def listen(
    topic: Annotated[str, typer.Argument()] = ".",
    bind: Annotated[str, typer.Option("--bind")] = "tcp://127.0.0.1:0",
    gateway: Annotated[list[str] | None, typer.Option("--gateway")] = None,
    settings: Annotated[list[str] | None, option_of(Contacts, "options")] = None,
    certificates: Annotated[list[Path] | None, typer.Option("--certificate")] = None,
    remember: Annotated[Path | None, typer.Option("--remember")] = None,
    repair: Annotated[bool, option_of(Spread, "repair")] = True,
    wait: Annotated[float, typer.Option(min=0.0)] = 10.0,
) -> None:
    taken.append(dict(locals()))


@app.command()
@configured
@grouped
def other(count: Annotated[int, typer.Option("--count", "-n")] = 1) -> None: ...


def given(*arguments: object) -> dict[str, Any]:
    """Return what the command gets; `AssertionError` for a refusal."""
    taken.clear()
    with pytest.raises(SystemExit) as ended:
        app(["listen", *map(str, arguments)])
    assert ended.value.code == 0
    return taken.pop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "camcast.toml"


def test_the_command_line_is_before_the_environment_and_that_before_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('bind = "tcp://127.0.0.1:1"\nwait = 2\nrepair = false')
    assert given("--config", file) == {
        "topic": ".",
        "bind": "tcp://127.0.0.1:1",
        "gateway": None,
        "settings": None,
        "certificates": None,
        "remember": None,
        "repair": False,
        "wait": 2.0,
    }
    monkeypatch.setenv("CAMCAST_CONFIG", str(file))
    monkeypatch.setenv("CAMCAST_WAIT", "3")
    monkeypatch.setenv("CAMCAST_REPAIR", "1")
    assert (given()["wait"], given()["repair"], given()["bind"]) == (3.0, True, "tcp://127.0.0.1:1")
    assert given("--wait", 4, "--no-repair")["wait"] == 4.0
    assert given("--wait", 4, "--no-repair")["repair"] is False


def test_lists_tables_and_paths_mean_what_they_would_on_the_command_line(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(
        'gateway = ["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]\n'
        "set = {c = 2, heartbeat_seconds = 1}\n"
        'certificate = ["ada.cert", "/etc/root.cert"]\nremember = "contacts"'
    )
    found = given("--config", file)
    assert found["gateway"] == ["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]
    assert found["settings"] == ["c=2", "heartbeat_seconds=1"]
    assert found["certificates"] == [file.parent / "ada.cert", Path("/etc/root.cert")]
    assert found["remember"] == file.parent / "contacts"
    file.write_text('gateway = "tcp://127.0.0.1:3"')
    assert given("--config", file)["gateway"] == ["tcp://127.0.0.1:3"]
    monkeypatch.setenv("CAMCAST_GATEWAY", "tcp://127.0.0.1:4 tcp://127.0.0.1:5")
    monkeypatch.setenv("CAMCAST_CERTIFICATE", "ada.cert:root.cert")
    found = given("--config", file)
    assert found["gateway"] == ["tcp://127.0.0.1:4", "tcp://127.0.0.1:5"]
    assert found["certificates"] == [Path("ada.cert"), Path("root.cert")]


def test_one_file_serves_commands_with_different_options(file: Path) -> None:
    file.write_text("count = 3\nwait = 1")
    assert given("--config", file)["wait"] == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('gatway = "x"', "there is no option 'gatway'; did you mean 'gateway'?"),
        ('passphrase_file = "x"', "'passphrase_file'; did you mean 'passphrase-file'?"),
        ("zzz = 1", "there is no option 'zzz'; there is: a, advertise, also-passphrase-file, ar"),
        ('config = "other.toml"', "there is no option 'config'"),
        ('help = "x"', "there is no option 'help'"),
        ("wait = 'soon'", "wait: "),
        ("wait = -1", "wait: "),
        ("retry = 3", "retry: it is true or false, and not 3"),
        ("bind = true", "bind: it is text or a number, and not True"),
        ('bind = ["a"]', "bind: it is text or a number, and not ['a']"),
        ("gateway = [[1]]", "gateway: it is text or a number, and not [1]"),
        ("x = [", "not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_key(
    text: str, said: str, file: Path, capfd: Capture
) -> None:
    file.write_text(text)
    code, error = refusal(capfd, "publish", ".a", "x", "--config", file)
    assert code == 2
    assert str(file) in error
    assert said in error


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capfd: Capture) -> None:
    code, error = refusal(capfd, "gateway", "--config", tmp_path / "none.toml")
    assert code == 2
    assert error == f"camcast: --config {tmp_path / 'none.toml'}: No such file or directory\n"


@pytest.mark.parametrize("name", [*RUNNING, *EXPERIMENTS])
def test_every_option_of_a_command_that_runs_a_process_has_its_variable(
    name: str, capfd: Capture
) -> None:
    command = all_commands()[name]
    variables = {
        option: one.envvar
        for one in command.params
        if one.param_type_name == "option"
        for option in one.opts
        if option.startswith("--")
    }
    assert len(variables) > 8
    assert variables == {
        option: "CAMCAST_" + option[2:].replace("-", "_").upper() for option in variables
    }
    with pytest.raises(SystemExit):
        camcast_app([name, "--help"])
    shown = "CAMCAST_BIND; default" if name in RUNNING else "CAMCAST_SEED"
    assert f"[env var: {shown}" in " ".join(capfd.readouterr().out.split())


def test_one_file_serves_what_runs_a_process_and_what_asks_whether_it_would_run(
    file: Path, capfd: Capture
) -> None:
    file.write_text('gateway = "nowhere"\nretry = true\nprocesses = 3')
    for command in (("subscribe", ".a"), ("publish", ".a", "x"), ("doctor",)):
        assert "address 'nowhere'" in refusal(capfd, *command, "--config", file)[1]


@pytest.mark.parametrize(
    ("text", "variables", "said"),
    [
        ('scenario = "papers"', {}, "built in: paper"),
        ("", {"SCENARIO": "papers"}, "built in: paper"),
        ('scenario = "paper"\nprocesses = 2', {"KILL": "90%"}, "one to survive"),
        ('scenario = "paper"', {"SIZES": "2"}, "give one of --scenario, --community and --sizes"),
        ('set = {d = 1}\ncommunity = [".a=2", ".b=2"]', {}, "has no option 'd'"),
        ('control = "camcast.toml"', {}, "camcast.toml: File exists; it takes a folder"),
    ],
)
def test_an_experiment_takes_its_options_from_a_file_and_the_environment(
    text: str,
    variables: dict[str, str],
    said: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Capture,
) -> None:
    file.write_text(text)
    for name, value in variables.items():
        monkeypatch.setenv(f"CAMCAST_{name}", value)
    assert said in refusal(capfd, "run", "--config", file)[1]


def test_no_file_is_read_that_was_not_named(tmp_path: Path) -> None:
    (tmp_path / "camcast.toml").write_text("this is no TOML")
    done = python("-m", "camcast", "publish", "no topic", "x", cwd=tmp_path)
    assert "TOML" not in done.stderr
    assert "topic" in done.stderr
