"""Small programs with earlier versions of Python's CUDA packages on the CPU, by the table c-tests/python/versions.json.

The table has for each stack programs, each with the lines that it must print (others may be between them), and versions. A version has
`packages`, and where needed: `environment`, variables; `sdist`, a package to build, with the `toolkit` of that release; `runtimes`,
archives of NVIDIA's runtime; `programs`, in place of the stack's; `known`, programs that do not run yet, with the reason.
"""

import json
import os
import shutil
import subprocess
import time

import skips
from stacks import ROOT, building, folder_of, install, runtimes

HERE = os.path.join(ROOT, "c-tests/python")
# Seconds for one program.
PROGRAM = 900


def check(chosen, cushim, keep):
    """Whether all programs of the chosen stacks (NAME or NAME=VERSION; none: all) are right; None if nothing could be installed."""
    with open(os.path.join(HERE, "versions.json"), encoding="utf-8") as file:
        table = json.load(file)
    pairs = [(name, version) for name, stack in table.items() for version in stack["versions"]]
    wanted = [(name, version) for name, version in pairs if not chosen or name in chosen or "%s=%s" % (name, version) in chosen]
    unknown = set(chosen) - {part for name, version in pairs for part in (name, "%s=%s" % (name, version))}
    if unknown:
        raise SystemExit("python-check: no stack %s; there are %s" % (sorted(unknown)[0], ", ".join("%s=%s" % pair for pair in pairs)))
    results = []
    for name, version in wanted:
        results += one(name, version, table[name], cushim)
        if not keep:
            shutil.rmtree(folder_of("%s-%s" % (name, version)), ignore_errors=True)
    return all(results) if results else None


def one(name, version, stack, cushim):
    """Whether each program of one version is right; nothing if the version cannot be installed."""
    about = stack["versions"][version]
    place = "%s-%s" % (name, version)
    python = install(place, about["packages"])
    if python is None or runtimes(place, about.get("runtimes", [])) is None:
        return []
    folder = folder_of(place)
    own = {"HOME": folder, "CUPY_CACHE_DIR": folder + "/kernels", "TRITON_CACHE_DIR": folder + "/kernels"}
    own.update({"CUSHIM_CUDART_STATIC": folder + "/runtimes"} if "runtimes" in about else {})
    own.update(about.get("environment", {}))
    if "sdist" in about:
        build = building(python, folder + "/links", about["toolkit"])
        if build is None or not built(place, python, about["sdist"], dict(os.environ, HOME=folder, **build)):
            return []
        own.update(build)
    print("%s %s: %s" % (name, version, installed(python)), flush=True)
    answers = []
    for program, expected in about.get("programs", stack["programs"]).items():
        started = time.monotonic()
        wrong = run([cushim, "run", "--backend", "cpu", python, os.path.join(HERE, program)], dict(os.environ, **own), expected)
        known = about.get("known", {}).get(program)
        said = "right" if wrong is None else ("known (%s): " % known if known else "WRONG: ") + wrong
        print("%s %s: %s: %s (%.0f s)" % (name, version, program, said, time.monotonic() - started), flush=True)
        answers.append(wrong is None or known is not None)
    return answers


def run(command, environment, expected):
    """What is wrong with a program's output or end; None: nothing."""
    try:
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                             timeout=PROGRAM, check=False)
    except subprocess.TimeoutExpired:
        return "took more than %d s" % PROGRAM
    at = 0
    for line in ran.stdout.splitlines():
        at += at < len(expected) and line.rstrip() == expected[at]
    if at == len(expected) and ran.returncode == 0:
        return None
    missed = "no line `%s`, printed: %s; " % (expected[at], " | ".join(ran.stdout.splitlines()[-8:])) if at < len(expected) else ""
    return "%sended with %d: %s" % (missed, ran.returncode, " | ".join(ran.stderr.strip().splitlines()[-4:]))


def built(name, python, package, environment):
    ran = subprocess.run([python, "-m", "pip", "install", "-q", package], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    if ran.returncode:
        errors = [line.strip() for line in ran.stdout.splitlines() if "error:" in line]
        skips.left_out("python-check: %s cannot be built: %s" % (name, " | ".join(errors[:2])))
    return ran.returncode == 0


def installed(python):
    """The packages that matter for a result, with their versions, since some are not pinned."""
    ran = subprocess.run([python, "-m", "pip", "list", "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
    telling = ("numba", "numpy", "cupy", "triton", "torch", "jax", "warp", "cuda", "pycuda", "taichi", "nvidia-cu", "nvidia-nvjit", "nvidia-nvvm",
               "xgboost", "catboost", "ctranslate2", "qiskit", "tinygrad", "bitsandbytes", "ctransformers", "gguf")
    names = [(package["name"], package["version"]) for package in json.loads(ran.stdout or "[]")]
    return ", ".join("%s %s" % pair for pair in names if pair[0].lower().startswith(telling))
