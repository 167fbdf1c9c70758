"""Replacement and tools, on a GPU or on the CPU (`--backend cpu`): programs whose kernels are replaced, and their output.

Knows the lines of c-tests/gpu/redirected.cu under each rule. runs.py knows how
programs are run.
"""

import json
import os
import re
import shutil
import subprocess

import bound
import runs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The output of redirected.cu without rules.
PLAIN = {"plain": "3", "static shared": "0", "occupancy": "many", "captured": "2", "node": "1", "stateful": "15 18",
         "state": "7", "shape": "4", "left out": "1", "managed": "40 42 50", "constant": "210", "node set": "1",
         "shape node": "3 4", "node left out": "1"}
# With `step` of redirected_new.cu, everywhere; at launches only.
STEP = {"plain": "30", "static shared": "40960", "occupancy": "few", "captured": "20", "node": "10", "node set": "10"}
# Under conditions that all launches and the first node meet.
LAUNCHED = {"plain": "30", "captured": "20", "node": "10"}


class OnBackend(runs.Cushim):
    """The cushim under test, which runs programs on one of its backends."""

    def __init__(self, folder, backend):
        super().__init__(folder)
        self.backend = backend

    def alone(self, command):
        """Runs a command without tracing."""
        return runs.run([self.program, "run", "--backend", self.backend, "--"] + command)


def text(lines):
    return "".join("%s %s\n" % (key, lines[key]) for key in PLAIN).encode()


def rule(match, action):
    return "[[redirect]]\nname = 'it'\nmatch = { %s }\n%s\n" % (match, action)


def cases(images, owner, arch, digest):
    """(name, manifest, lines that differ, words that stderr holds, exit status)."""
    step, ptx = "kernel = '^step'", "image = '%s'" % images["ptx"]
    found = [("PTX", rule(step, ptx), STEP, [], 0)]
    own = "\nown = ['state', 'factor', 'counter']"
    for kind in [kind for kind in ("cubin", "fatbin") if kind in images]:
        # Machine code always has its own variables, used by the kernel or not.
        more = own if kind == "cubin" or images["fatbin_is_code"] else ""
        found.append((kind, rule(step, "image = '%s'%s" % (images[kind], more)), STEP, [], 0))
    found += [
        ("another name", rule(step, ptx + "\nkernel = 'another_step'"),
         {"plain": "300", "captured": "200", "node": "100", "node set": "100"}, [], 0),
        ("nth", rule(step + ", nth = 2", ptx), {"plain": "12"}, ["step is a graph node", "`nth` counts launches"], 0),
        ("nth from", rule(step + ", nth = '3..'", ptx), {"plain": "12", "captured": "20"}, ["`nth` counts launches"], 0),
        ("grid", rule(step + ", grid = [1, '*', '*']", ptx), LAUNCHED, [], 0),
        ("no such block", rule(step + ", block = [64, 1, 1]", ptx), {}, [], 0),
        ("owner", rule(step + ", owner = '%s$'" % owner, ptx), STEP, [], 0),
        ("no such owner", rule(step + ", owner = 'libother'", ptx), {}, ["it: never matched"], 0),
        ("arch", rule(step + ", arch = '%s'" % arch, ptx), STEP, [], 0),
        ("no such arch", rule(step + ", arch = 'sm_10'", ptx), {}, ["it: never matched"], 0),
        ("hash", rule(step + ", hash = '%s'" % digest, ptx), STEP, [], 0),
        ("no such hash", rule(step + ", hash = '0000000000000000'", ptx), {}, ["it: never matched"], 0),
        ("shape", rule("kernel = '^shape'", "launch = { grid = [7, 1, 1] }"),
         {"shape": "7", "shape node": "7 7"}, [], 0),
        ("skip", rule("kernel = '^leave_out'", "skip = true"),
         {"left out": "0", "node left out": "0"}, [], 0),
        ("whole image", rule(step, ptx + "\nwhole = true"),
         dict(STEP, **{"stateful": "300 303", "state": "102", "shape": "1004", "left out": "2", "managed": "400 420 50",
                    "constant": "3060", "shape node": "1003 1004", "node left out": "2"}), [], 0),
        ("several images", rule(step, "image = ['%s', '%s']" % (images["amd"], images["ptx"])), STEP, [], 0),
        ("an AMD image", rule(step, "image = '%s'" % images["amd"]), {}, ["it: step: ", "only backend hsa can launch"], 0),
        ("an AMD image, stop", rule(step, "image = '%s'\non-failure = 'stop'" % images["amd"]), None,
         ["only backend hsa can launch", "ending the program"], 78),
        ("other parameters", rule(step, ptx + "\nkernel = 'shape'"), {},
         ["step takes 2 parameters in 12 bytes (8 4)", "1 parameters in 8 bytes (8)"], 0),
        ("other parameters, stop", rule(step, ptx + "\nkernel = 'shape'\non-failure = 'stop'"), None,
         ["ending the program"], 78),
        ("compare", rule(step, ptx + "\ncompare = { type = 'i32' }"), {},
         ["parameter 0: 1 of 64 elements differ", "3 launches compared, 3 differ, by 9 at most"], 0),
        ("compare, keep", rule(step + ", nth = '1..3'", ptx + "\ncompare = { type = 'i32', keep = 'replacement' }"),
         {"plain": "30"}, ["3 launches compared, 3 differ"], 0),
        ("compare, alike", rule("kernel = '^step', nth = '1..3'", "image = '%s'%s\ncompare = { type = 'i32' }" %
                                (images["own"], own if images["own_is_code"] else "")),
         {}, ["3 launches compared, all alike"], 0),
    ]
    return found


