"""cuDF beside pandas: reductions, groups, windows, joins, sorting, strings, times and its own readers of files.

One line for each kind of operation: how many of its cases agree.
"""

import io

import cudf
import numpy as np
import pandas as pd

N = 2000
rng = np.random.default_rng(0)
here = pd.DataFrame({
    "k": rng.integers(0, 20, N), "v": rng.random(N), "i": rng.integers(-100, 100, N), "b": rng.random(N) > 0.5,
    "s": ["name%d x%d" % (n % 37, n % 5) for n in range(N)], "d": pd.date_range("2020-01-01", periods=N, freq="37min")})
here.loc[here.index[::17], "v"] = np.nan
there = cudf.DataFrame(here)
LOOSE = {"check_dtype": False, "check_names": False, "check_index_type": False}


def agree(found, wanted):
    found = found.to_pandas() if hasattr(found, "to_pandas") else found
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted, check_column_type=False, **LOOSE)
    elif isinstance(wanted, pd.Series):
        pd.testing.assert_series_equal(found, wanted, **LOOSE)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def cases(name, *functions):
    right = 0
    for function in functions:
        try:
            agree(function(there, cudf), function(here, pd))
            right += 1
        except Exception as error:
            print("%s: %s: %s" % (name, type(error).__name__, " ".join(str(error).split())[:200]))
    print("%s: %d of %d" % (name, right, len(functions)), flush=True)


def named(*names, of=lambda d: d.i):
    return [lambda d, _, name=name: getattr(of(d), name)() for name in names]


def words(name, *arguments):
    return lambda d, _: getattr(d.s.str, name)(*arguments)


cases("reductions", *named("sum", "mean", "std", "var", "min", "max", "median", "nunique", "prod", "count", "skew", "kurt"),
      lambda d, _: d.v.quantile(0.3), lambda d, _: d.v.fillna(0).corr(d.i.astype(float)), lambda d, _: d[["i"]].describe())
cases("groups", *named("sum", "mean", "std", "min", "max", "count", "nunique", "first", "last", "median",
                       of=lambda d: d.groupby("k", sort=True)[["v", "i"]]),
      lambda d, _: d.groupby(["k", "b"], sort=True).agg({"v": "sum", "i": ["min", "max"]}),
      lambda d, _: d.groupby("k", sort=True)["i"].transform("sum"), lambda d, _: d.k.value_counts().sort_index())
cases("windows", *named("cumsum", "cummax", "diff", "rank"), lambda d, _: d.v.shift(3), lambda d, _: d.i.rolling(7).mean(),
      lambda d, _: d.i.rolling(5).max(), lambda d, _: d.set_index("d").i.resample("1D").sum())
cases("rows", lambda d, _: d.sort_values(["k", "i", "v"]).reset_index(drop=True)[["k", "i"]], lambda d, _: d[(d.i > 3) & d.b],
      lambda d, _: d.dropna(), lambda d, _: d[["k", "b"]].drop_duplicates().sort_values(["k", "b"]), lambda d, _: d.v.fillna(0),
      lambda d, _: d.query("i > 10 and k < 5")[["i", "k"]], lambda d, p: p.concat([d, d]).i)
cases("joins", lambda d, _: d[["k", "i"]].merge(d[["k"]].drop_duplicates(), on="k").sort_values(["k", "i"]).reset_index(drop=True),
      lambda d, _: d[["k", "i"]].merge(d[d.k < 5][["k"]].drop_duplicates().assign(w=1), on="k", how="left")
      .sort_values(["k", "i", "w"]).reset_index(drop=True), lambda d, _: d[["s", "i"]].merge(d[["s"]].drop_duplicates(), on="s").i.sum())
cases("arithmetic", lambda d, _: d.i % 7, lambda d, _: d.i // 3, lambda d, _: d.v ** 2, lambda d, _: d.i.clip(-10, 10),
      lambda d, _: d.i.where(d.b, -1), lambda d, _: d.i.apply(lambda value: value * 2 + 1), lambda d, _: d.k.astype("float32"))
cases("strings", words("upper"), words("len"), words("contains", "1 x"), words("replace", "name", "N"), words("slice", 2, 6),
      words("startswith", "name1"), words("find", "x"), words("zfill", 12), words("count", "n"),
      lambda d, _: d.s.str.split(" ", expand=True)[1], lambda d, _: d.s.str.extract(r"(\d+) x(\d)", expand=True)[0],
      lambda d, _: d.s.str.cat(d.s, sep="-"), lambda d, _: d.i.astype(str), lambda d, _: d.i.astype(str).astype("int64"))
cases("times", *[lambda d, _, field=field: getattr(d.d.dt, field)
                 for field in ("year", "month", "day", "hour", "weekday", "dayofyear")])
FILES = {"read_csv": here.head(200)[["k", "v", "i", "s"]].to_csv(index=False).encode()}
for codec in None, "snappy":
    file = io.BytesIO()
    here.head(500)[["k", "v", "i", "s", "b"]].to_parquet(file, compression=codec)
    FILES["read_parquet %s" % codec] = file.getvalue()
cases("files", *[lambda _, p, name=name, data=data: getattr(p, name.split()[0])(io.BytesIO(data)) for name, data in FILES.items()])
