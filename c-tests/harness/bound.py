"""Replaced kernels that use the program's variables, on a GPU or on the CPU.

Knows the lines of c-tests/gpu/bound.cu and bound_contexts.cu, plain and with the kernels of bound_new.cu. runs.py
knows how programs are run.
"""

import os
import re
import shutil
import subprocess

import build
import runs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = os.path.join(ROOT, "c-tests/gpu")

PLAIN = {"scale": "5 3", "counter": "7 7", "managed": "51", "table": "25", "struct": "305", "addresses": "77 88",
         "static": "9", "seed": "1", "captured": "9", "node": "10", "reset": "6 4"}
NEW = {"scale": "401 201", "counter": "25 25", "managed": "150", "table": "25000", "struct": "-305",
       "addresses": "7077 2088", "static": "9009", "seed": "2", "captured": "45", "node": "55", "reset": "15 301"}
# The program unchanged, with the new kernel, and with a new kernel that has its own variable.
CONTEXTS = ("contexts 30 40 80\ntwice 50 30\nunloaded 50\nagain 60\ndestroyed 40\n",
            "contexts 1030 1040 1080\ntwice 1050 1030\nunloaded 1050\nagain 1060\ndestroyed 1040\n",
            "contexts 1010 1010 1020\ntwice 1010 1010\nunloaded 1010\nagain 1010\ndestroyed 1010\n")
NODES = ("named 30 40 100 80\nfunction 60\nagain 80\n", "named 1030 1040 1100 1080\nfunction 1060\nagain 1080\n",
         "named 1010 1010 1020 1020\nfunction 1010\nagain 1010\n")
PLUGINS = ("opened 30 60\nopened 40 80\nanew 10 70\nboth 60 70\n",
           "opened 1030 1060\nopened 1040 1080\nanew 1010 1070\nboth 1060 1070\n",
           "opened 1010 1020\nopened 1010 1020\nanew 1010 1010\nboth 1010 1010\n")
ALL = "kernel = '^(add|bump|sum|pair|follow|hide|grow|seeded)$'"


def rule(match, action):
    return "[[redirect]]\nname = 'it'\nmatch = { %s }\n%s\n" % (match, action)


def cases(images):
    """(name, manifest, lines, words of stderr, exit status)."""
    ptx, nothing = "image = '%s'" % images["ptx"], dict(PLAIN)
    found = [
        ("bound", rule(ALL, ptx), NEW, [], 0),
        ("bound, at launches", rule(ALL + ", grid = [1, '*', '*']", ptx), NEW, [], 0),
        ("bound, one kernel", rule("kernel = '^add$'", ptx), dict(PLAIN, scale="401 201", reset="6 301"), [], 0),
        ("own", rule(ALL, ptx + "\nown = ['seed']"), dict(NEW, seed="1000"), [], 0),
        ("own, unknown", rule(ALL, ptx + "\nown = ['sead']"), nothing, ["`own` names sead"], 0),
        ("another size", rule("kernel = '^add$'", "image = '%s'" % images["wrong"]), nothing,
         ["variable scale is 8 bytes in .const, expected 4 bytes in .const"], 0),
        ("another size, stop", rule("kernel = '^add$'", "image = '%s'\non-failure = 'stop'" % images["wrong"]), None,
         ["expected 4 bytes in .const", "ending the program"], 78),
        ("compared", rule("kernel = '^bump$'", ptx + "\ncompare = {}"), nothing, ["variable counter differs"], 0),
    ]
    if "cubin" in images:
        found.append(("machine code", rule(ALL, "image = '%s'" % images["cubin"]), nothing,
                      ["machine code cannot be bound", "scale"], 0))
    if "fatbin" in images:
        found.append(("PTX beside machine code", rule(ALL, "image = '%s'" % images["fatbin"]), NEW, [], 0))
    return found


def text(lines):
    return "".join("%s %s\n" % (key, lines[key]) for key in PLAIN)


def traced(cushim, command, options):
    ran, trace = cushim.trace(command, options=options)
    shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
    return ran


