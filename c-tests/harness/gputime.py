"""Checks `--gpu-time` on a GPU: every launch that succeeded has its kernel, with
plausible times.

Knows the JSON lines of docs/trace-jsonl.md. The records come from CUPTI itself; the
checks are that it was found, that records reach their calls, and the clock.
"""

import collections
import json
import os
import shutil

import cupti
import runs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# CUPTI maps the GPU's clock to the host's: a kernel may seem to begin this long before its launch.
EARLY_NS = 50_000
# No kernel of the test programs runs longer.
LONGEST_NS = 10_000_000_000


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def judge(lines, idle_graphs=0):
    """(summary, [differences]). `idle_graphs`: this many graph launches put no work on the GPU."""
    summary = lines[-1]
    notes = summary.get("notes", [])
    if any("no GPU times" in note for note in notes):
        return None, notes
    calls = {(line["pid"], line["link"]): line for line in lines if line.get("link") and line["event"] != "gpu"}
    work = [line for line in lines if line["event"] == "gpu"]
    by_call = collections.defaultdict(list)
    wrong = []
    for line in work:
        key = (line["pid"], line["link"])
        call = calls.get(key)
        if not call:
            wrong.append("GPU work %s of no recorded call (link %s)" % (line["what"], line["link"]))
            continue
        by_call[key].append(line)
        if not 0 < line["gpu_ns"] < LONGEST_NS:
            wrong.append("%s took %d ns on the GPU" % (line["mangled"] or line["what"], line["gpu_ns"]))
        if line["t_ns"] < call["t_ns"] - EARLY_NS:
            wrong.append("%s began %d ns before its call %s" % (line["mangled"] or line["what"],
                                                               call["t_ns"] - line["t_ns"], call["api"]))
    captures = any("BeginCapture" in line.get("api", "") for line in lines)
    launched = graphs = missing = idle = 0
    for key, call in calls.items():
        if call["status"] != 0:
            continue
        ran = [line for line in by_call[key] if line["what"] == "kernel"]
        if call["event"] == "launch":
            launched += 1
            same = [line for line in ran if line["mangled"] == call["mangled"]]
            if not same:
                missing += 1
            elif same[0]["grid"] != call["grid"] or same[0]["block"] != call["block"]:
                wrong.append("%s ran with another shape: %s" % (call["mangled"], same[0]))
        elif call["event"] == "graph":
            graphs += 1
            idle += not by_call[key]
    failed = any(line.get("status") not in (None, 0, 600) for line in lines)
    # Captured launches do not run, and after an error nothing runs.
    if missing and not captures and not failed:
        wrong.append("%d of %d launches have no kernel on the GPU" % (missing, launched))
    if idle != idle_graphs:
        wrong.append("%d graph launches without any GPU work, expected %d" % (idle, idle_graphs))
    if not launched and not graphs:
        wrong.append("no launch was recorded")
    kernels = sum(line["what"] == "kernel" for line in work)
    return "%d launches, %d of graphs: %d kernels, %d copies and sets on the GPU" % (
        launched, graphs, kernels, len(work) - kernels), wrong


def recorded(cushim, command, env, how, backend=None, events="all"):
    """(outcome, lines of the trace) of a command under --gpu-time."""
    outcome, trace = cushim.trace(command, env, options=["--gpu-time=" + how, "-e", events], backend=backend)
    try:
        return outcome, read(trace)
    finally:
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)


def traced(cushim, command, cuda_home, backend=None, events="all"):
    """(outcome, lines of the trace, where CUPTI was found) of a command under --gpu-time; if CUPTI was
    not found, the program gets its path."""
    named = [os.path.realpath(library) for _, library in cupti.places(cuda_home)][:1] if cuda_home else []
    places = [None] + named
    for place in places:
        env = {"CUSHIM_CUPTI": place} if place else None
        outcome, lines = recorded(cushim, command, env, "cupti", backend, events)
        if judge(lines)[0] is not None:
            break
    return outcome, lines, " (libcupti had to be named)" if place else ""


def check(cushim, program, path, cuda_home, alone):
    """[(what, [differences])] of one program, whose Outcome without cushim is `alone`."""
    try:
        outcome, lines, where = traced(cushim, [path], cuda_home)
        what, wrong = judge(lines, int(program.options.get("idlegraphs", 0)))
    except (OSError, ValueError, KeyError) as error:
        return [("--gpu-time", ["%s: %s" % (type(error).__name__, error)])]
    return [("--gpu-time: %s%s" % (what or "nothing", where), wrong + runs.differences(alone, outcome))]


