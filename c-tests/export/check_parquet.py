"""Runs the queries of docs/parquet.md in DuckDB (PyPI) on a lake of 64 made-up ranks.

    python c-tests/export/check_parquet.py FOLDER EVENTS    # FOLDER holds lake/

EVENTS is the number of events of each rank. The content that crates/trace/examples/synthesize.rs makes is known: rank 7
takes three times as long, 60 of 64 events are launches of 8 kernels.
"""

import os
import re
import sys

import duckdb

doc = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/parquet.md")
queries = re.findall(r"```sql\n(.*?)```", open(doc).read(), re.S)
assert len(queries) == 3, "the page has three queries"
os.chdir(sys.argv[1])
events = int(sys.argv[2])
table = "read_parquet('lake/**/*.parquet', hive_partitioning = true)"
ranks, rows = duckdb.sql(f"SELECT count(DISTINCT rank), count(*) FROM {table}").fetchall()[0]
assert (ranks, rows) == (64, 64 * events), (ranks, rows)
print(f"{rows} rows of {ranks} ranks")
groups = duckdb.sql("SELECT file_name, row_group_id, any_value(row_group_num_rows) FROM "
                    "parquet_metadata('lake/**/*.parquet') GROUP BY ALL").fetchall()
assert all(n == min(1_000_000, events - 1_000_000 * group) for _, group, n in groups), groups[:5]
results = []
for query in queries:
    print()
    print(query.strip())
    result = duckdb.sql(query)
    print(result)
    results.append(result.fetchall())
slow, kernels, gaps = results
assert slow[0][0] == 7 and slow[0][4] == 3.0 and slow[1][4] == 1.0, slow
launches = sum(n % 64 > 3 for n in range(events))
assert slow[0][1] == launches
assert {k[0] for k in kernels} < {"vecadd", "scale", "dot", "axpy", "softmax", "layernorm", "gelu", "embed"}
shapes = [len({n % 16 for n in range(events) if n % 64 > 3 and n // 3 % 8 == kernel}) for kernel in range(8)]
assert {k[2] for k in kernels} <= set(shapes) and all(k[4] == 0 for k in kernels), kernels
assert len(gaps) == 5 and gaps[0][4] > 0
print("all three as expected")
