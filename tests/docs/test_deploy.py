"""The files of examples/deploy: each follows its schema, and the commands in it are ours.

The schemas have those parts of the Compose Specification and of the Kubernetes API that the files
use, closed, so that a misspelt key is an error here as it would be there. Tools of the real thing
check, too, where they are installed.
"""

import json
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer.main
import yaml

from camcast.cli.app import app
from tests.library.live.communities import free_port
from tests.library.live.running_command import Running

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples/deploy"
UNIT = DEPLOY / "camcast-gateway@.service"


def schema(name: str) -> jsonschema.Draft202012Validator:
    text = (Path(__file__).parent / f"deploy_schemas/{name}.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def options_of(words: Sequence[str]) -> dict[str, Any]:
    """Return the options of a command line of ours, which the command line has to understand."""
    commands: Any = typer.main.get_command(app)
    context = commands.commands[words[0]].make_context(words[0], [*words[1:]])
    return {name: value for name, value in context.params.items() if value is not None}


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], Any]:
    """Return what the file for Kubernetes declares, by kind and name."""
    every = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
    return {(one["kind"], one["metadata"]["name"]): one for one in every}


def image() -> dict[str, str]:
    """Return the last instruction of each kind in the Containerfile."""
    text = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", "")
    return dict(re.findall(r"^([A-Z]+) (.+)$", text, re.MULTILINE))


def listens_at(words: Sequence[str]) -> Iterator[int]:
    """Yield the ports of all addresses at which a command listens, at every address it has."""
    options = options_of(words)
    for name in ("bind", "health"):
        if name in options:
            host, _, port = options[name].removeprefix("tcp://").rpartition(":")
            assert host == "0.0.0.0", options[name]
            yield int(port)


def test_an_image_without_a_command_listens_where_it_says() -> None:
    exposed = [int(one.partition("/")[0]) for one in image()["EXPOSE"].split()]
    command = json.loads(image()["CMD"])
    assert json.loads(image()["ENTRYPOINT"]) == ["camcast"]
    assert list(listens_at(command)) == exposed


def test_the_command_of_the_image_runs_with_a_passphrase_and_not_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CAMCAST_PASSPHRASE", raising=False)
    command = json.loads(image()["CMD"])
    port, health = free_port(), free_port()
    command = [one.replace(":7000", f":{port}").replace(":9100", f":{health}") for one in command]
    with Running(*command) as running:
        assert running.process.wait() == 2
    monkeypatch.setenv("CAMCAST_PASSPHRASE", "five words that nobody else has")
    with Running(*command) as running:
        assert running.process.stdout is not None
        running.process.stdout.readline()  # its address, when it is ready
        for one in (port, health):
            socket.create_connection(("127.0.0.1", one)).close()


def test_compose_follows_its_schema_and_has_no_addresses(compose: Any) -> None:
    schema("compose").validate(compose)
    assert not re.search(r"\b\d+\.\d+\.\d+\.\d+\b(?<!0\.0\.0\.0)", str(compose))
    for service in compose["services"].values():
        words = shlex.split(
            " ".join(
                [service["command"]] if isinstance(service["command"], str) else service["command"]
            )
        )
        words = words[words.index("camcast") + 1 :] if "camcast" in words else words
        options = options_of(words)
        assert list(listens_at(words)) == [7000]
        assert options["advertise"] == "auto"
        assert service["healthcheck"]["test"] == [
            "CMD",
            "camcast",
            "ready",
            str(options["control"]),
        ]
        for gateway in options.get("gateway", ()):
            assert gateway.removeprefix("tcp://").partition(":")[0] in compose["services"]


def test_a_misspelt_key_is_found(compose: Any, objects: dict[tuple[str, str], Any]) -> None:
    service = {**compose["services"]["gateway"], "comand": "gateway"}
    assert not schema("compose").is_valid({"services": {"gateway": service}})
    budget = objects["PodDisruptionBudget", "camcast-gateway"]
    assert schema("kubernetes").is_valid(budget)
    assert not schema("kubernetes").is_valid({**budget, "spec": {"maxUnavailable": 1}})


def test_objects_of_kubernetes_follow_their_schema_and_fit_each_other(
    objects: dict[tuple[str, str], Any],
) -> None:
    for one in objects.values():
        schema("kubernetes").validate(one)
    workloads = [one for (kind, _), one in objects.items() if kind in ("StatefulSet", "Deployment")]
    services = {name: one["spec"] for (kind, name), one in objects.items() if kind == "Service"}
    for one in workloads:
        spec, labels = one["spec"], one["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels
        budget = objects["PodDisruptionBudget", one["metadata"]["name"]]["spec"]
        assert budget["selector"]["matchLabels"] == labels
        assert budget["maxUnavailable"] < spec["replicas"]
        (container,) = spec["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert list(listens_at(container["args"])) == [ports["camcast"], ports["health"]]
        assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "health"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}
        for gateway in options_of(container["args"]).get("gateway", ()):
            name, _, port = gateway.removeprefix("tcp://").partition(":")
            assert services[name]["ports"][0]["port"] == int(port)
    gateways = objects["StatefulSet", "camcast-gateway"]["spec"]
    headless = services[gateways["serviceName"]]
    assert (headless["clusterIP"], headless["publishNotReadyAddresses"]) == ("None", True)
    assert headless["selector"] == gateways["selector"]["matchLabels"]


def test_the_unit_runs_a_command_of_ours() -> None:
    (command,) = re.findall(r"^ExecStart=(.+)$", UNIT.read_text("utf-8"), re.MULTILINE)
    words = shlex.split(command)
    assert Path(words[0]).name == "camcast"
    assert options_of(words[1:])["control"] == Path("${RUNTIME_DIRECTORY}/control")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_has_nothing_to_say_about_the_unit(tmp_path: Path) -> None:
    installed = Path(shutil.which("true") or "/bin/true")
    unit = tmp_path / UNIT.name
    text = UNIT.read_text("utf-8")
    unit.write_text(
        text.replace("/opt/camcast/bin/camcast gateway", f"{installed} gateway"), "utf-8"
    )
    assert said_by("systemd-analyze", "verify", str(unit)) == ""
    unit.write_text(unit.read_text("utf-8").replace("DynamicUser", "DynamicUsr"), "utf-8")
    assert "DynamicUsr" in said_by("systemd-analyze", "verify", str(unit))


@pytest.mark.skipif(
    shutil.which("docker-compose") is None, reason="there is no docker-compose to ask"
)
def test_compose_itself_accepts_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMCAST_PASSPHRASE", "five words that nobody else has")
    file = str(DEPLOY / "compose.yaml")
    assert said_by("docker-compose", "--file", file, "config", "--quiet") == ""


@pytest.mark.skipif(shutil.which("kubeconform") is None, reason="there is no kubeconform to ask")
def test_kubeconform_accepts_the_objects() -> None:
    assert said_by("kubeconform", "-strict", str(DEPLOY / "kubernetes.yaml")) == ""


def said_by(*command: str) -> str:
    """Return what a tool complains of: it prints nothing about what is right."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