def amd(path):
    """A bundle as clang's offload bundler writes it, with the header of an AMD code object in it."""
    name = b"hipv4-amdgcn-amd-amdhsa--gfx90a"
    head = b"__CLANG_OFFLOAD_BUNDLE__" + b"".join(word.to_bytes(8, "little") for word in (1, 128, 64, len(name))) + name
    elf = (b"\x7fELF\x02\x01\x01\x40\x04".ljust(16, b"\0") + bytes((3, 0, 224, 0, 1, 0, 0, 0))).ljust(64, b"\0")
    with open(path, "wb") as file:
        file.write(head.ljust(128, b"\0") + elf)
    return path


def compiled(command):
    """None, or a compiler's error message."""
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stderr or done.stdout).strip().splitlines()[-6:] if done.returncode else None


def dumped(folder):
    """The lines of a dump's index."""
    with open(os.path.join(folder, "images.jsonl")) as index:
        return [json.loads(line) for line in index]


# The rules for builds by other compilers, and for launches straight to the driver.
FEW = ("PTX", "nth", "grid", "shape", "skip", "whole image", "compare")


def check_program(cushim, path, images, arch, out, only=None, more=()):
    """The rules on one build of redirected.cu, all or those of `only`: [(what, [differences])]. `more`: further
    options of `cushim trace`."""
    results = []
    alone = cushim.alone([path])
    wrong = [] if alone.out == text(PLAIN) and alone.status == 0 else ["printed %r" % alone.out.decode()[-600:]]
    results.append(("alone", wrong))
    dump = os.path.join(out, "dump")
    shutil.rmtree(dump, ignore_errors=True)
    traced, trace = cushim.trace([path], options=["--dump-images", dump])
    shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
    results.append(("dumped", runs.differences(alone, traced)))
    holds = [line for line in dumped(dump) if "step" in line["kernels"]]
    if not holds:
        return results + [("index", ["no image with the kernel step in %s" % dump])]
    ours = dict(images, own=os.path.join(dump, holds[0]["file"]), own_is_code=holds[0]["kind"] != "ptx")
    arch = holds[0]["arch"].replace("sm_", "compute_") if holds[0]["kind"] == "ptx" else holds[0]["arch"]
    manifest = os.path.join(out, "rules.toml")
    for name, rules, differ, words, status in cases(ours, os.path.basename(path), arch, holds[0]["hash"]):
        if only and name not in only:
            continue
        with open(manifest, "w") as file:
            file.write(rules)
        ran, trace = cushim.trace([path], options=["--redirect", manifest] + list(more))
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        said = ran.err.decode("utf-8", "replace")
        wrong = ["stderr lacks %r" % word for word in words if word not in said]
        if ran.status != status:
            wrong.append("exit status %s, expected %s" % (ran.status, status))
        if differ is not None and ran.out != text(dict(PLAIN, **differ)):
            want = text(dict(PLAIN, **differ)).decode().splitlines()
            got = ran.out.decode("utf-8", "replace").splitlines()
            wrong += ["expected %r, printed %r" % pair for pair in zip(want, got) if pair[0] != pair[1]]
            if len(want) != len(got):
                wrong.append("printed %d lines" % len(got))
        if wrong:
            wrong += ["stderr: " + line for line in said.splitlines()[-4:]]
        results.append((name, wrong))
    return results


