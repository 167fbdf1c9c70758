"""Three CUDA majors in one process: each caller has to reach its own runtime.

Builds c-tests/majors with the toolkits 11.8, 12.4 and 13.5 and compares the program
alone and traced. Needs all three toolkits, and no GPU. (With a driver but no device
the runtimes return different errors for a launch: 100 from 11.8 and 12.4, 35 from
13.5. The tests of the shim show which call reaches which runtime, with stubs in place of
NVIDIA's libraries.)
"""

import os
import shutil

import build
import launches
import runs

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "majors")
TOOLKITS = {"11": "11.8", "12": "12.4", "13": "13.5"}


def make(toolkits, out):
    """Builds the libraries and the two programs; their commands by name."""
    os.makedirs(out, exist_ok=True)
    libraries = []
    for major, toolkit in TOOLKITS.items():
        nvcc = build.Nvcc(os.path.join(toolkits[toolkit], "bin/nvcc"))
        libraries.append(os.path.join(out, "libpart_%s.so" % major))
        build.run([nvcc.nvcc, "-arch=" + nvcc.arch, "-Wno-deprecated-gpu-targets", "-cudart=shared", "-shared",
                   "-Xcompiler=-fPIC", "-DPART=" + major, os.path.join(FOLDER, "part.cu"), "-o", libraries[-1],
                   "-Xlinker=-rpath=" + nvcc.lib])
    main = os.path.join(FOLDER, "main.cpp")
    loading, linked = os.path.join(out, "loading"), os.path.join(out, "linked")
    build.run([build.host_cxx(), "-std=c++17", main, "-o", loading, "-ldl"])
    build.run([build.host_cxx(), "-std=c++17", "-DLINKED", main, "-o", linked, "-Wl,--no-as-needed"] + libraries
              + ["-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined"])
    return {"local": [loading, "local"], "global": [loading, "global"], "linked": [linked]}


def check(cushim, command, env):
    """All checks with the runtimes linked or loaded in one way: [(what, [differences])]."""
    alone = runs.run(command, env)
    wrong = [] if alone.status == 0 else ["exit status %s: %r" % (alone.status, runs.lines(alone.err)[-2:])]
    for major, toolkit in TOOLKITS.items():
        version = 1000 * int(major) + 10 * int(toolkit.split(".")[1])
        # 11.8 returns runtime version 0 if it finds no device.
        answers = ["%s: runtime %d," % (major, v) for v in (version, 0)]
        if not any(answer.encode() in alone.out for answer in answers):
            wrong.append("%r was not printed" % answers[0])
    results = [("alone", wrong)]
    traced, trace = cushim.trace(command, env)
    try:
        results.append(("traced", runs.differences(alone, traced)))
        _, events, _ = launches.read_trace(trace)
        expected = [launches.Expected("2 kernel_%s 1,1,1 %s,1,1 0 * %s" % (m, m, m)) for m in TOOLKITS]
        results.append(("launches", launches.compare(expected, events, statuses=False)))
        return results
    except (OSError, ValueError) as error:
        return results + [("launches", [str(error)])]
    finally:
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
