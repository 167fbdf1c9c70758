"""Settings that other projects' test suites need of pytest when they run from an installed package, and a record of each test
as it ends: a line of JSON in the file that SUITE_RESULTS names, so that an interrupted run keeps the earlier results.
SUITE_EACH=N takes at most N of the cases of each test function, at equal distances; SUITE_MOST=N takes at most N
of the remaining tests, at equal distances;
SUITE_DIVIDE=FROM/BY divides integers from FROM on among the parameters of tests by BY, for tests of sizes for GPUs;
SUITE_EAGER_ON_HOST=1 computes PyTorch's own kernels on the host (eager_on_host.py)."""
import json
import os

import pytest

LONGEST = 300


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """numba-cuda's tests take this fixture from the conftest.py of its repository, which the wheel lacks."""
    request.cls._dump_failed_filechecks = False


def divided(value, least, by):
    if type(value) in (list, tuple):
        return type(value)(divided(part, least, by) for part in value)
    return max(1, value // by) if type(value) is int and value >= least else value


def pytest_itemcollected(item):
    if os.environ.get("SUITE_DIVIDE") and hasattr(item, "callspec"):
        least, by = map(int, os.environ["SUITE_DIVIDE"].split("/"))
        for name, value in item.callspec.params.items():
            item.callspec.params[name] = divided(value, least, by)


def spread(items, most):
    """At most this many cases of each test function, at equal distances; the same cases in every run."""
    functions = {}
    for item in items:
        functions.setdefault(item.nodeid.split("[")[0], []).append(item)
    chosen = set()
    for cases in functions.values():
        step = max(1, len(cases) / most)
        chosen.update(cases[int(at * step)] for at in range(min(most, len(cases))))
    return chosen


def take(config, items, chosen):
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_collection_modifyitems(config, items):
    if os.environ.get("SUITE_EACH"):
        take(config, items, spread(items, int(os.environ["SUITE_EACH"])))
    most = int(os.environ.get("SUITE_MOST", 0))
    if 0 < most < len(items):
        take(config, items, {items[at * len(items) // most] for at in range(most)})


def why(report):
    """The last lines of an error, which name it."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr or "")
    return " ".join(text.split())[:LONGEST]


def pytest_runtest_logreport(report):
    # A passing test has three reports: setup, call and teardown.
    if not os.environ.get("SUITE_RESULTS") or (report.passed and report.when != "call"):
        return
    expected = hasattr(report, "wasxfail")
    outcome = "skipped" if expected and report.skipped else report.outcome
    line = {"test": report.nodeid, "outcome": outcome, "why": why(report) if report.failed else "", "seconds": report.duration}
    with open(os.environ["SUITE_RESULTS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_sessionstart(session):
    if os.environ.get("SUITE_EAGER_ON_HOST"):
        import eager_on_host
        eager_on_host.on_host()
