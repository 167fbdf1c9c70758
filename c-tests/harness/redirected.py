"""Redirection and tools, on a GPU or on the CPU (`--backend cpu`): programs whose kernels are replaced, and what they then print.

Knows the lines of c-tests/gpu/redirected.cu under each rule. How programs are run is
runs.py's affair.
"""

import json
import os
import shutil
import subprocess

import runs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What redirected.cu prints of itself.
PLAIN = {"plain": "3", "static shared": "0", "occupancy": "many", "captured": "2", "node": "1", "stateful": "15 18",
         "state": "7", "shape": "4", "left out": "1"}
# With `step` of redirected_new.cu, everywhere; at launches only.
STEP = {"plain": "30", "static shared": "40960", "occupancy": "few", "captured": "20", "node": "10"}
LAUNCHED = {"plain": "30", "captured": "20"}


class OnBackend(runs.Cushim):
    """The program under test, with programs run on one of its backends."""

    def __init__(self, folder, backend):
        super().__init__(folder)
        self.backend = backend

    def alone(self, command):
        """Runs a command untraced."""
        return runs.run([self.program, "run", "--backend", self.backend, "--"] + command)


def text(lines):
    return "".join("%s %s\n" % (key, lines[key]) for key in PLAIN).encode()


def rule(match, action):
    return "[[redirect]]\nname = 'it'\nmatch = { %s }\n%s\n" % (match, action)


def cases(images, owner, arch, digest):
    """(name, manifest, lines that differ, words that stderr holds, exit status)."""
    step, ptx = "kernel = '^step'", "image = '%s'" % images["ptx"]
    found = [("PTX", rule(step, ptx), STEP, [], 0)]
    for kind in [kind for kind in ("cubin", "fatbin") if kind in images]:
        found.append((kind, rule(step, "image = '%s'" % images[kind]), STEP, [], 0))
    found += [
        ("another name", rule(step, ptx + "\nkernel = 'another_step'"),
         {"plain": "300", "captured": "200", "node": "100"}, [], 0),
        ("nth", rule(step + ", nth = 2", ptx), {"plain": "12"}, [], 0),
        ("nth from", rule(step + ", nth = '3..'", ptx), {"plain": "12", "captured": "20"}, [], 0),
        ("grid", rule(step + ", grid = [1, '*', '*']", ptx), LAUNCHED, [], 0),
        ("no such block", rule(step + ", block = [64, 1, 1]", ptx), {}, [], 0),
        ("owner", rule(step + ", owner = '%s$'" % owner, ptx), STEP, [], 0),
        ("no such owner", rule(step + ", owner = 'libother'", ptx), {}, ["it: never matched"], 0),
        ("arch", rule(step + ", arch = '%s'" % arch, ptx), STEP, [], 0),
        ("no such arch", rule(step + ", arch = 'sm_10'", ptx), {}, ["it: never matched"], 0),
        ("hash", rule(step + ", hash = '%s'" % digest, ptx), STEP, [], 0),
        ("no such hash", rule(step + ", hash = '0000000000000000'", ptx), {}, ["it: never matched"], 0),
        ("shape", rule("kernel = '^shape'", "launch = { grid = [7, 1, 1] }"), {"shape": "7"}, [], 0),
        ("skip", rule("kernel = '^leave_out'", "skip = true"), {"left out": "0"}, [], 0),
        ("whole image", rule(step, ptx + "\nwhole = true"),
         dict(STEP, **{"stateful": "300 303", "state": "102", "shape": "1004", "left out": "2"}), [], 0),
        ("other parameters", rule(step, ptx + "\nkernel = 'shape'"), {},
         ["step takes 2 parameters in 12 bytes (8 4)", "1 parameters in 8 bytes (8)"], 0),
        ("other parameters, stop", rule(step, ptx + "\nkernel = 'shape'\non-failure = 'stop'"), None,
         ["the program ends here"], 78),
        ("compare", rule(step, ptx + "\ncompare = { type = 'i32' }"), {},
         ["parameter 0: 1 of 64 elements differ", "3 launches compared, 3 differ, by 9 at most"], 0),
        ("compare, keep", rule(step + ", nth = '1..3'", ptx + "\ncompare = { type = 'i32', keep = 'replacement' }"),
         {"plain": "30"}, ["3 launches compared, 3 differ"], 0),
        ("compare, alike", rule("kernel = '^step', nth = '1..3'", "image = '%s'\ncompare = { type = 'i32' }" % images["own"]),
         {}, ["3 launches compared, all alike"], 0),
    ]
    return found


def compiled(command):
    """None, or what a compiler complains about."""
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stderr or done.stdout).strip().splitlines()[-6:] if done.returncode else None


def dumped(folder):
    """The lines of a dump's index."""
    with open(os.path.join(folder, "images.jsonl")) as index:
        return [json.loads(line) for line in index]


