"""Run in a process of its own: a server whose model takes minutes to load."""

import time

from export.server import running
from kbert.cli import script


def load(*unused, **options):
    print("loading", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    running.DevelopmentServer = load
    script.run(lambda: running.serve_until_signal("none", "m"))
