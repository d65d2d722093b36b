"""Clients in a closed loop: each sends a request, compares the answer with the right one, sends the next."""

import dataclasses
import random
import threading
import time

import numpy as np

from export.client.serving_client import ServingClient


@dataclasses.dataclass
class Counts:
    """What became of the requests.

    Attributes:
        seconds: of each request that was answered.
        texts: how many were answered rightly.
        largest_difference: of a number of an answer from the right one.
        wrong: answers that differ by more than the tolerance.
        shed: requests that the server turned away because it was full.
        lost: requests that failed otherwise.
        hung: requests without an answer in time.
        failures: the first few messages of lost requests.
    """

    seconds: list[float] = dataclasses.field(default_factory=list)
    texts: int = 0
    largest_difference: float = 0.0
    wrong: int = 0
    shed: int = 0
    lost: int = 0
    hung: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: "Counts") -> None:
        """Adds the counts of another client."""
        self.seconds += other.seconds
        self.failures = (self.failures + other.failures)[:5]
        self.largest_difference = max(self.largest_difference, other.largest_difference)
        for name in ("texts", "wrong", "shed", "lost", "hung"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclasses.dataclass(frozen=True)
class RightAnswers:
    """Texts, and the answer to each of them alone.

    Attributes:
        texts: the texts.
        numbers: output name -> float32 (texts, ...).
        strings: output name -> object array of bytes (texts, ...).
        tolerance: by how much a number may differ.
    """

    texts: list[str]
    numbers: dict[str, np.ndarray]
    strings: dict[str, np.ndarray]
    tolerance: float

    def difference(self, rows: list[int], answer: dict[str, np.ndarray]) -> float:
        """The largest difference of an answer from the right one; infinite for other strings or shapes."""
        if answer.keys() != self.numbers.keys() | self.strings.keys():
            return float("inf")
        if any(answer[name].tolist() != right[rows].tolist() for name, right in self.strings.items()):
            return float("inf")
        if any(answer[name].shape != right[rows].shape for name, right in self.numbers.items()):
            return float("inf")
        return max(float(np.abs(answer[name] - right[rows]).max()) for name, right in self.numbers.items())


def run_clients(
    addresses: list[tuple[str, str]],
    model_name: str,
    right: RightAnswers,
    seconds: float,
    most_texts: int,
    timeout_seconds: float,
) -> Counts:
    """Runs one client for each of `addresses` (API and host:port) and adds up what they saw."""
    end, total, lock = time.monotonic() + seconds, Counts(), threading.Lock()

    def run(number: int) -> None:
        api, address = addresses[number]
        counts, generator = Counts(), random.Random(number)
        client = ServingClient(address, model_name, api, timeout_seconds=timeout_seconds, max_attempts=1)
        with client:
            while time.monotonic() < end:
                number_of_texts = generator.randint(1, most_texts)
                rows = [generator.randrange(len(right.texts)) for _ in range(number_of_texts)]
                _ask(client, right, rows, counts)
        with lock:
            total.add(counts)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(addresses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total


def _ask(client: ServingClient, right: RightAnswers, rows: list[int], counts: Counts) -> None:
    texts = np.empty(len(rows), object)
    texts[:] = [right.texts[row] for row in rows]
    began = time.perf_counter()
    try:
        answer = client.predict({"text": texts})
    except TimeoutError:
        counts.hung += 1
    except (ConnectionError, ValueError) as error:
        if "takes no more requests" in str(error):
            counts.shed += 1
            return
        counts.lost += 1
        counts.failures.append(str(error)[:300])
    else:
        counts.seconds.append(time.perf_counter() - began)
        difference = right.difference(rows, answer)
        counts.largest_difference = max(counts.largest_difference, difference)
        counts.texts += len(rows) if difference <= right.tolerance else 0
        counts.wrong += difference > right.tolerance