def check_tools(cushim, path, out):
    """The example tools on one build of redirected.cu."""
    include, tools = os.path.join(ROOT, "include"), os.path.join(ROOT, "c-tests/tools")
    results = []
    for source, compiler in (("histogram.c", "gcc"), ("nan.cpp", "g++")):
        library = os.path.join(out, source + ".so")
        wrong = compiled([compiler, "-shared", "-fPIC", "-O1", "-I", include, os.path.join(tools, source), "-o", library])
        if wrong:
            results.append((source, wrong))
            continue
        counts = os.path.join(out, "counts")
        ran, trace = cushim.trace([path], env={"HISTOGRAM": counts}, options=["--tool", library])
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        wrong = [] if ran.out == text(PLAIN) and ran.status == 0 else ["printed %r" % ran.out.decode()[-400:]]
        if source == "histogram.c":
            with open(counts) as file:
                rows = [line.split(None, 1) for line in file]
            # Three launches and a captured one; the explicit node does not count.
            if ["4", "step<<<(1, 1, 1), (32, 1, 1), 0>>>\n"] not in rows:
                wrong.append("counted %r" % rows)
        results.append((source, wrong))
    return results


def check_replay(cushim, path, images, out):
    """Captures a launch of redirected.cu, and replays it: unchanged, and with the other kernel."""
    folder = os.path.dirname(cushim.program)
    tool = [os.path.join(folder, at, "libcushim_capture.so") for at in (".", "../lib")]
    tool = next((at for at in tool if os.path.exists(at)), None)
    if not tool:
        return [("captured", ["no libcushim_capture.so beside %s" % cushim.program])]
    capture = os.path.join(out, "capture")
    shutil.rmtree(capture, ignore_errors=True)
    environment = {"CAPTURE_KERNEL": "step", "CAPTURE_NTH": "2", "CAPTURE_DIR": capture}
    ran, trace = cushim.trace([path], env=environment, options=["--tool", tool])
    shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
    wrong = [] if ran.out == text(PLAIN) and os.path.exists(capture) else runs.lines(ran.err)[-3:] or ["no folder"]
    results = [("captured", wrong)]
    for name, options, status, word in (("replayed", [], 0, "outputs: as captured (1 buffers)"),
                                        ("replayed anew", ["--type", "i32", "--image", images["ptx"]], 1,
                                         "1 of 64 elements differ, by 9 at most, at element 0: captured 2, now 11")):
        ran = cushim.alone([cushim.program, "replay"] + options + [capture])
        good = ran.status == status and word in ran.out.decode()
        results.append((name, [] if good else ["exit status %s: %r %r" % (ran.status, ran.out.decode()[-300:],
                                                                          ran.err.decode()[-300:])]))
    return results


# A script, the kernel, and an edit that makes the script do what the replacement does.
SCRIPTS = (
    ("triton_add.py", ("torch", "triton"), "add_kernel", ("mask=mask) + tl.load", "mask=mask) - tl.load")),
    ("cupy_small.py", ("cupy",), "saxpy", ("a * x[i] + y[i]", "a * x[i] - y[i]")),
)


def scripts(cushim, python, images, out):
    """Kernels compiled at run time, and one of PyTorch's, as tasks."""
    found = []
    for script, modules, kernel, edit in SCRIPTS:
        if runs.run([python, "-c", "import " + ", ".join(modules)]).status != 0:
            print("left out  redirect %s (no %s)" % (script, " and ".join(modules)), flush=True)
            continue
        found.append(Task("redirect " + script, out, check_script, cushim, python, script, kernel, edit))
    if runs.run([python, "-c", "import torch"]).status == 0:
        found.append(Task("redirect pytorch_add.py", out, check_torch, cushim, python, images))
    return found


def check_script(cushim, python, script, kernel, edit, out):
    """Replaces a script's kernel by that of the same script with an edit: [(what, [differences])]."""
    path = os.path.join(ROOT, "c-tests/python", script)
    with open(path) as file:
        source = file.read()
    edited = os.path.join(out, "edited_" + script)
    with open(edited, "w") as file:
        file.write(source.replace(*edit))
    dump = os.path.join(out, "dump-" + script)
    shutil.rmtree(dump, ignore_errors=True)
    wanted, trace = cushim.trace([python, edited], options=["--dump-images", dump])
    shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
    holds = [line for line in dumped(dump) if kernel in line["kernels"]]
    if wanted.status != 0 or not holds:
        return [("edited", ["exit status %s, %d images with %s" % (wanted.status, len(holds), kernel)] + runs.lines(wanted.err)[-3:])]
    image = os.path.join(dump, holds[-1]["file"])
    alone = runs.run([python, path])
    ran, trace = cushim.trace([python, path], options=["--replace", "^%s=%s" % (kernel, image)])
    shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
    wrong = [] if wanted.out != alone.out else ["the edit changes nothing"]
    if ran.out != wanted.out:
        wrong.append("expected %r, printed %r" % (wanted.out.decode()[-200:], ran.out.decode()[-200:]))
    return [("replaced", wrong + (runs.lines(ran.err)[-3:] if wrong else []))]


