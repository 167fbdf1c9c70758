"""Checks `--gpu-time` on a GPU: every launch that succeeded has the kernel that ran for it, with
times that can be.

Knows the JSON lines of docs/trace-jsonl.md. CUPTI itself is where the record comes from; what is
checked is that it was found, that records reach their calls, and the clock.
"""

import collections
import json
import os
import shutil

import cupti
import runs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The GPU's clock is laid onto the host's by CUPTI: a kernel may seem to begin this long before its launch.
EARLY_NS = 50_000
# No kernel of the test programs runs longer.
LONGEST_NS = 10_000_000_000


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def judge(lines):
    """(what was seen, [what is wrong])."""
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
    launched = graphs = missing = 0
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
            if not by_call[key]:
                wrong.append("a graph launch (%s) without any GPU work" % call["api"])
    failed = any(line.get("status") not in (None, 0, 600) for line in lines)
    # What is captured does not run, and after an error nothing does.
    if missing and not captures and not failed:
        wrong.append("%d of %d launches have no kernel on the GPU" % (missing, launched))
    if not launched and not graphs:
        wrong.append("no launch was recorded")
    kernels = sum(line["what"] == "kernel" for line in work)
    return "%d launches, %d of graphs: %d kernels, %d copies and sets on the GPU" % (
        launched, graphs, kernels, len(work) - kernels), wrong


def traced(cushim, command, cuda_home):
    """(outcome, lines of the trace, where CUPTI was found) of a command under --gpu-time; a CUPTI that was
    not found is named then."""
    places = [None] + [os.path.realpath(library) for _, library in cupti.places(cuda_home)][:1]
    for place in places:
        env = {"CUSHIM_CUPTI": place} if place else None
        outcome, trace = cushim.trace(command, env, options=["--gpu-time", "-e", "all"])
        try:
            lines = read(trace)
        finally:
            shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        if judge(lines)[0] is not None:
            break
    return outcome, lines, " (libcupti had to be named)" if place else ""


def check(cushim, path, cuda_home):
    """[(what, [what is wrong])] of one program."""
    alone = runs.run([path])
    try:
        outcome, lines, where = traced(cushim, [path], cuda_home)
        what, wrong = judge(lines)
    except (OSError, ValueError, KeyError) as error:
        return [("--gpu-time", ["%s: %s" % (type(error).__name__, error)])]
    return [("--gpu-time: %s%s" % (what or "nothing", where), wrong + runs.differences(alone, outcome))]


def killed(cushim, nvcc, arch, out, cuda_home, kernels=300):
    """[(what, [what is wrong])] of a program that dies a second after its last kernel."""
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
