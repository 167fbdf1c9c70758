"""Checks `--gpu-time` on a GPU: every launch that succeeded has its kernel, with
plausible times; by event pairs, with times that agree with CUPTI's.

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


def traced(cushim, command, cuda_home, how="cupti", backend=None, events="all"):
    """(outcome, lines of the trace, where CUPTI was found) of a command under --gpu-time; if CUPTI was
    not found, the program gets its path."""
    named = [os.path.realpath(library) for _, library in cupti.places(cuda_home)][:1] if cuda_home else []
    places = [None] + named
    for place in places:
        env = {"CUSHIM_CUPTI": place} if place else None
        outcome, trace = cushim.trace(command, env, options=["--gpu-time=" + how, "-e", events], backend=backend)
        try:
            lines = read(trace)
        finally:
            shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        if judge(lines)[0] is not None:
            break
    return outcome, lines, " (libcupti had to be named)" if place else ""


# The time between two events may exceed the kernel's: the way to a kernel on an idle stream, work of
# other streams, and of other programs that are checked at the same time. It may be shorter: the GPU's clocks.
MORE_NS, MORE_TIMES, LESS_NS, LESS_TIMES = 100_000, 1.5, 2_000, 0.5


def judge_events(lines, by_cupti, earlier=()):
    """(summary, [differences]) for launches with times from event pairs, compared with CUPTI's times of other runs
    of the same program, a list of lines for each: no launch may have more than one time, no captured launch any, and
    the shortest time of each kernel must be CUPTI's or somewhat more. A kernel whose shortest time differs from
    run to run (on an H200 one with clusters took 52 to 625 us by CUPTI, alone on the GPU) may take as long as in any
    of CUPTI's runs. `earlier`: the lines of earlier runs by event pairs."""
    notes = lines[-1].get("notes", [])
    told = sum(int(note.split(": ")[1].split()[0]) for note in notes if "launches have no GPU time" in note)
    if not any("two events around each launch" in note for note in notes):
        launched = any(line["event"] == "launch" and line["status"] == 0 for line in lines)
        if launched and any("BeginCapture" in line.get("api", "") for line in lines):
            return "no launch that was not captured", []
        if not launched:
            return "no launch", []
        succeeded = sum(line["event"] == "launch" and line["status"] == 0 for line in lines)
        return ("%d launches, all told to have no time" % told, []) if told == succeeded else \
            (None, ["no event pairs: %s" % notes])
    calls = {(line["pid"], line["link"]): line for line in lines if line.get("link") and line["event"] == "launch"}
    wrong, seen, times = [], set(), collections.defaultdict(list)
    for line in (line for line in lines if line["event"] == "gpu"):
        key = (line["pid"], line["link"])
        call = calls.get(key)
        if not call or key in seen:
            wrong.append("%s has a time that is no launch's, or a second one" % line["mangled"])
            continue
        seen.add(key)
        if not 0 <= line["gpu_ns"] < LONGEST_NS or line["t_ns"] < call["t_ns"] - EARLY_NS:
            wrong.append("%s: %d ns, %d ns after its call" % (line["mangled"], line["gpu_ns"], line["t_ns"] - call["t_ns"]))
        if line["mangled"] != call["mangled"] or line["grid"] != call["grid"]:
            wrong.append("%s has the time of %s" % (call["mangled"], line["mangled"]))
        times[line["mangled"]].append(line["gpu_ns"])
    exact = collections.defaultdict(list)
    for line in earlier:
        if line["event"] == "gpu" and line["mangled"] in times:
            times[line["mangled"]].append(line["gpu_ns"])
    for run in by_cupti:
        kernels = [line for line in run if line["event"] == "gpu" and line["what"] == "kernel"]
        for name in {line["mangled"] for line in kernels}:
            exact[name].append(min(line["gpu_ns"] for line in kernels if line["mangled"] == name))
    compared = []
    for name in sorted(set(times) & set(exact)):
        pair, least, most = min(times[name]), min(exact[name]), max(exact[name])
        compared.append(pair - least)
        if not LESS_TIMES * least - LESS_NS <= pair <= MORE_TIMES * most + MORE_NS:
            by = "%d" % least if least == most else "%d to %d" % (least, most)
            wrong.append("%s takes %d ns by events and %s ns by CUPTI" % (name, pair, by))
    captures = any("BeginCapture" in line.get("api", "") for line in lines)
    failed = any(line.get("status") not in (None, 0, 600) for line in lines)
    succeeded = sum(call["status"] == 0 for call in calls.values())
    if not captures and not failed and len(seen) + told < succeeded:
        wrong.append("%d of %d launches have neither a time nor are told to have none" %
                     (succeeded - len(seen) - told, succeeded))
    cost = [note.split("cost the host ")[1] for note in notes if "cost the host" in note]
    more = "%+d to %+d ns beside CUPTI" % (min(compared), max(compared)) if compared else "no kernel to compare"
    return "%d of %d launches by events, %s, the host %s" % (len(seen), succeeded, more, (cost or ["?"])[0]), wrong


def events(cushim, path, alone, by_cupti, earlier=None):
    """[(what, [differences])] of one program by event pairs; appends the run's lines to those of earlier runs."""
    earlier = [] if earlier is None else earlier
    try:
        outcome, lines, _ = traced(cushim, [path], None, "events")
        what, wrong = judge_events(lines, by_cupti, earlier)
        earlier += lines
    except (OSError, ValueError, KeyError, IndexError) as error:
        return [("--gpu-time=events", ["%s: %s" % (type(error).__name__, error)])]
    return [("--gpu-time=events: %s" % what, wrong + runs.differences(alone, outcome))]


def check(cushim, program, path, cuda_home, alone):
    """[(what, [differences])] of one program, whose Outcome without cushim is `alone`."""
    try:
        outcome, lines, where = traced(cushim, [path], cuda_home)
        what, wrong = judge(lines, int(program.options.get("idlegraphs", 0)))
    except (OSError, ValueError, KeyError) as error:
        return [("--gpu-time", ["%s: %s" % (type(error).__name__, error)])]
    results = [("--gpu-time: %s%s" % (what or "nothing", where), wrong + runs.differences(alone, outcome))]
    return results + events(cushim, path, alone, [lines])


def again(cushim, path, cuda_home, turns=4):
    """[(what, [differences])] of one program by event pairs, whose times differed from CUPTI's while other programs ran: compares the
    times of a few runs of each kind, as the times of a kernel whose pages move differ from run to run."""
    alone = runs.run([path])
    by_cupti, by_events, results = [], [], []
    for turn in range(turns):
        by_cupti.append(traced(cushim, [path], cuda_home)[1])
        results = events(cushim, path, alone, by_cupti, by_events)
        if not any(wrong for _, wrong in results):
            break
    return [("%s, %d runs" % (what, turn + 1), wrong) for what, wrong in results]


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
