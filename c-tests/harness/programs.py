"""The table of CUDA test programs and the variants they are built in.

Knows nothing of compilers (build.py) nor of how results are compared (compare.py).
Python 3.8 and its library only: it runs on GPU machines that have nothing else.
"""

import itertools
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
CUDA = os.path.join(os.path.dirname(HERE), "cuda")
KNOWN = os.path.join(CUDA, "KNOWN-ON-CPU")

RUNTIMES = ("shared", "static")
STREAMS = ("legacy", "perthread")
LINKS = ("whole", "rdc")
COMPRESSIONS = ("default", "none", "lz4", "zstd")
# The sets of variants by name, for `variants` and the scripts' options.
SETS = ("pair", "core", "gpu", "matrix", "full", "each", "both")
# Three of the 24 variants without `default`, in which every choice of every axis appears. Older compilers write no
# zstd: in their three the other choices appear, and lz4 in code that is not relocatable, the only option for clang.
FEW = ("shared-legacy-whole-none", "static-perthread-whole-lz4", "static-legacy-rdc-zstd")
FEW_OLDER = ("shared-legacy-whole-none", "static-perthread-rdc-none", "static-perthread-whole-lz4")


class Program:
    """One line of PROGRAMS: the `number`th."""

    def __init__(self, name, sources, words, number=0):
        self.name, self.number = name, number
        self.sources = sources
        # The folder of the first source gives the program's subject.
        self.kind = os.path.dirname(sources[0])
        self.options = {}
        for word in words:
            key, _, value = word.partition("=")
            self.options[key] = value or True

    def minimum(self):
        """The oldest toolkit that supports it, as (major, minor)."""
        return version(self.options.get("min", "0.0"))

    def beside(self, ending):
        """The file NAME.ending of this program."""
        return os.path.join(CUDA, self.kind, "%s.%s" % (self.name, ending))


def version(text):
    """'12.8' as (12, 8)."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def major(toolkit):
    """The major of CUDA of a toolkit of scripts/build-cuda-tests; clang compiles over 12.4."""
    return 12 if toolkit == "clang" else version(toolkit)[0]


def programs(only=None):
    """The programs of the table, or those named in `only`."""
    found = []
    with open(os.path.join(CUDA, "PROGRAMS")) as table:
        for line in table:
            words = line.split("#")[0].split()
            if words:
                found.append(Program(words[0], words[1].split(","), words[2:], len(found)))
    if only:
        unknown = set(only) - {p.name for p in found}
        if unknown:
            raise SystemExit("no such program: %s" % ", ".join(sorted(unknown)))
        found = [p for p in found if p.name in only]
    return found


class Known:
    """How a program fails on the CPU, and why."""

    def __init__(self, status, says, why):
        self.status, self.says, self.why = status, says, why

    def unlike(self, status, said):
        """How an end differs from the known one; None if it does not. `said`: all output of the
        program, as bytes. A status of None means that the program did not end."""
        if status != self.status:
            return "it ends with %s, not %d" % ("nothing" if status is None else status, self.status)
        if not re.search(self.says, said.decode("utf-8", "replace")):
            return "nothing that it prints matches /%s/" % self.says
        return None


def known_on_cpu(path=KNOWN):
    """The programs that are known to fail on the CPU: {name: Known}."""
    known = {}
    with open(path) as table:
        for number, line in enumerate(table, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            found = re.fullmatch(r"(\w+)\s+(\d+)\s+/(.+)/\s+(\S.*)", line)
            if not found:
                raise SystemExit("%s line %d: expected NAME STATUS /REGEX/ WHY: %s" % (path, number, line))
            known[found[1]] = Known(int(found[2]), found[3], found[4])
    return known


class Variant:
    """How a program is built: runtime, default stream, link mode, compression."""

    def __init__(self, runtime, stream, link, compression):
        self.runtime, self.stream, self.link, self.compression = runtime, stream, link, compression

    def __str__(self):
        return "-".join((self.runtime, self.stream, self.link, self.compression))


def variants(which, program, older=None):
    """The variants of a set in which this program is built. `older`: the index of a compiler that
    is not the newest toolkit among those; it matters to `core` alone.

    pair    two that differ in everything but compression
    core    a sample of `matrix`: for the programs marked `matrix` three variants in which every choice of every
            axis appears, of the others `pair`, of semantics/ and compute/ the static runtime alone; compilers
            that are not the newest toolkit make one of three, or of `pair`, in turns
    gpu     every runtime, stream and link mode, with the compiler's default compression
    matrix  the full product for the programs marked so, `pair` for the others
    full    the full product for every program
    each    the shared runtime alone, so that everything is compiled once
    both    the shared and the static runtime, in the plainest way

    Programs of semantics/ and compute/ test CUDA or generated code, not
    the way a program is built: they come with the shared and the static
    runtime (which share their objects) in every set but `full` and `each`, those of
    compute/ in `matrix` and `pair` with the static one. `heavy` programs are in neither
    of these two.
    """
    product = [Variant(*v) for v in itertools.product(RUNTIMES, STREAMS, LINKS, COMPRESSIONS)]
    if which == "each":
        return few(program, ("shared",))
    if which in ("matrix", "core", "pair") and "heavy" in program.options:
        return []
    if which == "core" and program.kind:
        return few(program, ("static",))
    if which == "both" or (program.kind and which != "full"):
        traced = program.kind == "compute" and which in ("matrix", "pair")
        return few(program, ("static",) if traced else RUNTIMES)
    wanted = program.options.get("link"), program.options.get("stream")
    if which == "core":
        if "matrix" not in program.options:
            pair = variants("pair", program)
            return pair if older is None else pair[(program.number + older) % len(pair):][:1]
        # An axis that the program fixes does not vary.
        names = FEW if older is None else [FEW_OLDER[(program.number + older) % len(FEW_OLDER)]]
        names = [name.split("-") for name in names]
        chosen = [Variant(r, wanted[1] or s, wanted[0] or l, c) for r, s, l, c in names]
        return list({str(v): v for v in chosen}.values())
    if which == "matrix":
        which = "full" if "matrix" in program.options else "pair"
    if which == "pair":
        pair = ("shared-legacy-whole-default", "static-perthread-rdc-default")
        # A program that must be relocatable has its shared variant there, too.
        if program.options.get("link") == "rdc":
            pair = ("shared-legacy-rdc-default", "static-perthread-rdc-default")
        product = [v for v in product if str(v) in pair]
    elif which == "gpu":
        product = [v for v in product if v.compression == "default"]
    elif which == "full":
        product = [v for v in product if v.compression != "default"]
    else:
        raise SystemExit("unknown set '%s': %s" % (which, ", ".join(SETS)))
    return [v for v in product if wanted[0] in (None, v.link) and wanted[1] in (None, v.stream)]


def few(program, runtimes):
    """One variant for each runtime, the simplest that the program allows."""
    stream, link = program.options.get("stream", "legacy"), program.options.get("link", "whole")
    return [Variant(runtime, stream, link, "default") for runtime in runtimes]
