"""Rows of the driver as a table of Spark's, by way of Arrow.

`SparkSession.createDataFrame` of tuples would start Python processes to read them again, which
takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def local_table(spark: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """Return rows as a table; `schema` is in Spark's notation, a map is a dictionary."""
    fields = to_arrow_schema(cast(StructType, StructType.fromDDL(schema)))
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array([list(v.items()) if isinstance(v, dict) else v for v in column], type_)
        for column, type_ in zip(columns, fields.types, strict=False)  # no rows, no columns
    ]
    return spark.createDataFrame(pa.table(arrays, fields) if arrays else fields.empty_table())