def check_torch(cushim, python, images, out):
    """Replaces PyTorch's own addition: [(what, [differences])]."""
    path = os.path.join(ROOT, "c-tests/python/pytorch_add.py")
    manifest = os.path.join(out, "torch.toml")
    with open(manifest, "w") as file:
        file.write(rule(r"kernel = 'vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>'",
                        "image = '%s'\nkernel = 'elementwise'" % images["ptx"]))
    results = []
    for name, options, total in (("alone", [], 39994.0), ("replaced", ["--redirect", manifest], 10029994.0)):
        ran, trace = cushim.trace([python, path], options=options)
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        good = ran.out == ("sum %s\n" % total).encode()
        results.append((name, [] if good else ["expected %s, printed %r" % (total, ran.out)] + runs.lines(ran.err)[-3:]))
    return results


def check_direct(cushim, path, images, arch, out):
    """Launches straight to the driver, with a shared runtime: the same output, and most launches take that way."""
    results = []
    alone = cushim.alone([path])
    for options in ([], ["--nested"], ["-e", "all"]):
        ran, trace = cushim.trace([path], options=["--direct", "--log", "info"] + options)
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        said = re.search(rb"direct: (\d+) kernels .*; (\d+) launches went through", ran.err)
        wrong = runs.differences(alone, ran)
        if not said or int(said[1]) < 4:
            wrong.append("no kernels were launched by the driver: %r" % ran.err.decode()[-300:])
        results.append(("direct " + " ".join(options), wrong))
    return results + check_program(cushim, path, images, arch, out, only=FEW, more=["--direct"])


def toolkit(nvcc):
    """MAJOR.MINOR of an nvcc."""
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    return (re.search(r"release (\d+\.\d+)", said) or [None, "?"])[1]


def matrix(cushim, nvcc, others, clang, target, arch, images, out):
    """Programs of other compilers, and kernels of other toolkits, as tasks."""
    source, new = (os.path.join(ROOT, "c-tests/gpu", name) for name in ("redirected.cu", "redirected_new.cu"))

    def foreign(other, name, out):
        # Only the driver decides whether it accepts newer PTX; all drivers accept the oldest compiler's.
        ptx, path = os.path.join(out, "new-%s.ptx" % name), os.path.join(out, "redirected")
        wrong = compiled([other, "-std=c++17", "-ptx", "-arch=" + arch.replace("sm_", "compute_"), new, "-o", ptx]) or \
            compiled([nvcc, "-std=c++17", "-cudart=shared", target, source, "-o", path])
        return [("compiles", wrong)] if wrong else \
            check_program(cushim, path, dict(images, ptx=ptx), arch, out, only=("PTX", "another name"))

    def program(command, linked, out):
        path = os.path.join(out, "redirected")
        wrong = compiled(command + [source, "-o", path] + linked)
        return [("compiles", wrong)] if wrong else check_program(cushim, path, images, arch, out, only=FEW)

    tasks = []
    for other in others:
        name = toolkit(other)
        tasks.append(Task("redirect shared whole, kernel of CUDA " + name, out, foreign, other, name))
        for runtime in ("shared", "static"):
            if runtime == "static" and not os.path.exists(os.path.join(library(other), "libcudart_static.a")):
                print("left out  redirect static, CUDA %s (no libcudart_static.a in %s)" % (name, library(other)), flush=True)
                continue
            command = [other, "-std=c++17", target, "-cudart=" + runtime, "-Xlinker", "-rpath=" + library(other)]
            tasks.append(Task("redirect %s, CUDA %s" % (runtime, name), out, program, command, []))
    # clang does not know toolkits newer than itself.
    homes = [os.path.dirname(os.path.dirname(os.path.realpath(other))) for other in others if toolkit(other).startswith("12.")]
    if clang and homes:
        libs, more = library(None, homes[0]), os.path.join(os.path.dirname(os.path.dirname(clang)), "cuda-include")
        for runtime in ("shared", "static"):
            linked = ["-lcudart"] if runtime == "shared" else ["-lcudart_static", "-ldl", "-lrt", "-lpthread"]
            options = ["-x", "cuda", "--cuda-path=" + homes[0], "--cuda-gpu-arch=" + arch.replace("compute_", "sm_"), "-std=c++17", "-O2",
                       "-I" + more, "-Wno-unknown-cuda-version", "--cuda-include-ptx=all", "-Wl,-rpath," + libs]
            tasks.append(Task("redirect %s, clang" % runtime, out, program, [clang] + options, ["-L" + libs] + linked))
    return tasks


