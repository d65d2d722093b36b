import operator
import os
import signal
import subprocess
import sys

import pytest

from tests.places import REPOSITORY
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


@pytest.mark.skipif(sys.platform == "darwin", reason="no fork server there")
def test_a_folder_called_kbert_in_the_current_folder_is_no_code(tmp_path):
    (tmp_path / "kbert").mkdir()
    (tmp_path / "kbert" / "__init__.py").write_text("raise SystemExit(3)")
    script = tmp_path / "scripts" / "negative.py"
    script.parent.mkdir()
    script.write_text(
        f"import operator, os, sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tfrecords_tools.work.worker_pool import WorkerPool\n"
        "if __name__ == '__main__':\n    with WorkerPool(2, ()) as pool:\n"
        "        print(list(pool.map(operator.neg, [1, 2])), 'PYTHONSAFEPATH' in os.environ)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    asked = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert asked.stdout == "[-1, -2] False\n", asked.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="no fork server there")
def test_a_temporary_folder_whose_path_no_socket_can_have_is_named(tmp_path, monkeypatch):
    folder = tmp_path / ("t" * 90)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    program = "from tfrecords_tools.work import worker_pool as w\nwith w.WorkerPool(2, ()): print('works')"
    command = [sys.executable, "-c", program]
    asked = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    sentence = f"ValueError: TMPDIR={folder} is too long for the socket of worker processes; set a shorter"
    assert asked.stdout == "works\n" or sentence in asked.stderr  # as releases of Python from 2025 do
