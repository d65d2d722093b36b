"""Starts several processes that find each other by TF_CONFIG, on ports of this machine."""

import json
import os

from tests.free_ports import free_ports
from tests.warm_processes import WarmProcess


def run_workers(number: int, module: str, *arguments: str, timeout: float = 600) -> list[str]:
    """The standard output of every worker; all must end without an error.

    Args:
      number: how many workers; 1 is a process without TF_CONFIG.
      module: what `python -m` runs.
      *arguments: its command line.
      timeout: seconds for each.
    """
    workers = start_workers(number, module, *arguments)
    try:
        outputs = [worker.communicate(timeout=timeout) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, (_, errors) in zip(workers, outputs, strict=True):
        assert worker.returncode == 0, errors[-3000:]
    return [output for output, _ in outputs]


def start_workers(number: int, module: str, *arguments: str, last=()) -> list[WarmProcess]:
    """The running processes; `last`: further arguments of the last one."""
    addresses = [f"localhost:{port}" for port in free_ports(number)]
    workers = []
    for index in range(number):
        environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
        if number > 1:
            task = {"type": "worker", "index": index}
            environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": task})
        own = last if index == number - 1 else ()
        workers.append(WarmProcess(module, *arguments, *own, environment=environment))
    return workers
