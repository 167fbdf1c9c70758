"""Checks that memory stays flat while libraries with kernels are loaded and unloaded repeatedly.

Owns: running reload.cu in several ways at once for a time, measuring each process once a second, and judging its growth
per load. Does not know how it is built.
"""

import os
import re
import subprocess
import tempfile
import time

# Records of a module, its kernel and its names are never freed: a launch may come after its library is unloaded.
PER_LOAD = 1536
# Memory comes in pages, and allocators keep some.
AT_ONCE = 4 << 20


class Look:
    """The memory use of a process at one time."""

    def __init__(self, seconds, loads, anonymous, mappings, files, threads, recorded):
        self.seconds, self.loads, self.anonymous, self.mappings = seconds, loads, anonymous, mappings
        self.files, self.threads, self.recorded = files, threads, recorded

    def row(self):
        return "%6.0f %8d %12d %8d %6d %7d %12d" % (self.seconds, self.loads, self.anonymous >> 10, self.mappings, self.files, self.threads,
                                                    self.recorded >> 10)


HEAD = "%6s %8s %12s %8s %6s %7s %12s" % ("s", "loads", "private KiB", "mappings", "files", "threads", "recorded KiB")


def descendant(of):
    """The process below `of` without a child of its own: the launcher's target."""
    while True:
        try:
            with open("/proc/%d/task/%d/children" % (of, of)) as file:
                below = file.read().split()
        except OSError:
            return of
        if not below:
            return of
        of = int(below[0])


def size(folder):
    """The bytes on disk of a folder's files."""
    total = 0
    for name in os.listdir(folder):
        try:
            total += os.stat(os.path.join(folder, name)).st_blocks * 512
        except OSError:
            pass
    return total


class Running:
    """One configuration, from its start to its end."""

    def __init__(self, command, env, work):
        self.work, self.looks, self.begun = work, [], time.monotonic()
        self.counts = os.path.join(tempfile.mkdtemp(prefix="counts-", dir=work), "loads")
        self.traces = os.path.join(work, "traces")
        os.makedirs(self.traces, exist_ok=True)
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, env=dict(env, RELOAD_COUNT=self.counts), stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def look(self):
        """Measures once more, if the process exists and has begun to load."""
        at = "/proc/%d/" % descendant(self.process.pid)
        try:
            with open(self.counts) as file:
                loads = int(file.read())
            with open(at + "status") as file:
                status = file.read()
            with open(at + "maps") as file:
                mappings = sum(1 for _ in file)
            files = len(os.listdir(at + "fd"))
        except (OSError, ValueError):
            return
        anonymous = re.search(r"RssAnon:\s+(\d+)", status)
        threads = re.search(r"Threads:\s+(\d+)", status)
        if anonymous and threads and loads:
            self.looks.append(Look(time.monotonic() - self.begun, loads, int(anonymous[1]) << 10, mappings, files, int(threads[1]), size(self.traces)))

    def said(self):
        """(status, output, stderr)."""
        self.out.seek(0)
        self.err.seek(0)
        return self.process.returncode, self.out.read(), self.err.read()

    def growth(self):
        """(bytes of private memory, mappings, files, recorded bytes) added per load, from the first third on."""
        first, last = self.looks[len(self.looks) // 3], self.looks[-1]
        loads = max(last.loads - first.loads, 1)
        return loads, last.anonymous - first.anonymous, last.mappings - first.mappings, last.files - first.files, last.recorded - first.recorded


def run(commands, seconds):
    """Runs {way: (command, environment, folder)} at the same time: {way: Running}."""
    running = {way: Running(*one) for way, one in commands.items()}
    end = time.monotonic() + seconds + 60
    while any(one.process.poll() is None for one in running.values()):
        for one in running.values():
            if one.process.poll() is None:
                one.look()
                if time.monotonic() > end:
                    one.process.kill()
        time.sleep(1)
    return running


def table(one, rows=8):
    """Some of the measurements, as lines: the first, the last and some between at equal distances."""
    looks = one.looks
    if len(looks) > rows:
        looks = [looks[i * (len(looks) - 1) // (rows - 1)] for i in range(rows)]
    return [HEAD] + [look.row() for look in looks]


def wrong(one, yardstick):
    """The values that grow by more than in `yardstick`, as lines."""
    if len(one.looks) < 9:
        return ["only %d looks, which say nothing of memory" % len(one.looks)]
    loads, memory, mappings, files, _ = one.growth()
    found = []
    beside = 0
    if yardstick and len(yardstick.looks) > 8:
        theirs = yardstick.growth()
        beside = max(theirs[1], 0) / theirs[0]
    most = loads * (beside * 1.1 + PER_LOAD) + AT_ONCE
    if memory > most:
        found.append("%d bytes of private memory for each of %d loads, %d without us" % (memory // loads, loads, beside))
    # A recording has one mapping for each chunk in use.
    if mappings > 80:
        found.append("%d more mappings" % mappings)
    if files > 4:
        found.append("%d more open files" % files)
    return found
