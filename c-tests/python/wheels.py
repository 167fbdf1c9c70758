"""Libraries of NVIDIA's wheels, for packages that open them by name and leave the folder to LD_LIBRARY_PATH."""

import ctypes
import glob
import os
import sysconfig


def path(name):
    """The file of that name, or of a pattern's, in the folders of NVIDIA's wheels."""
    found = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", "lib", name))
    if not found:
        raise SystemExit("no wheel of NVIDIA's has %s" % name)
    return found[0]


def load(*names):
    """Loads the libraries, so that whoever opens or links one by name gets it."""
    return [ctypes.CDLL(path(name), mode=ctypes.RTLD_GLOBAL) for name in names]
