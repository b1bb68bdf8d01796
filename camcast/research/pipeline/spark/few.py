"""Plans for few records: Spark then takes longer to prepare the work than to do it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

# measured: of 100,000 and of 450,000 records the measures take 7 and 10 s of CPU so, 17 and 16 s
# as Spark plans by itself; of 2.3 million 23 and 25 s, but then on one core instead of two
_RECORDS_MAX: Final = 1_000_000
_FEW: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",  # it makes each stage a job, planned by itself
    # no Java is generated: to compile it takes longer than to interpret the plan
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def planned_for(spark: SparkSession, records: int) -> Iterator[None]:
    """Let Spark plan what is computed in the context for so many records of traces."""
    if records > _RECORDS_MAX:
        yield
        return
    before = {name: spark.conf.get(name, None) for name in _FEW}
    for name, value in _FEW.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, known)