def compared(ran, want, words, status):
    """Compares a run with what is expected; returns the differences."""
    said, got = ran.err.decode("utf-8", "replace"), ran.out.decode("utf-8", "replace")
    wrong = ["stderr lacks %r" % word for word in words if word not in said]
    if ran.status != status:
        wrong.append("exit status %s, expected %s" % (ran.status, status))
    if want is not None and got != want:
        pairs = zip(want.splitlines(), got.splitlines())
        wrong += ["expected %r, printed %r" % pair for pair in pairs if pair[0] != pair[1]]
        if len(want.splitlines()) != len(got.splitlines()):
            wrong.append("printed %r" % got[-300:])
    return wrong + (["stderr: " + line for line in said.splitlines()[-4:]] if wrong else [])


def check_program(cushim, path, images, out, direct):
    """The rules on one build of bound.cu: [(what, [differences])]. `direct`: also with launches straight to the driver."""
    results = [("alone", compared(cushim.alone([path]), text(PLAIN), [], 0))]
    manifest = os.path.join(out, "bound.toml")
    for name, rules, lines, words, status in cases(images):
        with open(manifest, "w") as file:
            file.write(rules)
        ran = traced(cushim, [path], ["--redirect", manifest])
        results.append((name, compared(ran, text(lines) if lines else None, words, status)))
    if direct:
        with open(manifest, "w") as file:
            file.write(rule(ALL, "image = '%s'" % images["ptx"]))
        ran = traced(cushim, [path], ["--redirect", manifest, "--direct", "--log", "info"])
        said = re.search(rb"direct: (\d+) kernels", ran.err)
        wrong = [] if said and int(said[1]) > 1 else ["no kernels were launched by the driver"]
        results.append(("bound, --direct", wrong + compared(ran, text(NEW), [], 0)))
    ran = traced(cushim, [path], ["--replace", "^add$=%s" % images["ptx"]])
    results.append(("--replace", compared(ran, text(dict(PLAIN, scale="401 201", reset="6 301")), [], 0)))
    for name, action, status, word in (
            ("checked", "image = '%s'" % images["ptx"], 0, "scale is the program's (4 bytes in .const)"),
            ("checked, own", "image = '%s'\nown = ['seed', 'sead']" % images["ptx"], 1, "`own` names sead"),
            ("checked, another size", "image = '%s'" % images["wrong"], 1, "cannot be applied")):
        with open(manifest, "w") as file:
            file.write(rule("kernel = '^add$'", action))
        ran = runs.run([cushim.program, "redirect", "check", manifest, path])
        good = ran.status == status and word in ran.out.decode()
        results.append((name, [] if good else ["exit status %s: %r %r" % (ran.status, ran.out.decode()[-400:], ran.err.decode()[-200:])]))
    return results


def compiled(nvcc, *command):
    """None, or nvcc's error message."""
    done = subprocess.run([nvcc, "-std=c++17"] + list(command), capture_output=True, text=True)
    return (done.stderr or done.stdout).strip().splitlines()[-6:] if done.returncode else None


def tasks(cushim, nvcc, arch, target, out, Task):
    """All checks, as tasks of this class. `arch` is sm_NN for a GPU, compute_NN where only PTX runs; `target` is nvcc's
    option for programs."""
    virtual = arch.replace("sm_", "compute_")

    new = os.path.join(SOURCES, "bound_new.cu")
    made = [("ptx", ["-ptx", "-arch=" + virtual, new]), ("wrong", ["-ptx", "-arch=" + virtual, os.path.join(SOURCES, "bound_wrong.cu")])]
    image = os.path.join(SOURCES, "bound_contexts_image.cu")
    made += [("contexts", ["-ptx", "-arch=" + virtual, image]), ("contexts-new", ["-ptx", "-DNEW", "-arch=" + virtual, image])]
    if arch != virtual:
        made += [("cubin", ["-cubin", "-arch=" + arch, new]), ("contexts-cubin", ["-cubin", "-DNEW", "-arch=" + arch, image]),
                 ("fatbin", ["-fatbin", "-gencode=arch=%s,code=[%s,%s]" % (virtual, virtual, arch), new])]
    images = {name: os.path.join(out, "bound." + name) for name, _ in made}
    for name, command in made:
        wrong = compiled(nvcc, *command, "-o", images[name])
        if wrong:
            return [Task("bound, " + name, out, lambda wrong, _: [("compiles", wrong)], wrong)]
    found = [Task("bound " + runtime, out, variables, cushim, nvcc, runtime, target, images) for runtime in ("shared", "static")]
    found.append(Task("bound", out, new_source, cushim, nvcc, target))
    # Nodes whose kernels run in a context of their own came with CUDA 12.
    named = (("nodes", NODES),) if build.Nvcc(nvcc).version >= (12, 0) else ()
    found += [Task("bound " + name, out, contexts, cushim, nvcc, name, lines, images) for name, lines in (("contexts", CONTEXTS), *named)]
    found += [Task("bound plugins " + runtime, out, plugins, cushim, nvcc, runtime, target, images) for runtime in ("shared", "static")]
    return found


