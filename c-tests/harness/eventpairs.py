"""Checks `--gpu-time=events` on a GPU: each launch has one time between two events, and that time contains its kernel
and little else, by CUPTI's times of the same run.

Knows the JSON lines of docs/trace-jsonl.md, and those of gpu/cupti_kernels.c, which the driver loads into the process.
"""

import collections
import glob
import os
import shutil
import tempfile

import gputime
import runs

# The two clocks' steps: CUPTI's times are of 32 ns, events' of 0.5 us.
STEP_NS = 1_000
# How long nothing may run on the GPU between the first event and the kernel, which the host has yet to launch. A long
# kernel's time may contain a fourth of that (harvest.rs).
IDLE_NS, IDLE_SHARE = 100_000, 0.25


def matched(lines, seen):
    """({(pid, link): the kernel by CUPTI}, [differences]): the n-th launch of a thread is the n-th that CUPTI saw in
    it. `seen`: by process, the lines of cupti_kernels.c."""
    calls = collections.defaultdict(list)
    for line in lines:
        if line["event"] == "launch" and line["status"] == 0 and not line.get("depth"):
            calls[line["pid"], line["tid"]].append(line)
    found, wrong = {}, []
    for (pid, tid), own in calls.items():
        if pid not in seen:
            continue
        own.sort(key=lambda line: line["t_ns"])
        kernels = [kernel for kernel in seen[pid] if kernel["tid"] == tid]
        if [line["mangled"] for line in own] != [kernel["mangled"] for kernel in kernels]:
            wrong.append("thread %d made %d launches, CUPTI saw %d or others" % (tid, len(own), len(kernels)))
            continue
        found.update(((pid, line["link"]), kernel) for line, kernel in zip(own, kernels) if kernel["end"])
    return found, wrong


def idle(begin, end, kernels):
    """How long none of the kernels ran from begin to end, ns."""
    left, at = 0, begin
    for kernel in sorted(kernels, key=lambda kernel: kernel["start"]):
        if kernel["end"] <= at or kernel["start"] >= end:
            continue
        left += max(0, kernel["start"] - at)
        at = max(at, kernel["end"])
    return left + max(0, end - at)


def contains(name, pair, kernel, kernels):
    """The differences between the time of an event pair and its kernel's by CUPTI, as lines."""
    took = kernel["end"] - kernel["start"]
    if pair < took - STEP_NS:
        return ["%s takes %d ns by events and %d ns by CUPTI" % (name, pair, took)]
    allowed = max(IDLE_NS, pair * IDLE_SHARE)
    # Usually far less; only then other kernels matter.
    if pair - took > allowed:
        waited = idle(kernel["end"] - pair, kernel["start"], kernels)
        if waited > allowed:
            return ["%s takes %d ns by events and %d ns by CUPTI; the GPU stood idle for %d ns before it" %
                    (name, pair, took, waited)]
    return []


def judge(lines, seen):
    """(summary, [differences]) for launches with times from event pairs: no launch may have more than one time, no
    captured launch any. `seen`: as for `matched`."""
    notes = lines[-1].get("notes", [])
    told = sum(int(note.split(": ")[1].split()[0]) for note in notes if "launches have no GPU time" in note)
    succeeded = sum(line["event"] == "launch" and line["status"] == 0 for line in lines)
    captures = any("BeginCapture" in line.get("api", "") for line in lines)
    if not any("two events around each launch" in note for note in notes):
        if succeeded and captures:
            return "no launch that was not captured", []
        if not succeeded:
            return "no launch", []
        return ("%d launches, all told to have no time" % told, []) if told == succeeded else \
            (None, ["no event pairs: %s" % notes])
    calls = {(line["pid"], line["link"]): line for line in lines if line.get("link") and line["event"] == "launch"}
    kernels, wrong = matched(lines, seen)
    timed, more = set(), []
    for line in (line for line in lines if line["event"] == "gpu"):
        key = (line["pid"], line["link"])
        call = calls.get(key)
        if not call or key in timed:
            wrong.append("%s has a time that is no launch's, or a second one" % line["mangled"])
            continue
        timed.add(key)
        if not 0 <= line["gpu_ns"] < gputime.LONGEST_NS or line["t_ns"] < call["t_ns"] - STEP_NS:
            wrong.append("%s: %d ns, %d ns after its call" % (line["mangled"], line["gpu_ns"], line["t_ns"] - call["t_ns"]))
        if line["mangled"] != call["mangled"] or line["grid"] != call["grid"]:
            wrong.append("%s has the time of %s" % (call["mangled"], line["mangled"]))
        kernel = kernels.get(key)
        if kernel:
            others = [other for other in seen[line["pid"]] if other is not kernel]
            wrong += contains(line["mangled"], line["gpu_ns"], kernel, others)
            more.append(line["gpu_ns"] - (kernel["end"] - kernel["start"]))
    failed = any(line.get("status") not in (None, 0, 600) for line in lines)
    if not captures and not failed and len(timed) + told < succeeded:
        wrong.append("%d of %d launches have neither a time nor are told to have none" %
                     (succeeded - len(timed) - told, succeeded))
    cost = [note.split("cost the host ")[1] for note in notes if "cost the host" in note]
    more.sort()
    compared = "%d of them %+d to %+d ns beside CUPTI, %+d in the middle" % (
        len(more), more[0], more[-1], more[len(more) // 2]) if more else "no kernel by CUPTI"
    return "%d of %d launches by events, %s, the host %s" % (len(timed), succeeded, compared, (cost or ["?"])[0]), wrong


def read(folder):
    """By process, the lines that cupti_kernels.c wrote in a folder."""
    return {int(path.rsplit(".", 1)[1]): gputime.read(path) for path in glob.glob(os.path.join(folder, "kernels.*"))}


def check(cushim, client, path, alone):
    """[(what, [differences])] of one program, whose Outcome without cushim is `alone`; `client`: cupti_kernels.c, built."""
    folder = tempfile.mkdtemp(prefix="cushim-pairs-")
    env = {"CUDA_INJECTION64_PATH": client, "CUPTI_KERNELS_FILE": os.path.join(folder, "kernels")}
    try:
        outcome, lines = gputime.recorded(cushim, [path], env, "events")
        what, wrong = judge(lines, read(folder))
    except (OSError, ValueError, KeyError, IndexError) as error:
        return [("--gpu-time=events", ["%s: %s" % (type(error).__name__, error)])]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [("--gpu-time=events: %s" % what, wrong + runs.differences(alone, outcome))]
