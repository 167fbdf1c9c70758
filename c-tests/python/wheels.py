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
    """A folder whose `include` has the headers of all wheels, for this process."""
    home = tempfile.TemporaryDirectory()
    os.mkdir(home.name + "/include")
    for header in glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", "include", "*")):
        place = os.path.join(home.name, "include", os.path.basename(header))
        if not os.path.exists(place):
            os.symlink(header, place)
    return home