def check_program(cushim, path, images, arch, out):
    """All rules on one build of redirected.cu: [(what, what is wrong)]."""
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
    ours = dict(images, own=os.path.join(dump, holds[0]["file"]))
    arch = holds[0]["arch"].replace("sm_", "compute_") if holds[0]["kind"] == "ptx" else holds[0]["arch"]
    manifest = os.path.join(out, "rules.toml")
    for name, rules, differ, words, status in cases(ours, os.path.basename(path), arch, holds[0]["hash"]):
        with open(manifest, "w") as file:
            file.write(rules)
        ran, trace = cushim.trace([path], options=["--redirect", manifest])
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
            # Three launches and a captured one; the explicit node is none.
            if ["4", "step<<<(1, 1, 1), (32, 1, 1), 0>>>\n"] not in rows:
                wrong.append("counted %r" % rows)
        results.append((source, wrong))
    return results


def check_replay(cushim, path, images, out):
    """A launch of redirected.cu captured, and replayed: as it was, and with the other kernel."""
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


# A script, the kernel, and the edit after which the script does what the replaced kernel does.
SCRIPTS = (
    ("triton_add.py", ("torch", "triton"), "add_kernel", ("mask=mask) + tl.load", "mask=mask) - tl.load")),
    ("cupy_small.py", ("cupy",), "saxpy", ("a * x[i] + y[i]", "a * x[i] - y[i]")),
)


def check_scripts(cushim, python, images, out):
    """Kernels made at run time, and one of PyTorch's: [(where, results)]."""
    found = []
    for script, modules, kernel, (old, new) in SCRIPTS:
        where = "redirect " + script
        if runs.run([python, "-c", "import " + ", ".join(modules)]).status != 0:
            print("left out  %s (no %s)" % (where, " and ".join(modules)), flush=True)
            continue
        path = os.path.join(ROOT, "c-tests/python", script)
        with open(path) as file:
            source = file.read()
        edited = os.path.join(out, "edited_" + script)
        with open(edited, "w") as file:
            file.write(source.replace(old, new))
        dump = os.path.join(out, "dump-" + script)
        shutil.rmtree(dump, ignore_errors=True)
        wanted, trace = cushim.trace([python, edited], options=["--dump-images", dump])
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        holds = [line for line in dumped(dump) if kernel in line["kernels"]]
        if wanted.status != 0 or not holds:
            found.append((where, [("edited", ["exit status %s, %d images with %s" % (wanted.status, len(holds), kernel)] +
                                   runs.lines(wanted.err)[-3:])]))
            continue
        image = os.path.join(dump, holds[-1]["file"])
        alone = runs.run([python, path])
        ran, trace = cushim.trace([python, path], options=["--replace", "^%s=%s" % (kernel, image)])
        shutil.rmtree(os.path.dirname(trace), ignore_errors=True)
        wrong = [] if wanted.out != alone.out else ["the edit changes nothing"]
        if ran.out != wanted.out:
            wrong.append("expected %r, printed %r" % (wanted.out.decode()[-200:], ran.out.decode()[-200:]))
        found.append((where, [("replaced", wrong + (runs.lines(ran.err)[-3:] if wrong else []))]))
    path = os.path.join(ROOT, "c-tests/python/pytorch_add.py")
    if runs.run([python, "-c", "import torch"]).status == 0:
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
        found.append(("redirect pytorch_add.py", results))
    return found


def check(folder, backend, nvcc, arch, out, python=None):
    """Everything: [(where, [(what, what is wrong)])]. `arch` is sm_NN for a GPU, compute_NN for what takes PTX
    only; `python` also checks kernels that are made at run time."""
    cushim = OnBackend(folder, backend)
    out = os.path.join(out, "redirected")
    os.makedirs(out, exist_ok=True)
    source = os.path.join(ROOT, "c-tests/gpu/redirected.cu")
    new = os.path.join(ROOT, "c-tests/gpu/redirected_new.cu")
    virtual = arch.replace("sm_", "compute_")
    target = "-gencode=arch=%s,code=%s" % (virtual, arch if arch != virtual else virtual)
    flags = {"ptx": ["-ptx", "-arch=" + virtual], "cubin": ["-cubin", "-arch=" + arch], "fatbin": ["-fatbin", target]}
    if arch == virtual:
        del flags["cubin"]
    images = {kind: os.path.join(out, "new." + kind) for kind in flags}
    for kind, path in images.items():
        wrong = compiled([nvcc, "-std=c++17"] + flags[kind] + [new, "-o", path])
        if wrong:
            return [("redirect, new." + kind, [("compiles", wrong)])]
    found = []
    for runtime in ("shared", "static"):
        # Relocatable PTX is linked when it is loaded, and has no one image that rules could name.
        for link in ("whole", "rdc") if arch != virtual else ("whole",):
            where = "redirect %s %s" % (runtime, link)
            path = os.path.join(out, "redirected-%s-%s" % (runtime, link))
            wrong = compiled([nvcc, "-std=c++17", "-cudart=" + runtime, target,
                              "-rdc=" + ("true" if link == "rdc" else "false"), source, "-o", path])
            if wrong:
                found.append((where, [("compiles", wrong)]))
                continue
            found.append((where, check_program(cushim, path, images, arch, out)))
            if link == "whole":
                found.append((where + " tools", check_tools(cushim, path, out)))
                found.append((where + " replay", check_replay(cushim, path, images, out)))
    if python:
        found += check_scripts(cushim, python, images, out)
    return found
