"""Runs a built test program alone and under `cushim trace`, and compares.

Knows how a program is run and what to compare; launches.py knows the expected
launches, build.py how programs are built.
"""

import concurrent.futures
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import launches

LIMIT = 180
# `environment`: the variables of the present thread's turn and task (see check_all).
PLACE = threading.local()


class Outcome:
    """How a process ended, and its output."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def run(command, env=None, limit=LIMIT):
    """Runs a command to its end; the status is None if it exceeded the limit."""
    merged = dict(os.environ)
    merged.update(getattr(PLACE, "environment", {}))
    merged.update(env or {})
    # In a session of its own, so that its children end with it.
    process = subprocess.Popen(command, env=merged, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
        return Outcome(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Outcome(None, out, err)


def lines(text):
    """Bytes as lines of text, whatever they contain."""
    return text.decode("utf-8", "replace").splitlines()


def wanted_lines(path, major):
    """The lines of a NAME.expected file for a major of the runtime, as
    (number in the file, mark, text)."""
    with open(path) as file:
        found = file.read().splitlines()
    held = [(number, launches.for_major(line, major)) for number, line in enumerate(found)]
    return [(number, *line) for number, line in held if line]


def unlike_expected(path, out, major):
    """The differences between a program's output and its .expected file, as lines.
    `major`: of the CUDA that the program was built with."""
    wanted = wanted_lines(path, major)
    have = lines(out)
    wrong = []
    for i in range(max(len(wanted), len(have))):
        want = wanted[i][2] if i < len(wanted) else "(nothing)"
        got = have[i] if i < len(have) else "(nothing)"
        right = re.fullmatch(want[1:], got) if want.startswith("~") else want == got
        if not right:
            wrong.append("line %d: expected %r, printed %r" % (i + 1, want, got))
    return wrong


class Cushim:
    """The program `cushim` and the library under test, with NVIDIA's CUDA or none: a program must
    behave the same alone and traced."""

    backend = "native"

    def __init__(self, folder):
        self.program = os.path.join(folder, "cushim")
        if not os.access(self.program, os.X_OK):
            self.program = os.path.join(folder, "bin", "cushim")
        if not os.access(self.program, os.X_OK):
            raise SystemExit("%s holds no program cushim" % folder)

    def version(self):
        """The output of `cushim --version`."""
        return run([self.program, "--version"]).out.decode().strip()

    def trace(self, command, env=None, options=(), backend=None, limit=LIMIT):
        """Runs a command traced; returns its Outcome and the path of the trace, in a folder
        that the caller removes. The default backend is this object's."""
        folder = tempfile.mkdtemp(prefix="cushim-check-")
        path = os.path.join(folder, "trace.jsonl")
        how = ["trace", "--backend", backend or self.backend, "-o", path] + list(options)
        outcome = run([self.program] + how + ["--"] + command, env, limit)
        return outcome, path


def differences(alone, traced):
    """The differences between a program alone and traced, as lines."""
    wrong = []
    if alone.status != traced.status:
        wrong.append("exit status %s alone, %s traced" % (alone.status, traced.status))
    if alone.out != traced.out:
        a, b = lines(alone.out), lines(traced.out)
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        wrong.append("standard output differs from line %d on: alone %r, traced %r" % (at + 1, a[at:at + 2],
                                                                                   b[at:at + 2]))
    if wrong:
        wrong += ["stderr traced: " + line for line in lines(traced.err)[-5:]]
    return wrong


def check_program(cushim, program, variant, path, gpu, env=None, major=13, alone=None):
    """All checks of one program in one variant: [(what, [differences])]. `major`:
    of the CUDA that it was built with; `alone`: its Outcome without cushim, if it has run already."""
    results = []
    alone = alone or run([path], env)
    if gpu:
        wrong = unlike_expected(program.beside("expected"), alone.out, major)
        if alone.status != 0:
            wrong.append("exit status %s, stderr %r" % (alone.status, lines(alone.err)[-3:]))
        results.append(("alone", wrong))
    else:
        # The loader's status 127: the program links a libcuda that does not exist.
        fine = alone.status in (3, 127)
        results.append(("refused", [] if fine else ["exit status %s without a GPU" % alone.status]))
    traced, trace = cushim.trace([path], env)
    try:
        results.append(("traced", differences(alone, traced)))
        if alone.status == 127:
            return results
        try:
            _, events, summary = launches.read_trace(trace)
        except (OSError, ValueError) as error:
            results.append(("launches", [str(error)]))
            return results
        if program.options.get("launches") == "any":
            return results
        expected = launches.read_list(program.beside("launches"), major)
        shared = variant.runtime == "shared"
        # Without a GPU a static runtime never calls the driver, so the trace is empty.
        complete = gpu or (shared and "early" not in program.options and not program.kind)
        wrong = launches.compare(expected, events, runtime_seen=shared, statuses=gpu, complete=complete)
        wrong += lost(summary)
        results.append(("launches", wrong))
        return results
    finally:
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)


