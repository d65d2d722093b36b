"""What the benchmarks of answers share: texts of mixed lengths, times by size, and how answers differ."""

import pydoc_data.topics
import random
import statistics

import numpy as np

from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers.contestants import alternate, started

SHORTEST, LONGEST = 20, 400


def mixed_texts(number: int) -> list[str]:
    """Different sentences of Python's own manual, of 20 to 400 characters, in a fixed random order.

    Raises:
      ValueError: when there are not so many.
    """
    pages = " \n".join(pydoc_data.topics.topics.values()).split("\n\n")
    texts = [text for page in pages for text in " ".join(page.split()).split(". ")]
    texts = sorted({text for text in texts if SHORTEST <= len(text) <= LONGEST})
    if len(texts) < number:
        raise ValueError(f"Python's manual has {len(texts)} sentences of mixed lengths; ask for no {number}.")
    random.Random(1).shuffle(texts)
    return texts[:number]


def median_milliseconds(steps: list[dict], rounds: int) -> dict[int, float]:
    """Size of a batch -> the median of its steps.

    Args:
      steps: of a worker that called `Turns.answer_batches`, `rounds` rounds.
      rounds: the first of them does not count.
    """
    timed = steps[len(steps) // rounds :]
    return {
        size: 1e3 * statistics.median(step["seconds"] for step in timed if step["size"] == size)
        for size in dict.fromkeys(step["size"] for step in timed)
    }


def differences(answers, expected) -> dict[str, float]:
    """`max_difference` of a number, and `agreement`: the share of rows with the same largest one."""
    answers, expected = np.array(answers), np.array(expected)
    return {
        "max_difference": float(np.abs(answers - expected).max()),
        "agreement": float((answers.argmax(-1) == expected.argmax(-1)).mean()),
    }


def compare_answers(benchmark: str, contestants, settings: dict, reference: str):
    """Times contestants in turns, and closes the benchmark with the table of `answer_figures`.

    Args:
      benchmark: its name, which is that of its workers too.
      contestants: of `chosen_contestants`.
      settings: of the workers; `rounds`, of which the first does not count, and one batch.
      reference: as of `answer_figures`.
    """
    print(machine(), flush=True)
    with started(contestants, benchmark, settings) as workers:
        alternate(workers, None, 1)
        records = {worker.name: worker.record for worker in workers}
    rows = answer_figures(records, settings["rounds"], reference)
    print(answer_table(rows))
    print(beside_best_peer({name: row["texts_per_second"] for name, row in rows.items()}))
    close(benchmark, rows)


def answer_figures(records: dict, rounds: int, reference: str) -> dict:
    """name -> texts_per_second, max_difference (of a number), peak_megabytes.

    Args:
      records: name -> `Record` of a worker that called `Turns.answer_batches`.
      rounds: the first of them does not count.
      reference: whose answers are the expected ones; the first contestant's where it does not take part.
    """
    answers = {name: record.result["answers"] for name, record in records.items()}
    expected = answers.get(reference, next(iter(answers.values())))
    rows = {}
    for name, record in records.items():
        ((size, milliseconds),) = median_milliseconds(record.steps, rounds).items()
        rows[name] = {
            "texts_per_second": 1e3 * size / milliseconds,
            "max_difference": differences(answers[name], expected)["max_difference"],
            "peak_megabytes": record.peak_megabytes,
        }
    return rows


def answer_table(rows: dict) -> str:
    """A Markdown table of `answer_figures`."""
    return markdown(
        ["", "texts/s", "largest difference", "peak MB"],
        [
            [
                name,
                f"{row['texts_per_second']:.0f}",
                f"{row['max_difference']:.1g}",
                f"{row['peak_megabytes']:,.0f}",
            ]
            for name, row in rows.items()
        ],
    )
