"""Run in a process of its own: a server whose models never finish loading."""

import time

from export.server import running
from export.server.models.model_settings import ModelSettings
from kbert.cli import script


def load(models, options):
    print("loading", flush=True)
    time.sleep(600)


def main():
    running.Server = load
    running.serve_until_signal([ModelSettings("m", "none")], None)


if __name__ == "__main__":
    script.run(main)