def kits(folder, nvcc):
    """The other toolkits in a folder of scripts/cuda-toolkits, the oldest last, and a clang++ or None."""
    found = [os.path.join(folder, name, "bin/nvcc") for name in ("cuda-13.5", "cuda-12.4", "cuda-11.8")]
    others = [other for other in found if os.path.exists(other) and toolkit(other) != toolkit(nvcc)]
    clang = os.path.join(folder, "clang-19/bin/clang++")
    return others, clang if os.path.exists(clang) else None


def library(nvcc, home=None):
    """The folder of a toolkit's libraries."""
    home = home or os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    folders = [os.path.join(home, folder) for folder in ("lib64", "targets/x86_64-linux/lib", "lib")]
    return next((folder for folder in folders if os.path.isdir(folder)), folders[0])


class Task(runs.Task):
    """A task with a folder of its own below `out`, which its function gets as last argument."""

    def __init__(self, where, out, function, *arguments):
        own = os.path.join(out, re.sub(r"[^\w.]+", "-", where))

        def run():
            os.makedirs(own, exist_ok=True)
            return function(*arguments, own)

        super().__init__(where, run)


def builds(cushim, backend, nvcc, arch, target, images, out):
    """The builds of redirected.cu by one nvcc, as tasks."""
    source = os.path.join(ROOT, "c-tests/gpu/redirected.cu")

    def built(runtime, link, then, out):
        path = os.path.join(out, "redirected-%s-%s" % (runtime, link))
        wrong = compiled([nvcc, "-std=c++17", "-cudart=" + runtime, target,
                          "-rdc=" + ("true" if link == "rdc" else "false"), source, "-o", path])
        return [("compiles", wrong)] if wrong else then(path, out)

    tasks = []
    for runtime in ("shared", "static"):
        # Relocatable PTX is linked when it is loaded: there is no single image that rules could name.
        for link in ("whole", "rdc") if arch != target_virtual(arch) else ("whole",):
            checks = [("", lambda path, out: check_program(cushim, path, images, arch, out))]
            if link == "whole":
                checks += [(" tools", lambda path, out: check_tools(cushim, path, out)),
                           (" replay", lambda path, out: check_replay(cushim, path, images, out))]
                if runtime == "shared" and backend == "native":
                    checks.append((" direct", lambda path, out: check_direct(cushim, path, images, arch, out)))
            tasks += [Task("redirect %s %s%s" % (runtime, link, what), out, built, runtime, link, then) for what, then in checks]
    return tasks


def target_virtual(arch):
    """compute_NN of sm_NN."""
    return arch.replace("sm_", "compute_")


def tasks(folder, backend, nvcc, arch, out, python=None, others=(), clang=None):
    """All checks, as tasks that may run in parallel. `arch` is sm_NN for a GPU, compute_NN where only PTX
    runs; `python`: also kernels that are compiled at run time; `others`: nvcc of other toolkits, the oldest last; `clang`: a
    clang++ that compiles CUDA."""
    cushim = OnBackend(folder, backend)
    out = os.path.join(out, "redirected")
    os.makedirs(out, exist_ok=True)
    new = os.path.join(ROOT, "c-tests/gpu/redirected_new.cu")
    virtual = target_virtual(arch)
    target = "-gencode=arch=%s,code=%s" % (virtual, arch if arch != virtual else virtual)
    flags = {"ptx": ["-ptx", "-arch=" + virtual], "cubin": ["-cubin", "-arch=" + arch], "fatbin": ["-fatbin", target]}
    if arch == virtual:
        del flags["cubin"]
    images = {kind: os.path.join(out, "new." + kind) for kind in flags}
    for kind, path in images.items():
        wrong = compiled([nvcc, "-std=c++17"] + flags[kind] + [new, "-o", path])
        if wrong:
            return [runs.Task("redirect, new." + kind, lambda: [("compiles", wrong)])]
    images["fatbin_is_code"] = arch != virtual
    images["amd"] = amd(os.path.join(out, "new.hipfb"))
    found = builds(cushim, backend, nvcc, arch, target, images, out)
    found += bound.tasks(cushim, nvcc, arch, target, out, Task)
    found += matrix(cushim, nvcc, others, clang, target, arch, images, out)
    if python:
        found += scripts(cushim, python, images, out)
    return found
