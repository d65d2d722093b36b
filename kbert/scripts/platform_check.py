"""Says in one sentence when this Python or machine cannot run kbert, before anything is installed."""

import platform
import struct
import sys

# What tensorflow 2.21 and tensorflow-text 2.21.1 publish wheels for.
SUPPORTED = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64")}


def problem(version, bits, system, machine):
    """The sentence, or None when all is well."""
    if not (3, 11) <= version < (3, 14):
        return (
            "kbert needs Python 3.11, 3.12 or 3.13, and this is %d.%d; name another one: "
            "make PYTHON=python3.12 quickstart" % version
        )
    if bits != 64:
        return "kbert needs a 64-bit Python, and this one has %d bits; TensorFlow has no other." % bits
    if (system, machine) not in SUPPORTED:
        return (
            "kbert runs on Linux (x86_64, aarch64) and macOS (arm64), and this is %s %s: "
            "tensorflow-text has no package for it." % (system, machine)
        )
    return None


if __name__ == "__main__":
    sentence = problem(sys.version_info[:2], struct.calcsize("P") * 8, platform.system(), platform.machine())
    if sentence:
        sys.exit("error: " + sentence)