def traced_launches(cushim, program, path, env, backend, limit, major):
    """Runs a program traced over a CUDA that runs kernels: its Outcome, and how the launches
    differ from its list, results included. A launch is seen whatever the runtime."""
    done, trace = cushim.trace([path], env, backend=backend, limit=limit)
    try:
        if done.status is None or program.options.get("launches") == "any":
            return done, []
        try:
            _, events, summary = launches.read_trace(trace)
        except (OSError, ValueError) as error:
            return done, [str(error)]
        expected = launches.read_list(program.beside("launches"), major)
        if backend == "cpu" and "cpuargs" in program.options:
            # Linking modules for the CPU gives an image that only the CPU backend reads.
            for line in expected:
                line.args = ["*"] * len(getattr(line, "args", []))
        wrong = launches.compare(expected, events)
        return done, wrong + lost(summary)
    finally:
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)


def lost(summary):
    """The losses that a trace's summary reports, as lines."""
    counts = dict(summary.get("lost") or {}, damaged=summary.get("damaged", 0), pending=summary.get("pending", 0))
    return ["the trace lost %s: %s" % item for item in sorted(counts.items()) if item[1]]


def check_over_driver(cushim, program, path, major=13, env=None):
    """One program with cushim's runtime over NVIDIA's driver: [(what, [differences])]."""
    done = run([cushim.program, "run", "--backend", "driver", "--", path], env)
    wrong = unlike_expected(program.beside("expected"), done.out, major)
    if done.status != 0 or wrong:
        wrong.append("exit status %s, stderr %r" % (done.status, lines(done.err)[-3:]))
    return [("backend driver", wrong)]


class Task:
    """A check: its name, the function that returns [(what, [differences])], and environment variables for what it runs."""

    def __init__(self, where, function, environment=None):
        self.where, self.function, self.environment = where, function, environment or {}


def check_all(tally, tasks, jobs, places=({},)):
    """Runs tasks, `jobs` in parallel; prints each one's line when it is done.

    The threads take turns with `places`: environment variables for all that a thread's tasks run, beside the task's own."""
    turns = itertools.cycle(places)

    def take_place():
        PLACE.turn = next(turns)

    def timed(task):
        begin = time.monotonic()
        PLACE.environment = dict(PLACE.turn, **task.environment)
        try:
            results = task.function()
        except Exception as error:  # the others go on
            results = [("check", ["%s: %s" % (type(error).__name__, error)])]
        return task, results, time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(jobs, initializer=take_place) as pool:
        for done in concurrent.futures.as_completed([pool.submit(timed, task) for task in tasks]):
            task, results, took = done.result()
            tally.add("%s, %.0f s" % (task.where, took), results)


class Tally:
    """Counts results, and prints differences as they arrive."""

    def __init__(self):
        self.passed = self.failed = 0

    def add(self, where, results):
        """Takes the results of one task; prints one line for it, and more for differences."""
        bad = [(what, wrong) for what, wrong in results if wrong]
        self.failed += len(bad)
        self.passed += len(results) - len(bad)
        if results and not bad:
            print("ok    %s (%s)" % (where, ", ".join(what for what, _ in results)), flush=True)
        for what, wrong in bad:
            print("FAIL  %s: %s" % (where, what))
            for line in wrong[:8]:
                print("        " + line)
            if len(wrong) > 8:
                print("        … and %d more" % (len(wrong) - 8))
            sys.stdout.flush()

    def close(self):
        """Prints the closing line; returns the exit status."""
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        return 1 if self.failed or not self.passed else 0
