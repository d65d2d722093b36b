"""kbert and transformers train from the same weights on the same batches: the same losses, the same weights.

Every family has its encoder and its head from a folder of transformers. kbert's own trainer takes 40 steps,
without dropout, once with a row for each text and once with several texts in a row; the batches that it draws
are kept, and PyTorch's AdamW takes the same steps on them, padded. Both losses are means over the texts, the
labelled words or the masked tokens of a batch. Of the masked LM kbert adds 1e-5 to their number, as
google-research/bert does.

What is right is PyTorch in float64. In float32 PyTorch itself lies up to 1.6e-6 (losses, relative) and 3.9e-6
(weights) from it: so much does the order of sums change. A run moves weights by 1e-2, so that a term that was
left out, or a weight that should not decay, would be seen.
"""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.config import DatasetConfig, FinetuningConfig, OptimizerConfig, PretrainingConfig
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.vocabulary import Vocabulary
from kbert.training import phases
from tests.peers.families import AFTER_ROBERTA, DISTIL, MODERN, OTHER_VOCABULARIES, SMALL, TOKENS, run_peer
from tfrecords_tools.create_pretraining_data import create_pretraining_data

FOLDER = Path(__file__).parent
TOLERANCE = 1e-5  # of losses relative, of weights absolute
OPTIMIZER = OptimizerConfig(name="adamw", learning_rate=1e-3, decay="linear_after_warmup")
NUM_STEPS, NUM_WARMUP_STEPS, BATCH_SIZE, NUM_TEXTS, LENGTH = 40, 4, 8, 80, 32
LABELS = ("LABEL_0", "LABEL_1", "LABEL_2")
WORDS = "The doctor walks to the house Ein Haus zwei play jumping jumps , . w7 w23 w59".split()
NO_DROPOUT = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout",
    "attention_dropout",
    "seq_classif_dropout",
)
TWO_LAYERS = {"hidden_size": 32, "num_hidden_layers": 2}
FAMILIES = {
    "Bert": SMALL | TWO_LAYERS,
    "DistilBert": DISTIL | {"dim": 32, "n_layers": 2},
    "Electra": SMALL | TWO_LAYERS | {"embedding_size": 16},
    "Roberta": SMALL | TWO_LAYERS | AFTER_ROBERTA | {"type_vocab_size": 1},
    "XLMRoberta": SMALL | TWO_LAYERS | AFTER_ROBERTA | {"type_vocab_size": 1},
    "MPNet": SMALL | TWO_LAYERS | AFTER_ROBERTA,
    "ModernBert": MODERN | TWO_LAYERS,
}
HEADS = {
    "sequence_classification": "ForSequenceClassification",
    "token_classification": "ForTokenClassification",
    "masked_lm": "ForMaskedLM",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with labelled texts, labelled words and a corpus."""
    folder, rng = tmp_path_factory.mktemp("data"), random.Random(1)
    texts = [rng.choices(WORDS, k=rng.randint(1, 12)) for _ in range(NUM_TEXTS)]
    label = {word: LABELS[number % 3] for number, word in enumerate(WORDS)}
    rows = {
        "sequence_classification": [{"text": " ".join(text), "label": label[text[0]]} for text in texts],
        "token_classification": [{"text": text, "label": [label[word] for word in text]} for text in texts],
    }
    for task, lines in rows.items():
        (folder / f"{task}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "corpus.txt").write_text("\n\n".join(" ".join(text) for text in texts * 4) + "\n")
    return folder


@pytest.fixture(scope="module", params=FAMILIES)
def learned(request, data, peers_python, tmp_path_factory):
    """task -> a folder with runs of kbert, `keep` and `pack`, and folders of transformers: `start`, `float32`
    and `float64`."""
    root, family = tmp_path_factory.mktemp(request.param), request.param
    vocabulary = OTHER_VOCABULARIES.get(family) or Vocabulary(TOKENS, do_lower_case=True)
    places = {task: root / task for task in HEADS}
    cases = [_case(family, task, place, len(vocabulary)) for task, place in places.items()]
    for place in places.values():
        for name in ("start", "float32", "float64"):
            (place / name).mkdir(parents=True)
            write_tokenizer(place / name, vocabulary, max_seq_length=LENGTH)
    run_peer(peers_python, FOLDER / "hugging_face_peer.py", "make", cases, root)
    place = places["masked_lm"]
    create_pretraining_data(
        data / "corpus.txt", None, place / "records", tokenizer=place / "start", pairing="full_sentences",
        max_seq_length=LENGTH, max_predictions_per_seq=5, dupe_factor=2,
    )  # fmt: skip
    for task, place in places.items():
        for padding in ("keep", "pack"):
            np.savez(place / "batches.npz", **_train(task, place, padding, data))
    run_peer(peers_python, FOLDER / "learning_peer.py", "train", cases, root)
    return places


def _case(family, task, place, vocab_size):
    config = FAMILIES[family] | {"vocab_size": vocab_size} | dict.fromkeys(NO_DROPOUT, 0.0)
    return {
        "model_class": family + HEADS[task],
        "config": config | ({} if task == "masked_lm" else {"num_labels": len(LABELS)}),
        "file": "safetensors",
        "seed": 3,
        "spread": 0.2,
        "rows": 2,
        "length": 5,
        "first_id": 2,
        "folder": str(place / "start"),
        "learned": str(place),
        "optimizer": vars(OPTIMIZER),
        "num_steps": NUM_STEPS,
        "num_warmup_steps": NUM_WARMUP_STEPS,
    }


def _train(task, place, padding, data):
    """Trains place/padding from place/start. Returns `<step>/<feature>` -> array: the batches."""
    common = {
        "task": task, "optimizer": OPTIMIZER, "padding": padding, "train_batch_size": BATCH_SIZE,
        "log_every_steps": 1,
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as monkeypatch:
        kept = _keep_batches(monkeypatch)
        if task == "masked_lm":
            steps = {"num_train_steps": NUM_STEPS, "eval_every_steps": NUM_STEPS}
            config = PretrainingConfig(num_warmup_steps=NUM_WARMUP_STEPS, **steps, **common)
            pretrain(config, place / padding, place / "records", init_checkpoint=place / "start")
        else:
            config = FinetuningConfig(
                num_train_epochs=NUM_STEPS * BATCH_SIZE / NUM_TEXTS,
                warmup_proportion=NUM_WARMUP_STEPS / NUM_STEPS,
                dropout_prob=0.0,
                max_seq_length=LENGTH,
                dataset=DatasetConfig(tag_scheme="none" if task == "token_classification" else "auto"),
                **common,
            )
            finetune(config, place / padding, data / f"{task}.jsonl", init_checkpoint=place / "start")
    return kept


def _keep_batches(monkeypatch):
    """An empty dict, into which come the batches that the next training draws."""
    kept = {}

    def training_batches(*arguments, draw=phases.training_batches, **options):
        drawn = draw(*arguments, **options)
        for step, batch in enumerate(drawn.take(NUM_STEPS).as_numpy_iterator()):
            kept.update({f"{step}/{name}": value for name, value in batch.items()})
        return drawn

    monkeypatch.setattr(phases, "training_batches", training_batches)
    return kept


@pytest.mark.parametrize("padding", ["keep", "pack"])
@pytest.mark.parametrize("task", HEADS)
def test_the_same_losses_and_the_same_weights(learned, task, padding):
    place = learned[task]
    metrics = read_metrics(RunDirectory(place / padding).metrics_file)
    name = "masked_lm_loss" if task == "masked_lm" else "loss"
    losses = np.array([line[name] for line in metrics if line["split"] == "train"])
    right, theirs = (np.array(json.loads((place / f"{t}.json").read_text())) for t in ("float64", "float32"))
    tensors = {t: read_checkpoint(place / t).tensors for t in (padding, "float32", "float64", "start")}
    weights = {t: {key: it.read() for key, it in named.items()} for t, named in tensors.items()}
    differences = {
        "losses": np.abs(losses / right - 1).max(),
        "weights": _largest_difference(weights[padding], weights["float64"]),
    }
    of_float32 = np.abs(theirs / right - 1).max(), _largest_difference(weights["float32"], weights["float64"])
    print(f"{place}, {padding}: {differences}; PyTorch in float32: {of_float32}")
    assert len(losses) == NUM_STEPS
    assert _largest_difference(weights["start"], weights["float64"]) > 500 * TOLERANCE
    assert differences == pytest.approx(dict.fromkeys(differences, 0.0), abs=TOLERANCE)


def _largest_difference(first, second):
    assert first.keys() == second.keys()
    return max(np.abs(values - second[name]).max() for name, values in first.items())
