"""CUPTI as a second witness: builds the counter and compares its count with a trace.

Knows the place of CUPTI in a CUDA toolkit and in NVIDIA's wheels. The driver loads
the counter (CUDA_INJECTION64_PATH) into the very process that is traced.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import launches
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(HERE), "gpu", "cupti_count.c")


def places(cuda_home, major=None):
    """Folders (headers, library, cuda headers) that hold a CUPTI, the wheels' first
    when `major` (of the CUDA that the process will use) is given."""
    site = sorted({p for p in sys.path if p.endswith("-packages") and os.path.isdir(p)})
    wheels = []
    for folder in site:
        wheels += glob.glob(os.path.join(folder, "nvidia", "cu1[3-9]")) + glob.glob(
            os.path.join(folder, "nvidia", "cuda_cupti"))
    toolkit = [os.path.join(cuda_home, "extras", "CUPTI"), cuda_home,
               os.path.join(cuda_home, "targets", "x86_64-linux")] if cuda_home else []
    for root in (wheels + toolkit) if major else (toolkit + wheels):
        include = os.path.join(root, "include")
        if not os.path.exists(os.path.join(include, "cupti.h")):
            continue
        for lib in ("lib64", "lib"):
            found = sorted(glob.glob(os.path.join(root, lib, "libcupti.so*")), key=len)
            if major:
                found = [f for f in found if os.path.basename(f).startswith("libcupti.so.%d" % major)] or found
            if found:
                yield include, found[0]


def build(cuda_home, out, major=None):
    """Builds the counter; (path, None) or (None, why not)."""
    return build_client(SOURCE, cuda_home, out, major)


def build_client(source, cuda_home, out, major=None):
    """Builds a client of CUPTI that the driver loads; (path, None) or (None, why not)."""
    name = os.path.splitext(os.path.basename(source))[0]
    why = "no cupti.h beside a libcupti.so"
    for include, library in places(cuda_home, major):
        target = os.path.join(out, "lib%s%s.so" % (name, major or ""))
        headers = ["-I" + include]
        if cuda_home:
            headers += ["-I" + os.path.join(cuda_home, "include")]
        for wheel in glob.glob(os.path.join(os.path.dirname(os.path.dirname(include)), "cuda_runtime", "include")):
            headers.append("-I" + wheel)
        done = subprocess.run(["gcc", "-shared", "-fPIC", "-O1"] + headers + [source, library,
                              "-Wl,-rpath," + os.path.dirname(library), "-o", target],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        if done.returncode == 0:
            return target, None
        why = "it does not compile with %s: %s" % (include, done.stdout.strip()[-300:])
    return None, why


def check(cushim, counter, command, env=None, same_as=None):
    """Traces a command with the counter in it: [(what, [differences])].

    same_as: the Outcome without a trace to compare output and status with."""
    folder = tempfile.mkdtemp(prefix="cushim-cupti-")
    merged = dict(env or {})
    merged.update({"CUDA_INJECTION64_PATH": counter, "CUPTI_COUNT_FILE": os.path.join(folder, "count")})
    outcome, trace = cushim.trace(command, merged)
    results = []
    try:
        if same_as is not None:
            results.append(("traced", runs.differences(same_as, outcome)))
        counted = {"kernels": {}, "graphs": 0}
        files = glob.glob(os.path.join(folder, "count.*"))
        for path in files:
            with open(path) as file:
                one = json.load(file)
            counted["graphs"] += one["graphs"]
            for name, count in one["kernels"].items():
                counted["kernels"][name] = counted["kernels"].get(name, 0) + count
        if not files:
            tail = runs.lines(outcome.err)[-3:]
            results.append(("CUPTI", ["CUPTI's counter wrote nothing; stderr %r" % tail]))
            return results
        try:
            _, events, _ = launches.read_trace(trace)
        except (OSError, ValueError) as error:
            results.append(("CUPTI", [str(error)]))
            return results
        kernels, graphs = launches.count_by_name(events)
        total = sum(counted["kernels"].values())
        what = "CUPTI: %d launches of %d kernels, %d of graphs" % (total, len(counted["kernels"]), counted["graphs"])
        wrong = launches.compare_counts(kernels, graphs, counted)
        if not total and not counted["graphs"]:
            wrong.append("CUPTI counted no launch at all")
        results.append((what, wrong))
        return results
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
