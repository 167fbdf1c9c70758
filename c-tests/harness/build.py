"""Compiles the CUDA test programs with nvcc or clang.

Objects are shared between variants that differ only in the runtime they are
linked with. Knows nothing of running or checking the results.
"""

import concurrent.futures
import glob
import os
import re
import shutil
import subprocess

from programs import CUDA, Variant, variants, version

NO_STATIC = "no static runtime"


class BuildError(Exception):
    """A compiler failed: the command and its output."""


def run(command, env=None):
    """Runs a compiler; BuildError with its output when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=env)
    if done.returncode != 0:
        raise BuildError("%s\n%s" % (" ".join(command), done.stdout.strip()))
    return done.stdout


def host_cxx():
    """The C++ compiler for sources without CUDA."""
    return os.environ.get("CXX") or "g++"


class Nvcc:
    """One nvcc: its version, folders and flags for each axis of a variant."""

    def __init__(self, nvcc, arch=None):
        self.nvcc = nvcc
        home = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
        said = run([nvcc, "--version"])
        release = re.search(r"release (\d+\.\d+)", said)
        if not release:
            raise BuildError("%s --version names no release: %s" % (nvcc, said.strip()))
        self.version = version(release.group(1))
        # The lowest architecture that both the cooperative launch and the toolkit allow.
        self.arch = arch or ("sm_75" if self.version >= (13, 0) else "sm_70")
        folders = [os.path.join(home, d) for d in ("lib64", "targets/x86_64-linux/lib", "lib")]
        folders.append("/usr/lib/x86_64-linux-gnu")
        # The wheels have the library, but not the link that the linker looks for.
        have = [(d, sorted(glob.glob(os.path.join(d, "libcudart.so*")), key=len)) for d in folders]
        self.lib, libraries = next(((d, found) for d, found in have if found), (folders[0], []))
        self.runtime = libraries[0] if libraries and not libraries[0].endswith(".so") else None
        self.help = run([nvcc, "--help"])
        # Whether this toolkit represents the others where one is enough; otherwise its index among the others.
        self.newest, self.older = True, None

    def has(self, variant, program, every=False):
        """Whether this toolkit makes the variant; the reason if not. `every`: also
        variants for which another toolkit is used."""
        if self.version < program.minimum():
            return "needs CUDA %d.%d" % program.minimum()
        if variant.runtime == "static" and not os.path.exists(os.path.join(self.lib, "libcudart_static.a")):
            return NO_STATIC
        if not self.newest and not every:
            if program.kind == "compute":
                return "the code is that of the newest toolkit"
            if program.kind == "semantics" and self.version[0] == 12:
                return "what differs differs between 11 or 12 and 13"
            if program.kind == "semantics" and variant.runtime == "static":
                return "the static runtime is that of the newest toolkit"
        if variant.compression == "zstd" and "--compress-mode" not in self.help:
            return "this nvcc writes no zstd"
        return None

    def arch_for(self, program):
        """The requested architecture, or a later one that the program needs."""
        least = program.options.get("arch", self.arch)
        # sm_90a has all features of sm_90, and some that no later device has.
        number = [(int(re.sub(r"\D", "", arch)), arch.endswith("a")) for arch in (self.arch, least)]
        return self.arch if number[0] >= number[1] else least

    def arch_flag(self, arch):
        """The flags for machine code and PTX; for code for one device only (sm_90a) nvcc 13 adds PTX for all to -arch."""
        if not arch.endswith("a"):
            return "-arch=%s" % arch
        return "-gencode=arch=%s,code=[%s,%s]" % (arch.replace("sm_", "compute_"), arch, arch.replace("sm_", "compute_"))

    def flags(self, variant, program):
        """Flags for both compiling and linking."""
        flags = ["-std=c++17", self.arch_flag(self.arch_for(program)), "-rdc=%s" % ("true" if variant.link == "rdc" else "false")]
        flags.append("-default-stream=%s" % ("per-thread" if variant.stream == "perthread" else "legacy"))
        new = "--compress-mode" in self.help
        flags += {
            "default": [],
            "none": ["-no-compress"],
            "lz4": (["--compress-mode=speed"] if new else []) + ["-Xfatbin", "-compress-all"],
            "zstd": ["--compress-mode=size", "-Xfatbin", "-compress-all"],
        }[variant.compression]
        if "lambda" in program.options:
            flags.append("--extended-lambda")
        # Some releases announce the end of sm_70: no concern of the tests.
        return flags + ["-Wno-deprecated-gpu-targets"]

    def compile(self, variant, program, source, out, shared=False):
        """Source file to object."""
        run([self.nvcc, "-c", "-O1"] + self.flags(variant, program) + (["-Xcompiler=-fPIC"] if shared else [])
            + [source, "-o", out])

    def link(self, variant, program, objects, out, libs, shared=False):
        """Objects to program or shared library."""
        by_name = variant.runtime == "shared" and self.runtime
        command = [self.nvcc, "-cudart=%s" % ("none" if by_name else variant.runtime)]
        command += self.flags(variant, program) + objects
        if by_name:
            libs = libs + ["-Xlinker=" + self.runtime]
        command += ["-o", out, "-Xlinker=-rpath=%s" % self.lib] + libs
        run(command + (["-shared"] if shared else []))

    def cubin(self, source, out):
        """Source file to machine code for one architecture."""
        run([self.nvcc, "-cubin", "-arch=%s" % self.arch, source, "-o", out])


class Clang:
    """clang with a CUDA folder. Its two offloading drivers are on the compression
    axis: the old one writes LZ4 PTX and a cubin, the new one a plain cubin."""

    def __init__(self, clang, cuda, arch=None):
        self.clang, self.cuda = clang, cuda
        self.arch = arch or "sm_70"
        self.newest, self.older = False, 0
        self.version = Nvcc(os.path.join(cuda, "bin/nvcc")).version
        self.lib = os.path.join(cuda, "lib64")
        self.include = os.path.join(os.path.dirname(os.path.dirname(clang)), "cuda-include")
        # clang's wrapper looks for nvlink on PATH only.
        self.env = dict(os.environ, PATH=os.path.join(cuda, "bin") + os.pathsep + os.environ.get("PATH", ""))

    def has(self, variant, program, every=False):
        """Whether clang makes the variant; the reason if not."""
        if program.kind:
            return "no question of the compiler"
        if program.options.get("clang") == "no":
            return "not for clang"
        if self.version < program.minimum():
            return "needs CUDA %d.%d" % program.minimum()
        if variant.compression == "zstd":
            return "clang writes no zstd"
        if variant.runtime == "static" and not os.path.exists(os.path.join(self.lib, "libcudart_static.a")):
            return NO_STATIC
        return None

    def flags(self, variant):
        """Flags for both compiling and linking."""
        new = variant.compression == "none" or variant.link == "rdc"
        flags = ["-std=c++17", "-I" + self.include, "--cuda-path=" + self.cuda, "--cuda-gpu-arch=" + self.arch]
        flags += ["-Wno-unknown-cuda-version", "--offload-new-driver" if new else "--no-offload-new-driver"]
        if variant.link == "rdc":
            flags.append("-fgpu-rdc")
        elif variant.compression == "lz4":
            flags += ["-Xcuda-fatbinary", "--compress-all"]
        return flags

    def compile(self, variant, program, source, out, shared=False):
        """Source file to object."""
        stream = ["-fgpu-default-stream=per-thread"] if variant.stream == "perthread" else []
        run([self.clang, "-c", "-O1"] + self.flags(variant) + stream + (["-fPIC"] if shared else [])
            + ["-x", "cuda", source, "-o", out], self.env)

    def link(self, variant, program, objects, out, libs, shared=False):
        """Objects to program or shared library."""
        runtime = "-lcudart" if variant.runtime == "shared" else "-lcudart_static"
        command = [self.clang] + self.flags(variant) + (["--offload-link"] if variant.link == "rdc" else [])
        command += objects + ["-o", out, "-L" + self.lib, "-Wl,-rpath=" + self.lib] + libs
        run(command + [runtime, "-ldl", "-lrt", "-pthread", "-Wno-unused-command-line-argument"]
            + (["-shared"] if shared else []), self.env)

    def cubin(self, source, out):
        """Source file to machine code for one architecture."""
        run([self.clang, "-x", "cuda", "--cuda-device-only", "-I" + self.include, "--cuda-path=" + self.cuda,
             "--cuda-gpu-arch=" + self.arch, "-Wno-unknown-cuda-version", "-c", source, "-o", out], self.env)


def driver_stub(objects, folder):
    """A libcuda.so to link with, if no driver is installed: it defines only
    the driver functions that the objects need. Never loaded at run time."""
    names = set()
    for line in run(["nm", "-u"] + objects).splitlines():
        symbol = re.search(r"\bU (cu[A-Z]\w*)$", line)
        if symbol:
            names.add(symbol.group(1))
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, "stub.c")
    with open(source, "w") as text:
        text.writelines("int %s(void) { return 34; }\n" % name for name in sorted(names))
    run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", source, "-o", os.path.join(folder, "libcuda.so")])
    return ["-L" + folder, "-lcuda"]


class Job:
    """All variants of one program with one compiler."""

    def __init__(self, compiler, program, which, out):
        self.compiler, self.program, self.out = compiler, program, out
        self.skipped, self.wanted = [], []
        for variant in variants(which, program, compiler.older):
            why = compiler.has(variant, program, which in ("each", "full"))
            if which == "core" and program.kind and not compiler.newest:
                why = "in this set the newest toolkit stands for the others"
            if why == NO_STATIC:
                # Its other axes are useful all the same.
                shared = Variant("shared", variant.stream, variant.link, variant.compression)
                if str(shared) not in map(str, variants(which, program, compiler.older)):
                    variant, why = shared, compiler.has(shared, program, which in ("each", "full"))
            if why:
                self.skipped.append((str(variant), why))
            else:
                self.wanted.append(variant)

    def run(self):
        """Builds programs that are older than their sources; returns the paths."""
        sources = self.program.sources + self.program.options.get("plugins", "").split(",")
        headers = glob.glob(os.path.join(CUDA, "*.h")) + glob.glob(os.path.join(CUDA, self.program.kind, "*.h"))
        newest = max(os.path.getmtime(os.path.join(CUDA, s)) for s in sources + headers if s)
        objects, made = {}, []
        for variant in self.wanted:
            folder = os.path.join(self.out, str(variant))
            target = os.path.join(folder, self.program.name)
            made.append((variant, target))
            if os.path.exists(target) and os.path.getmtime(target) > newest:
                continue
            os.makedirs(folder, exist_ok=True)
            if "plugins" in self.program.options:
                self.plugins(variant, folder, objects)
                run([host_cxx(), "-std=c++17", os.path.join(CUDA, self.program.sources[0]), "-o", target, "-ldl"])
                continue
            files = [self.object(variant, s, objects) for s in self.program.sources]
            libs = []
            if self.program.options.get("libs") == "cuda":
                libs = driver_stub(files, os.path.join(self.out, ".stub", self.program.name + str(variant)))
            self.compiler.link(variant, self.program, files, target, libs)
            if "cubin" in self.program.options:
                source = os.path.join(CUDA, self.program.options["cubin"])
                cubin = os.path.join(folder, os.path.basename(self.program.options["cubin"]).replace(".cu", ".cubin"))
                partial = "%s.%s" % (cubin, self.program.name)
                self.compiler.cubin(source, partial)
                os.replace(partial, cubin)
        return made

    def object(self, variant, source, objects, shared=False):
        """The object of a source file, compiled once and shared by variants."""
        key = (variant.stream, variant.link, variant.compression, source)
        if key not in objects:
            folder = os.path.join(self.out, ".objects", "-".join(key[:3]))
            os.makedirs(folder, exist_ok=True)
            objects[key] = os.path.join(folder, source.replace("/", "-") + ".o")
            self.compiler.compile(variant, self.program, os.path.join(CUDA, source), objects[key], shared)
        return objects[key]

    def plugins(self, variant, folder, objects):
        """The shared libraries of a program that loads them."""
        for source in self.program.options["plugins"].split(","):
            part = self.object(variant, source, objects, shared=True)
            library = os.path.join(folder, "lib%s.so" % os.path.basename(source)[: -len(".cu")])
            self.compiler.link(variant, self.program, [part], library, [], shared=True)


def build(jobs, say):
    """Runs jobs, as many at a time as there are cores.

    Returns the programs made, [(Program, Variant, path)], and the failures,
    [(program name, message)]."""
    made, failures = [], []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        running = {pool.submit(job.run): job for job in jobs if job.wanted}
        for future in concurrent.futures.as_completed(running):
            job = running[future]
            try:
                done = future.result()
                made += [(job.program, variant, path) for variant, path in done]
                say("%s: %d variants" % (job.program.name, len(done)))
            except (BuildError, OSError) as error:
                failures.append((job.program.name, str(error)))
                say("%s: FAILED\n%s" % (job.program.name, "\n".join(str(error).splitlines()[:6])))
    for job in jobs:
        shutil.rmtree(os.path.join(job.out, ".objects"), ignore_errors=True)
        shutil.rmtree(os.path.join(job.out, ".stub"), ignore_errors=True)
    made.sort(key=lambda m: (m[0].name, str(m[1])))
    return made, failures
