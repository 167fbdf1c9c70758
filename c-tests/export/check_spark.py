"""Reads a lake of 64 made-up ranks in Spark (PyPI pyspark; needs a Java runtime), and asks what docs/parquet.md asks.

    python c-tests/export/check_spark.py FOLDER EVENTS    # FOLDER holds lake/

EVENTS is the number of events of each rank, as for check_parquet.py.
"""

import sys

from pyspark.sql import SparkSession, functions as f

folder, events = sys.argv[1], int(sys.argv[2])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").appName("cushim").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
table = spark.read.parquet(f"{folder}/lake")
types = dict(table.dtypes)
print("Spark", spark.version, {name: types[name] for name in ("run", "rank", "t_ns", "stream_handle", "arg_bytes", "args")})
assert types["t_ns"] == types["stream_handle"] == "bigint" and types["rank"] == "int", types
assert table.count() == 64 * events
launches = table.where("class = 'launch' AND depth = 0")
slow = launches.groupBy("rank").agg(f.count("*").alias("launches"), f.avg("call_ns").alias("mean_ns"))
slow = slow.orderBy(f.desc("mean_ns"), "rank")
slow.show(3)
assert slow.first()["rank"] == 7 and slow.first()["launches"] == sum(n % 64 > 3 for n in range(events))
kernels = launches.groupBy("kernel").agg(f.count("*").alias("launches"), f.round(f.sum("call_ns") / 1e6, 1).alias("host_ms"))
kernels.orderBy(f.desc("host_ms"), "kernel").show(3)
assert kernels.count() == 8
row = launches.selectExpr("kernel", "timestamp_micros(t_ns div 1000) AS t", "args[3].type AS type", "args[3].value AS value",
                          "length(arg_bytes) AS bytes").first()
print(row)
assert row["type"] == "int" and int(row["value"]) >= 0 and row["bytes"] == 28 and row["t"].year >= 2023
spark.stop()
print("Spark reads what was written")