def killed(cushim, nvcc, arch, out, cuda_home, kernels=300):
    """[(what, [differences])] of a program that is killed a second after its last kernel."""
    program = os.path.join(out, "killed")
    built = runs.run([nvcc, "-arch=" + arch, "-o", program, os.path.join(ROOT, "gpu/killed.cu")], limit=300)
    if built.status != 0:
        return [("compiles", runs.lines(built.err)[-6:])]
    try:
        outcome, lines, where = traced(cushim, [program, str(kernels)], cuda_home)
        what, wrong = judge(lines)
    except (OSError, ValueError, KeyError) as error:
        return [("--gpu-time, killed", ["%s: %s" % (type(error).__name__, error)])]
    ran = sum(line["event"] == "gpu" and line["what"] == "kernel" for line in lines)
    if ran != kernels:
        wrong = wrong + ["%d of %d kernels are in the trace" % (ran, kernels)]
    if runs.lines(outcome.out) != ["launched %d" % kernels]:
        wrong = wrong + ["the program said %r" % outcome.out[-200:]]
    return [("--gpu-time, killed: %s%s" % (what or "nothing", where), wrong)]


def number(line):
    """The number that a launch or kernel of gpu/identity.cu encodes in its shape, and its thread."""
    (x, y, _), (u, v, _) = line["grid"], line["block"]
    found = x - 1 | y - 1 << 4 | u - 1 << 8 | v - 1 << 12 | line["shared"] // 16 << 16
    return found, found // 4096


def judge_identity(lines, threads, launches, graphs):
    """(summary, [differences]) for gpu/identity.cu: each launch has the kernel of its shape and no other, each
    launch of a graph the nodes of its thread's graph."""
    nodes = 8
    calls = {(line["pid"], line["link"]): line for line in lines if line.get("link") and line["event"] in ("launch", "graph")}
    of_tid = {line["tid"]: number(line)[1] for line in lines if line["event"] == "launch"}
    by_call = collections.defaultdict(list)
    for line in lines:
        if line["event"] == "gpu" and line["what"] == "kernel":
            by_call[(line["pid"], line["link"])].append(line)
    wrong, ran, graphs_ran = [], 0, 0
    for key, call in calls.items():
        kernels = sorted(by_call.pop(key, []), key=lambda line: line["t_ns"])
        numbers = [number(line)[0] for line in kernels]
        names = [line["mangled"] for line in kernels]
        if call["event"] == "launch":
            own, thread = number(call)
            wanted, ran = [] if own - thread * 4096 < nodes else [own], ran + len(numbers)
            if names and names != [call["mangled"]]:
                wrong.append("%s has the kernel %s" % (call["mangled"], names))
        else:
            thread = of_tid.get(call["tid"], -1)
            wanted, graphs_ran = [thread * 4096 + i for i in range(nodes)], graphs_ran + len(numbers)
        if sorted(numbers) != wanted:
            wrong.append("%s of thread %d: numbers %s, expected %s" % (call["api"], thread, numbers, wanted))
    wrong += ["kernels of no call: link %d" % link for _, link in by_call]
    if (ran, graphs_ran) != (threads * launches, threads * graphs * nodes):
        wrong.append("%d kernels of launches and %d of graphs, expected %d and %d" %
                     (ran, graphs_ran, threads * launches, threads * graphs * nodes))
    return "%d kernels of launches and %d of graphs are where they belong" % (ran, graphs_ran), wrong


def identity(cushim, nvcc, arch, out, cuda_home, threads=64, launches=500, graphs=20):
    """[(what, [differences])] of launches by many threads, where each kernel's shape identifies its launch."""
    results = []
    for runtime in ("shared", "static"):
        program = os.path.join(out, "identity-" + runtime)
        built = runs.run([nvcc, "-std=c++17", "-arch=" + arch, "-cudart=" + runtime, "-o", program, os.path.join(ROOT, "gpu/identity.cu")],
                         limit=300)
        if built.status != 0:
            return [("compiles", runs.lines(built.err)[-6:])]
        for backend in ("native", "driver"):
            try:
                outcome, lines, where = traced(cushim, [program, str(threads), str(launches), str(graphs)], cuda_home,
                                               backend=backend, events="launch,graph")
                what, wrong = judge_identity(lines, threads, launches, graphs)
                wrong += ["note: " + note for note in lines[-1].get("notes", []) if wrong]
            except (OSError, ValueError, KeyError) as error:
                results.append(("--gpu-time, identity", ["%s: %s" % (type(error).__name__, error)]))
                continue
            said = "%d threads ran %d kernels" % (threads, threads * (launches + graphs * 8))
            if runs.lines(outcome.out) != [said]:
                wrong.append("the program said %r" % (outcome.out + outcome.err)[-200:])
            results.append(("--gpu-time, identity, %s runtime, backend %s: %s%s" % (runtime, backend, what, where), wrong))
    return results
