"""Libraries and headers of NVIDIA's wheels, for packages that look for those of an installed toolkit."""

import ctypes
import glob
import os
import sysconfig
import tempfile


def path(name):
    """The file of that name, or of a pattern's, in the folders of NVIDIA's wheels."""
    found = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", "lib", name))
    if not found:
        raise SystemExit("no wheel of NVIDIA's has %s" % name)
    return found[0]


def load(*names):
    """Loads the libraries, so that whoever opens or links one by name gets it."""
    return [ctypes.CDLL(path(name), mode=ctypes.RTLD_GLOBAL) for name in names]


def toolkit():
    """A folder for this process, whose `include` has the headers of all wheels, and `lib64` the libraries."""
    home = tempfile.TemporaryDirectory()
    for ours, pattern in (("include", "include/*"), ("lib64", "lib/*.so*")):
        os.mkdir(os.path.join(home.name, ours))
        for file in glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", pattern)):
            name = os.path.basename(file)
            for link in {name, name.split(".so.")[0] + ".so"} if ours == "lib64" else {name}:
                place = os.path.join(home.name, ours, link)
                if not os.path.exists(place):
                    os.symlink(file, place)
    return home
