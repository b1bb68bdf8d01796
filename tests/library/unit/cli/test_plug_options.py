"""Every command that runs a process takes a discovery and a protocol of a third party's."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from camcast.cli.app import app
from tests.camcast_command import Capture, refusal
from tests.library.example_packages import install


def options() -> dict[str, dict[str, object]]:
    """Return the options of each command, by its words."""
    found: dict[str, dict[str, object]] = {}

    def walk(command: object, words: tuple[str, ...]) -> None:
        if hasattr(command, "list_commands"):
            context = typer.Context(command)  # type: ignore[arg-type]  # it is click's command
            for name in command.list_commands(context):
                walk(command.get_command(context, name), (*words, name))  # type: ignore[attr-defined]  # of a group
        else:
            names = [opt for one in command.params for opt in one.opts]  # type: ignore[attr-defined]  # as every command
            found[" ".join(words)] = dict.fromkeys(names)

    walk(typer.main.get_command(app), ())
    return found


def test_every_command_that_runs_a_process_takes_a_discovery_and_its_options() -> None:
    listening = [name for name, its in options().items() if "--bind" in its]
    assert {"subscribe", "publish", "gateway", "doctor"} <= set(listening)
    for name in (*listening, "run", "demo", "simulate virtual"):
        assert {"--discovery", "--discovery-set"} <= options()[name].keys(), name


def test_every_command_that_spreads_events_takes_a_protocol_and_its_options() -> None:
    for name in ("subscribe", "publish", "run", "demo", "simulate virtual"):
        assert {"--protocol", "--protocol-set"} <= options()[name].keys(), name
    assert "--protocol" in options()["gateway"]  # for the discovery of its membership


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("publish .a x --discovery nonesuch", "unknown discovery 'nonesuch'"),
        ("publish .a x --discovery-set directory=/x", "discovery 'gateways' has no option"),
        ("publish .a x --discovery shared-directory --discovery-set colour=1", "directory"),
        ("publish .a x --membership dht --discovery shared-directory", "'kademlia' alone"),
        ("publish .a x --protocol nonesuch", "unknown protocol 'nonesuch'"),
        ("publish .a x --protocol push-pull --protocol-set keep_seconds=-1", "keep_seconds"),
        ("gateway --discovery shared-directory --discovery-set directory", "--discovery-set takes"),
        ("gateway --protocol nonesuch", "unknown protocol 'nonesuch'"),
        ("run --community .a=2 --discovery nonesuch", "unknown discovery 'nonesuch'"),
        ("demo --protocol nonesuch", "unknown protocol 'nonesuch'"),
        ("simulate virtual --sizes 3 --discovery gateways", "--discovery goes with a scenario"),
    ],
)
def test_what_is_wrong_is_said(
    command: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    install(tmp_path, "shared_directory", "push_pull")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, error = refusal(capfd, *command.split())
    assert code in (1, 2), error
    assert named in error
