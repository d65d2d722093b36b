"""Checks, before anything is installed, that this Python and this machine can run kbert."""

import platform
import struct
import sys

# The platforms that tensorflow 2.21 and tensorflow-text 2.21.1 publish wheels for.
SUPPORTED = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64")}


def problem(version, bits, system, machine):
    """A sentence that says why kbert cannot run here, or None if it can."""
    if not (3, 11) <= version < (3, 14):
        return (
            "kbert needs Python 3.11, 3.12 or 3.13, but this is %d.%d; choose another one: "
            "make PYTHON=python3.12 quickstart" % version
        )
    if bits != 64:
        return "kbert needs a 64-bit Python, as TensorFlow does, but this one has %d bits." % bits
    if (system, machine) not in SUPPORTED:
        return (
            "kbert runs on Linux (x86_64, aarch64) and macOS (arm64), but this is %s %s: "
            "tensorflow-text has no package for it." % (system, machine)
        )
    return None


if __name__ == "__main__":
    sentence = problem(sys.version_info[:2], struct.calcsize("P") * 8, platform.system(), platform.machine())
    if sentence:
        sys.exit("error: " + sentence)
