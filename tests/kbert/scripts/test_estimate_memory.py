"""estimate_memory: a table at once, without TensorFlow, and one sentence for wrong input."""

import json
import re
import subprocess
import sys

import pytest

from kbert.config import EncoderConfig
from kbert.training.measuring.memory_estimate import TrainingShape, estimate_memory, readable_bytes
from kbert.training.measuring.training_flops import Heads


def run_script(*flags):
    command = [sys.executable, "-m", "kbert.scripts.estimate_memory", *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True)


def row(output, name):
    """The cells of a table's row."""
    line = next(line for line in output.splitlines() if line.startswith(name))
    return re.split(r" {2,}", line.removeprefix(name).strip())


@pytest.fixture
def config_file(tmp_path):
    def write(**values):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(values))
        return path

    return write


def test_a_column_for_each_length_without_and_with_recomputation(config_file):
    path = config_file(encoder="bert_mini", train_batch_size=64, gradient_accumulation_steps=2)
    result = run_script(f"--config={path}", "--length=128,512", "--predictions=20", "--memory_gib=2")
    assert result.returncode == 0, result.stderr
    head = "4 layers, 256 wide, 11,267,900 parameters, float32; --memory_gib has 2.0 GiB"
    assert result.stdout.splitlines()[0] == head
    mini = EncoderConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    expected, fits = [], []
    for length in (128, 512):
        for recompute in (False, True):
            shape = TrainingShape(
                32, length, 20, Heads(masked_lm=True, pooled_labels=2), recompute=recompute, accumulates=True
            )
            total = estimate_memory(mini, shape).total
            expected.append(readable_bytes(total))
            fits.append("yes" if total <= 2 * 2**30 else "NO")
    assert row(result.stdout, "tokens") == ["32 x 128", "32 x 128", "32 x 512", "32 x 512"]
    assert row(result.stdout, "peak") == expected
    assert row(result.stdout, "fits") == fits and set(fits) == {"yes", "NO"}


def test_a_fine_tuning_is_known_by_its_keys(config_file):
    path = config_file(encoder="bert_mini", max_seq_length=64, num_train_epochs=2.0)
    result = run_script(f"--config={path}", "--num_labels=3", "--override=precision=bfloat16")
    assert result.returncode == 0, result.stderr
    assert "bfloat16" in result.stdout and "32 x 64" in result.stdout


@pytest.mark.parametrize(
    ("values", "flags", "sentence"),
    [
        ({"encoder": "bert_mini"}, ["--length=1024"], "--length=1024, but the encoder has only max_position"),
        ({"encoder": "bert_mini"}, ["--length=\u00b2"], "expected whole numbers such as 128,512."),
        (
            {"encoder": "bert_mini"},
            ["--memory_gib=inf"],
            "--memory_gib=inf: expected a number of GiB",
        ),
        (
            {"encoder": "bert_mini"},
            ["--memory_gib=nan"],
            "--memory_gib=nan: expected a number of GiB",
        ),
        ({"encoder": "bert_mini"}, ["--memory_gib=0"], "--memory_gib=0.0: expected a number of GiB"),
        (
            {"encoder": "bert_mini"},
            ["--predictions=129"],
            "--predictions=129 is more than the 128 tokens of a sequence.",
        ),
        ({"encoder": "bert_mini"}, ["--length=a"], "--length=a: expected whole numbers such as 128,512."),
        ({}, [], "the config names no encoder; add for example --override=encoder=bert_base."),
        (
            {"encoder": "bert_mini", "num_train_epochs": 3},  # no pretraining
            ["--override=learning_rate=3"],
            "--override=learning_rate is no setting by itself; write --override=optimizer.learning_rate=3.",
        ),
        ({"encodr": 1}, [], "unknown key 'encodr' for PretrainingConfig. Did you mean 'encoder'?"),
    ],
)
def test_wrong_input_is_one_sentence(config_file, values, flags, sentence):
    result = run_script(f"--config={config_file(**values)}", *flags)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert sentence in result.stderr