def variables(cushim, nvcc, runtime, target, images, out):
    """bound.cu with one runtime."""
    path = os.path.join(out, "bound-" + runtime)
    wrong = compiled(nvcc, "-cudart=" + runtime, target, os.path.join(SOURCES, "bound.cu"), "-o", path)
    direct = runtime == "shared" and cushim.backend == "native"
    return [("compiles", wrong)] if wrong else check_program(cushim, path, images, out, direct)


def new_source(cushim, nvcc, target, out):
    """The source with the new kernels must print the same as the program with replaced kernels."""
    path = os.path.join(out, "bound-new-source")
    wrong = compiled(nvcc, target, "-DNEW_SOURCE", os.path.join(SOURCES, "bound.cu"), "-o", path)
    return [("compiles", wrong)] if wrong else [("new source", compared(cushim.alone([path]), text(NEW), [], 0))]


def contexts(cushim, nvcc, name, lines, images, out):
    """bound_NAME.cu, which loads images in several contexts."""
    path = os.path.join(out, "bound-" + name)
    source, unlinked = os.path.join(SOURCES, "bound_%s.cu" % name), path + ".o"
    wrong = compiled(nvcc, "-c", source, "-o", unlinked)
    if not wrong:
        # There may be no driver to link with.
        wrong = compiled(nvcc, unlinked, *build.driver_stub([unlinked], path + "-stub"), "-o", path)
    return [("compiles", wrong)] if wrong else \
        check_times(cushim, [path, images["contexts"]], [path, images["contexts-new"]], lines, images, out)


def plugins(cushim, nvcc, runtime, target, images, out):
    """Two libraries with kernels and variables of the same names, opened and closed."""
    path = os.path.join(out, "bound-plugins")
    wrong = compiled(nvcc, "-cudart=none", os.path.join(SOURCES, "bound_plugin_main.cpp"), "-ldl", "-o", path)
    commands = []
    for name, define in (("plugin", "-DOLD"), ("new-plugin", "-DNEW")):
        pair = [os.path.join(out, "libbound-%s-%s-%s.so" % (name, letter, runtime)) for letter in "ab"]
        wrong = wrong or compiled(nvcc, "-cudart=" + runtime, target, "-shared", "-Xcompiler", "-fPIC", define,
                                  os.path.join(SOURCES, "bound_plugin.cu"), "-o", pair[0])
        if not wrong:
            shutil.copy(pair[0], pair[1])
        commands.append([path] + pair)
    return [("compiles", wrong)] if wrong else check_times(cushim, commands[0], commands[1], PLUGINS, images, out)


def check_times(cushim, command, new, lines, images, out):
    """A program with the kernel `times`, and `new`, the same source with the new kernel: [(what, [differences])]."""
    results = [("alone", compared(cushim.alone(command), lines[0], [], 0)),
               ("new source", compared(cushim.alone(new), lines[1], [], 0))]
    ptx, cubin = ("image = '%s'" % images.get(name) for name in ("contexts-new", "contexts-cubin"))
    cases = [("bound", "", ptx, lines[1], []), ("bound, at launches", ", grid = [1, '*', '*']", ptx, lines[1], []),
             ("own", "", ptx + "\nown = ['factor']", lines[2], [])]
    if "contexts-cubin" in images:
        cases += [("machine code", "", cubin, lines[0], ["machine code cannot be bound", "factor"]),
                  ("machine code, own", "", cubin + "\nown = ['factor']", lines[2], [])]
    manifest = os.path.join(out, "bound.toml")
    for name, more, action, want, words in cases:
        with open(manifest, "w") as file:
            file.write(rule("kernel = '^times$'" + more, action))
        results.append((name, compared(traced(cushim, command, ["--redirect", manifest]), want, words, 0)))
    return results
