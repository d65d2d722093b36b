"""Run in a process of its own: a server whose model takes minutes to load."""

import signal
import time

from export.server import running, served_model
from kbert.cli import script


def load(path, folder):
    folder.mkdir()
    print(folder, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    served_model._exported = load
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite may run under nohup
    script.run(lambda: running.serve_until_signal("none", "m", rest_api_port=0))
