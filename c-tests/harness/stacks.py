"""Environments with Python's CUDA packages: what is installed in them, and what packages without a wheel are built with.

Each is a folder in target/python. This module knows nothing of what runs in them.
"""

import glob
import os
import shutil
import subprocess
import sys

import skips

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def folder_of(name):
    return os.path.join(ROOT, "target/python", name)


def install(name, packages):
    """The interpreter of the stack's environment, or None."""
    folder = folder_of(name)
    python = os.path.join(folder, "bin/python")
    done = os.path.join(folder, "installed")
    wanted = "\n".join(packages)
    if os.path.exists(done) and open(done, encoding="utf-8").read() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for command in ([sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "-q"] + packages):
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if ran.returncode:
            skips.left_out("python-check: %s cannot be installed: %s" % (name, (ran.stdout.strip().splitlines() or ["?"])[-1]))
            return None
    with open(done, "w", encoding="utf-8") as file:
        file.write(wanted)
    return python


def runtimes(name, versions):
    """A folder with NVIDIA's archives of these versions, which identify the runtime inside its libraries; None: they cannot be fetched."""
    folder = os.path.join(folder_of(name), "runtimes")
    for version in versions:
        place = os.path.join(folder, version)
        if not os.path.isdir(place):
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", place, "nvidia-cuda-runtime==" + version]
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
                skips.left_out("python-check: %s: nvidia-cuda-runtime %s cannot be installed" % (name, version))
                return None
    return folder


def building(python, links, release="13.5"):
    """The tools to build a package, and later its programs: the toolkit's nvcc, headers and libraries of wheels, in `links` by the names
    that linkers look for, and a libcuda to link with; None if they are not installed."""
    toolkit, driver = (os.path.join(ROOT, "target/toolkits", part) for part in ("cuda-" + release, "libcuda-550/lib64"))
    if not os.path.exists(toolkit + "/bin/nvcc") or not os.path.isdir(driver):
        return None
    wheels = os.path.join(os.path.dirname(python), "../lib/python3*/site-packages/nvidia/*")
    headers, libraries = glob.glob(wheels + "/include"), glob.glob(wheels + "/lib")
    os.makedirs(links, exist_ok=True)
    for library in glob.glob(wheels + "/lib/*.so.*"):
        link = os.path.join(links, os.path.basename(library).split(".so.")[0] + ".so")
        if not os.path.islink(link):
            os.symlink(os.path.abspath(library), link)
    return {"PATH": "%s/bin:%s" % (toolkit, os.environ.get("PATH", "")), "CUDA_ROOT": toolkit, "CPATH": ":".join(headers),
            "LIBRARY_PATH": "%s:%s" % (driver, links), "LD_LIBRARY_PATH": ":".join(libraries)}
