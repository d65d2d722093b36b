import operator
import os
import signal

import pytest

from tfrecords_tools.work import worker_pool
from tfrecords_tools.work.worker_pool import BYTES_WORTH_A_WORKER, WorkerPool, workers_worth


def test_a_small_corpus_is_worth_no_second_process(monkeypatch):
    monkeypatch.setattr(worker_pool, "num_cores", lambda: 3)
    sizes = [0, BYTES_WORTH_A_WORKER - 1, BYTES_WORTH_A_WORKER, 2 * BYTES_WORTH_A_WORKER, 1 << 40]
    assert [workers_worth(size) for size in sizes] == [1, 1, 2, 3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2])
def test_answers_come_in_the_order_of_the_items(num_workers):
    with WorkerPool(num_workers) as pool:
        assert list(pool.map(operator.neg, range(50))) == [-i for i in range(50)]
        assert list(pool.map(abs, [])) == [], "the workers serve any number of maps"


@pytest.mark.slow
def test_an_error_of_a_worker_is_raised_here():
    with WorkerPool(2) as pool, pytest.raises(ZeroDivisionError):
        list(pool.map(operator.inv, [1, 2])) and list(pool.map(_one_over, [1, 0, 2]))


def _one_over(number):
    return 1 / number


def test_a_killed_worker_is_a_sentence():
    with WorkerPool(2) as pool:
        for items in ([0, 1], [1, 2]):  # the pool stays broken
            with pytest.raises(ChildProcessError, match="a worker process was killed, .* --num_workers"):
                list(pool.map(_killed_at_one, items))


def _killed_at_one(number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def test_items_are_drawn_as_they_are_needed():
    drawn = []

    def items():
        for number in range(1000):
            drawn.append(number)
            yield number

    with WorkerPool(2) as pool:
        answers = pool.map(operator.neg, items())
        next(answers)
        assert len(drawn) < 50
        answers.close()
