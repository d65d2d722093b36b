"""Loads TensorFlow once, then forks a process for every script that it is asked to run.

Its orders are lines of JSON on the standard input; it ends when that is closed. Nothing of TensorFlow is used
before a fork, because a fork would lose TensorFlow's threads.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import sys
from pathlib import Path

# What scripts import before TensorFlow; nothing of it reads the environment.
import kbert.checkpoints.formats
import kbert.cli.progress
import kbert.cli.script
import kbert.experiments.finetuning
from kbert.cli import quiet_tensorflow
from kbert.tokenization.text_ops import import_tf_text

quiet_tensorflow.load_less()  # as every command does
for name in ("keras", "safetensors"):
    importlib.import_module(name)
import_tf_text()
gc.freeze()  # a process that looks at all of this, if only at its end, takes 0.3 seconds longer

# Tests compare what a script writes, which must not depend on how busy the machine is.
kbert.cli.progress.SECONDS_IN_A_FILE = 3600.0


def serve():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the guards
    for line in iter(sys.stdin.readline, ""):
        if os.fork() == 0:
            return _guard(json.loads(line))


def _guard(order):
    """Forks the script's process, and writes its exit code to a file."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    folder = Path(order["folder"])
    process = os.fork()
    if process == 0:
        return _become(order, folder)
    _write(folder / "pid", process)
    _, status = os.waitpid(process, 0)
    _write(folder / "exit_code", os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(order, folder):
    os.environ.clear()
    os.environ.update(order["environment"])
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        opened = os.open(folder / name, os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8")  # what was read ahead is not this process's
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _write(path, number):
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_text(str(number))
    aside.rename(path)


if __name__ == "__main__":
    serve()
