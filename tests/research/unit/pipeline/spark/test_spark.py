"""A real cluster, on this machine: Spark's own master and worker, each a process."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from camcast.research.pipeline.spark.jvm import find_java
from tests.library.live.communities import free_port
from tests.research.unit.pipeline.run_folders import simulate_two

pyspark = pytest.importorskip("pyspark", reason="the extra spark is not installed")

pytestmark = pytest.mark.slow  # four JVMs

SECONDS = 180.0


@contextmanager
def daemon(name: str, *arguments: object, until: str, folder: Path) -> Iterator[None]:
    """Run a process of Spark's standalone cluster, from when its log says `until`."""
    spark_home = Path(pyspark.__file__).parent
    command = [str(spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    command += [*map(str, arguments), "--webui-port", "0"]
    surroundings = os.environ | {
        "SPARK_HOME": str(spark_home),
        "JAVA_HOME": str(find_java().path.resolve().parent.parent),
    }
    log = folder / f"{name}.log"
    with (
        log.open("w") as file,
        subprocess.Popen(command, cwd=folder, stderr=file, env=surroundings) as process,
    ):
        try:
            while until not in log.read_text():
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            yield
        finally:
            process.kill()


def camcast(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "camcast", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cluster_compares_as_this_machine_does_and_one_without_workers_says_so(
    tmp_path: Path,
) -> None:
    simulate_two(tmp_path / "runs")
    runs, here, there = (tmp_path / name for name in ("runs", "here", "there"))
    told, problems = camcast("compare", runs, "--output", here).communicate(timeout=SECONDS)
    assert problems == ""
    master = f"spark://127.0.0.1:{free_port()}"
    host, port = master.removeprefix("spark://").split(":")
    with ExitStack() as cluster:
        cluster.enter_context(
            daemon(
                *("master.Master", "--host", host, "--port", port),
                until="I have been elected leader",
                folder=tmp_path,
            )
        )
        comparing = camcast("compare", runs, "--output", there, "--master", master)
        assert comparing.stderr is not None
        assert select.select([comparing.stderr], [], [], SECONDS)[0]
        assert f"{master} has given us no executor yet" in comparing.stderr.readline()
        cluster.enter_context(
            daemon(
                *("worker.Worker", master, "--cores", 2, "--memory", "2g"),
                *("--work-dir", tmp_path / "work"),
                until="Successfully registered with master",
                folder=tmp_path,
            )
        )
        told_there, problems = comparing.communicate(timeout=SECONDS)
        assert comparing.returncode == 0, problems
    assert told_there.replace(str(there), str(here)) == told
    assert (there / "comparison.csv").read_bytes() == (here / "comparison.csv").read_bytes()
    assert not os.path.exists(tmp_path / "spark-warehouse")
