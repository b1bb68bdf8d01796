"""The examples beside other software: a Parquet file, a web server, a broker, Jupyter, hosts."""

import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from camcast import Received
from camcast.app import blocking
from tests.library.live.communities import free_port
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.python_process import output_of

EXAMPLES = Path(__file__).parents[3] / "examples"
SPARK_SECONDS = 600.0  # chosen: twice what a JVM needs beside ten other processes on two cores


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*command], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_readings_end_in_a_parquet_file(tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "readings.parquet"
    assert output_of(EXAMPLES / "sensors_to_parquet.py", file).splitlines() == [
        "an alarm: Reading(site='roof', celsius=30.5)",
        "cellar: 14.75 degrees on average",
        "roof: 29.75 degrees on average",
    ]
    rows = parquet.read_table(file).to_pylist()
    expected = [25.0 + n / 2 for n in range(20)]
    assert sorted(row["celsius"] for row in rows if row["site"] == "roof") == expected


@pytest.mark.slow  # a JVM
def test_the_archive_is_read_in_spark_as_the_recipe_says(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    archive = tmp_path / "events.archive"
    with blocking.CommunityManager(archive=archive) as manager:
        community = manager.join(".plant.celsius")
        for site, celsius in (("roof", 20.5), ("cellar", 11.0), ("roof", 21.5)):
            community.publish(json.dumps({"site": site, "celsius": celsius}).encode())
    page = (EXAMPLES.parent / "docs/recipes.md").read_text().partition("## The archive in Spark")[2]
    command, program = re.findall(r"```(?:sh|python)\n(.*?)```", page, re.S)[:2]
    output_of("-m", *command.split(), cwd=tmp_path)
    printed = output_of("-c", program, cwd=tmp_path, seconds=SPARK_SECONDS)
    rows = re.findall(r"^\|\s*(\w+)\|\s*([\d.]+)\|$", printed, re.M)
    assert rows == [("cellar", "11.0"), ("roof", "21.0")]


def test_a_browser_gets_events_and_a_wrong_filter_is_its_mistake() -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    port = free_port()
    with running(sys.executable, EXAMPLES / "fastapi_sse.py", "--port", str(port)) as process:
        wait_until(lambda: listens(port), process)
        wrong = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        wrong.request("GET", "/events?where=goals%20%3E%3E%202")
        answer = wrong.getresponse()
        assert answer.status == 400
        assert "column" in answer.read().decode()
        reading = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        reading.request("GET", "/events?where=goals%20%3E%202")
        stream = reading.getresponse()
        assert stream.readline() == b": joined\n"
        for goals in (1, 3):
            wrong.request("POST", "/events", body=json.dumps({"goals": goals}))
            identifier = json.loads(wrong.getresponse().read())["id"]
        lines = [stream.readline() for _ in range(3)]
        assert lines[1:] == [
            f"id: {identifier}\n".encode(),
            b'data: [".soccer", "{\\"goals\\": 3}"]\n',
        ]
        process.terminate()  # with a browser that waits
        assert process.wait(PATIENCE_SECONDS) in (0, -15)
        wrong.close()
        reading.close()


def test_what_is_published_on_either_side_arrives_on_the_other_once(tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt.client")
    broker = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if broker is None:
        pytest.skip("there is no mosquitto")
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    port = free_port()
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    got: list[tuple[str, bytes]] = []
    with running(broker, "-c", config) as process:
        wait_until(lambda: listens(port), process)
        client = mqtt.Client(CallbackAPIVersion.VERSION2)
        client.on_message = lambda _c, _u, message: got.append(
            (message.topic, bytes(message.payload))
        )
        client.connect("127.0.0.1", port)
        client.subscribe("plant/#")
        client.loop_start()
        command: list[str | Path] = [sys.executable, EXAMPLES / "mqtt_bridge.py", "plant"]
        with running(*command, "--broker", f"127.0.0.1:{port}") as bridge:
            assert bridge.stdout is not None
            address = bridge.stdout.readline().split()[-1]
            with blocking.CommunityManager(gateways=[address]) as manager:
                plant = manager.join(".plant")
                plant.ready(timeout=PATIENCE_SECONDS)
                events = plant.subscribe(own=False)
                client.publish("plant/roof", b"21.5")
                event = next(events)
                assert isinstance(event, Received)
                assert (event.topic.name, event.payload) == (".plant.roof", b"21.5")
                plant.publish(b"stop")
                wait_until(lambda: len(got) >= 2)
                client.publish("plant/roof", b"end")
                event = next(events)
                assert isinstance(event, Received)
                assert event.payload == b"end"  # and no echo before it
                wait_until(lambda: len(got) >= 3)
        client.loop_stop()
        client.disconnect()
    assert got == [("plant/roof", b"21.5"), ("plant", b"stop"), ("plant/roof", b"end")]


IN_A_KERNEL = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=float(sys.argv[2]), kernel_name="python3").execute()
for cell in notebook.cells:
    for shown in cell.get("outputs", ()):
        print(shown.data["text/plain"])
"""


def test_a_notebook_is_a_member_while_its_cells_run(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("nbclient")
    notebook = EXAMPLES / "work_in_jupyter.ipynb"
    said = output_of("-c", IN_A_KERNEL, notebook, PATIENCE_SECONDS, cwd=tmp_path)
    address, hot, stats = said.splitlines()
    assert address.startswith("'tcp://127.0.0.1:")
    assert hot == "[('.plant.cellar', 31.0), ('.plant.roof', 34.0), ('.plant.roof', 35.5)]"
    assert stats.endswith(" 5, 0)]")  # delivered and missed


def test_two_hosts_hear_each_other_and_are_removed() -> None:
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("makes network namespaces, which takes root")
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("there are no network namespaces here")
    with running(sys.executable, "-W", "error", EXAMPLES / "two_hosts.py") as process:
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert sorted(out.splitlines()) == [
        "10.77.0.2 hears in .clock.hall: it is noon",
        "10.77.0.2 listens",
        "10.77.0.3 says so to 1 above",
    ]
    left = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    assert f"camcast-{process.pid}-" not in left


@pytest.mark.parametrize("why", ["not root", "no ip"])
def test_two_hosts_say_what_they_take(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: int(why == "not root"))
    monkeypatch.setattr("shutil.which", lambda _: None if why == "no ip" else "/sbin/ip")
    monkeypatch.setattr("sys.argv", ["two_hosts.py"])
    with pytest.raises(SystemExit, match="take root and the command ip"):
        runpy.run_path(str(EXAMPLES / "two_hosts.py"), run_name="__main__")
