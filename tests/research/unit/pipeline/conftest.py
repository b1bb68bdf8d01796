"""One Spark session for all tests of the pipeline: a JVM takes seconds to start."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from camcast.research.pipeline.spark.session import open_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Java's second compiler is for hours: without it a session of minutes takes a third less.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    with open_spark("camcast tests", conf=QUICK) as session:
        yield session
        session.range(1).count()  # says how the JVM ended and its last words, if it did
