"""Script: writes the list of ops that a release of TensorFlow Serving knows.

Run it with the Python of an environment that holds the TensorFlow and the TF-Text which that release is
built with. It needs nothing else, and nothing of kbert:

  make server-ops                                            # both lists that are stored
  .venv_server_2.20/bin/python export/gate/list_server_ops.py > export/gate/server_ops/2.20.txt

For a new release: add tests/export/servers/<release>.in with the two pins, run this, and add a line to
export/gate/server_releases.py.
"""

import sys
from importlib.metadata import version

# Registered everywhere, but their kernels call the Python process that made them; a server has none.
_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})

HEADER = """\
# Ops of TensorFlow {core} and TF-Text {text}, read by export/gate/server_releases.py.
#
# Written by export/gate/list_server_ops.py: the registry (C API TF_GetAllOpList) before and after
# `import tensorflow_text`; the difference is the second section. Left out: names that begin with "_" (the
# runtime's own, never in a saved graph), and PyFunc, PyFuncStateless, EagerPyFunc (a server has no Python).
"""


def main():
    import tensorflow as tf

    core = registered_ops()
    import tensorflow_text  # noqa: F401  registers its ops

    text = registered_ops() - core
    print(HEADER.format(core=tf.__version__, text=version("tensorflow-text")))
    print(f"# TensorFlow core {tf.__version__}: {len(core)} ops", *sorted(core), sep="\n")
    print(f"\n# TF-Text {version('tensorflow-text')}: {len(text)} ops", *sorted(text), sep="\n")


def registered_ops() -> set[str]:
    """The names in the registry of this process that a saved graph may hold."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    serialized = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    names = {op.name for op in op_def_pb2.OpList.FromString(serialized).op}
    return {name for name in names if not name.startswith("_")} - _PYTHON_OPS


if __name__ == "__main__":
    sys.exit(main())
