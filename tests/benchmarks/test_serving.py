import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from absl import flags

from benchmarks import serving
from benchmarks.workers.contestants import Contestant, Record, alternate

_REPOSITORY = Path(__file__).resolve().parents[2]
_WORKER = """
import sys
sys.path.insert(0, {peers!r})
from turns import Turns
turns = Turns()
turns.ready()
turns.answer_batches(lambda texts: __import__("numpy").array([[len(text), 1] for text in texts], float))
"""


@pytest.fixture(scope="module", autouse=True)
def flag_values():
    if "num_batches" not in flags.FLAGS:
        serving.define_flags()
    flags.FLAGS(["serving", "--num_batches=2"])


def test_a_worker_answers_each_batch_of_each_size_in_every_round():
    command = [sys.executable, "-c", _WORKER.format(peers=str(_REPOSITORY / "benchmarks" / "peers"))]
    sizes = {1: [["a"], ["bb"]], 2: [["ccc", "dddd"], ["e", "f"]]}
    worker = Contestant("one", command, {"batches": sizes, "rounds": 3}, threads=1)
    try:
        alternate([worker], None, 2)
    finally:
        worker.close()
    assert [step["size"] for step in worker.record.steps] == [1, 1, 2, 2] * 3
    assert worker.record.result == {"answers": [[n, 1] for n in (1, 2, 3, 4, 1, 1)]}


def test_the_first_round_does_not_count():
    steps = [{"seconds": s, "size": size} for s in (9.0, 0.001, 0.003) for size in (1, 1, 8, 8)]
    found = serving.figures(Record({}, steps, {"answers": []}, 10.0), [1, 8])
    assert found["medians"] == {1: pytest.approx(2.0), 8: pytest.approx(2.0)}
    result = found | {"agreement": 1.0, "max_difference": 0.25}
    head, line, row = serving.table({"one": result | {"megabytes": 1234.5}}, [1, 8]).splitlines()
    assert head == "| ms | batch 1 | batch 8 | labels agree | largest difference | peak MB |"
    assert row == "| one | 2.0 | 2.0 | 100.0 % | 0.2 | 1,234 |"
    assert head.count("|") == line.count("|") == row.count("|")


def test_answers_are_compared_with_hugging_face_in_float32():
    results = {
        "kbert/bfloat16": {"answers": [[0.6, 0.4], [0.4, 0.6]]},
        "hugging_face/float32": {"answers": [[0.9, 0.1], [0.6, 0.4]]},
    }
    serving.compare(results)
    assert results["kbert/bfloat16"]["agreement"] == 0.5
    assert results["kbert/bfloat16"]["max_difference"] == pytest.approx(0.3)
    assert results["hugging_face/float32"] == {"agreement": 1.0, "max_difference": 0.0}


def test_texts_have_mixed_lengths_and_no_batch_shares_one():
    texts = serving.mixed_texts(None)
    assert len(set(texts)) == len(texts) > 1000 and texts == serving.mixed_texts(None)
    lengths = np.array([len(text) for text in texts])
    assert lengths.min() >= 20 and lengths.max() <= 400 and lengths.std() > 40
    first, second = serving.batches(texts, 32)
    assert len(first) == 32 and not set(first) & set(second)
    with pytest.raises(ValueError, match="2 batches of 2 need 4 texts of 20 to 400 characters, there are 3"):
        serving.batches(texts[:3], 2)


@pytest.mark.parametrize(
    "name", ["kbert/int8", "onnx_runtime/int8+frozen", "hugging_face/float32+frozen", "x"]
)
def test_unknown_contestants_are_refused(name):
    with pytest.raises(ValueError, match="choose among kbert/float32, kbert/bfloat16, hugging_face/float32"):
        serving.checked(name)


def test_a_wrong_flag_ends_with_one_sentence():
    command = [sys.executable, "-m", "benchmarks.serving", "--hugging_face_python=/no/python"]
    ended = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: --hugging_face_python=/no/python does not exist")
