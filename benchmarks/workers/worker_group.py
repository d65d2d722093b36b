"""Several worker processes that take every step together: one contestant of an alternating benchmark."""

import contextlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor

from benchmarks.workers.contestants import Contestant, Record


class WorkerGroup:
    """Workers that find each other by TF_CONFIG, each on cores of its own; has what `alternate` needs.

    Args:
      name: its name in tables.
      command: starts one worker.
      settings: sent to every worker, with `tf_config` in addition.
      number: how many workers, one core each.
    """

    def __init__(self, name: str, command: list[str], settings: dict, number: int):
        self.name = name
        addresses = [f"localhost:{port}" for port in _free_ports(number)]
        self._pool = ThreadPoolExecutor(number)
        self._started: dict[int, Contestant] = {}

        def start(index):
            task = {"type": "worker", "index": index}
            own = {"tf_config": json.dumps({"cluster": {"worker": addresses}, "task": task})}
            name_of_one = f"{name}, worker {index}"
            self._started[index] = Contestant(
                name_of_one, command, settings | own, threads=1, first_core=index
            )

        try:
            # Each is ready only when all have met.
            list(self._pool.map(start, range(number)))
        except BaseException:
            self.close()
            raise

    @property
    def _workers(self) -> list[Contestant]:
        """In the order of their numbers, whichever was ready first."""
        return [self._started[index] for index in sorted(self._started)]

    @property
    def is_done(self) -> bool:
        return any(worker.is_done for worker in self._workers)

    @property
    def record(self) -> Record:
        """The group as one: the slowest worker's seconds, the CPU seconds and the memory of all."""
        records = [worker.record for worker in self._workers]
        steps = [
            of_all[0]
            | {"seconds": max(step["seconds"] for step in of_all)}
            | {"cpu_seconds": sum(step["cpu_seconds"] for step in of_all)}
            for of_all in zip(*(record.steps for record in records), strict=True)
        ]
        return Record(records[0].facts, steps, None, sum(record.peak_megabytes for record in records))

    def take_turn(self, num_steps: int):
        """Lets all workers take `num_steps` steps together."""
        list(self._pool.map(lambda worker: worker.take_turn(num_steps), self._workers))

    def close(self):
        """Ends all workers at once: TensorFlow's wait for each other."""
        list(self._pool.map(Contestant.close, self._workers))
        self._pool.shutdown()


def _free_ports(number) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(number)]
        return [one.getsockname()[1] for one in sockets]
