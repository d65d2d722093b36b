"""The commands of the quickstart, from raw text to exported models."""

from pathlib import Path

from kbert.config.presets import CONFIGS
from kbert.export_package import export_package
from kbert.files.json_file import parse_json
from kbert.quickstart.command_sequence import CommandSequence

# Each classifier is trained once for each seed. The first one is evaluated, exported and served: never the
# best, which only the test passages could tell.
SEEDS = (1, 2, 3)
# As long as the passages that are classified: a position that pretraining never sees keeps random weights.
_LENGTHS = ["--max_seq_length=64", "--max_predictions_per_seq=10"]
_FILL_MASK_TEXTS = [
    "Return the number of [MASK] in the list.",
    "This method raises a [MASK] if the key is not found.",
    "If the file does not [MASK], an exception is raised.",
    "The [MASK] is closed when the connection is lost.",
]


def paths_in(directory: Path) -> dict[str, Path]:
    """Where each part of the quickstart is written, by its name in the report."""
    return {
        "corpus": directory / "text",
        "vocabulary": directory / "vocab.txt",
        "records": directory / "records",
        "pretraining run": directory / "pretraining",
        "classifiers": directory / "classifiers",
        "classifiers without pretraining": directory / "classifiers_from_scratch",
        "classifier run": directory / "classifiers" / f"seed-{SEEDS[0]}",
        "SavedModel": directory / "serving" / "library_area",
        "LiteRT": directory / "litert",
        "this page": directory / "index.html",
    }


def make_data(sequence: CommandSequence, at: dict[str, Path]):
    """Text, vocabulary and pretraining records."""
    text = at["corpus"]
    sequence.step(
        "Text: the prose of Python's own documentation, and passages labelled by library area",
        "tfrecords_tools.write_embedded_text",
        f"--output_dir={text}",
    )
    sequence.step(
        "Vocabulary: WordPieces learned from the text",
        "tfrecords_tools.build_vocabulary",
        f"--input_files={text}/text/train.txt",
        f"--output_file={at['vocabulary']}",
        "--vocab_size=6000",
        "--num_unused_tokens=10",
    )
    for split, dupe_factor, num_shards in (("train", 10, 8), ("heldout", 5, 1)):
        sequence.step(
            f"Pretraining records, {split}: masked tokens and sentence pairs as TFRecords",
            "tfrecords_tools.create_pretraining_data",
            f"--input_files={text}/text/{split}.txt",
            f"--vocab_file={at['vocabulary']}",
            f"--output_dir={at['records']}/{split}",
            *_LENGTHS,
            f"--dupe_factor={dupe_factor}",
            f"--num_shards={num_shards}",
        )


def train(sequence: CommandSequence, at: dict[str, Path]) -> dict[str, dict]:
    """The pretraining, classifiers on top of it, and the same classifiers without it.

    Returns:
      {"pretrained": metrics, "from_scratch": metrics}, each as `summarize_seeds` gives them; the metrics
      on the test passages have "test_" before their names.
    """
    sequence.step(
        "Pretraining: masked LM and next sentence",
        "kbert.scripts.run_pretraining",
        f"--input_dir={at['records']}/train",
        f"--eval_input_dir={at['records']}/heldout",
        f"--config={config_path('pretraining/smoke.toml')}",
        f"--run_dir={at['pretraining run']}",
    )
    ways = (
        ("pretrained", "Fine-tuning: which area of the library does a passage describe?", "classifiers", []),
        (
            "from_scratch",
            "The control: the same without pretraining",
            "classifiers without pretraining",
            ["--from_scratch"],
        ),
    )
    return {way: _train_seeds(sequence, at, title, at[name], extra) for way, title, name, extra in ways}


def _train_seeds(sequence, at, title, run_dir, extra):
    labelled = at["corpus"] / "labelled"
    output = sequence.step(
        title,
        "kbert.scripts.run_finetuning",
        f"--train_file={labelled}/train.tsv",
        f"--dev_file={labelled}/dev.tsv",
        f"--other_dev_file=test={labelled}/test.tsv",
        f"--config={config_path('finetuning/smoke.toml')}",
        f"--init_checkpoint={at['pretraining run']}",
        f"--seeds={','.join(map(str, SEEDS))}",
        f"--run_dir={run_dir}",
        "--json",
        *extra,
    )
    return json_lines(output)[-1]


def evaluate_pretraining(sequence: CommandSequence, at: dict[str, Path]) -> tuple[dict, list[dict]]:
    """(metrics on held-out text, the tokens that the model predicts for some masks)."""
    metrics = sequence.step(
        "Evaluation: masked LM on held-out text",
        "kbert.scripts.run_evaluation",
        f"--run_dir={at['pretraining run']}",
        f"--input_dir={at['records']}/heldout",
        "--json",
    )
    filled = sequence.step(
        "Prediction: filling masks",
        "kbert.scripts.run_prediction",
        f"--run_dir={at['pretraining run']}",
        *(f"--text={text}" for text in _FILL_MASK_TEXTS),
    )
    return json_lines(metrics)[-1], json_lines(filled)


def evaluate_classifier(sequence: CommandSequence, at: dict[str, Path]) -> dict:
    """The metrics, with the confusion table, of the classifier that is shown, on the test passages."""
    output = sequence.step(
        "Evaluation: the classifier of the first seed on modules it has not seen",
        "kbert.scripts.run_evaluation",
        f"--run_dir={at['classifier run']}",
        f"--eval_file={at['corpus']}/labelled/test.tsv",
        "--json",
    )
    return json_lines(output)[-1]


def export(sequence: CommandSequence, at: dict[str, Path]) -> tuple[dict, dict]:
    """The reports of the two exporters: (SavedModel, LiteRT files)."""
    saved_model = sequence.step(
        "Export: a SavedModel with tokenization in the graph",
        f"{export_package()}.export_savedmodel",
        f"--run_dir={at['classifier run']}",
        f"--model_base_path={at['SavedModel']}",
        "--json",
    )
    litert = sequence.step(
        "Export: LiteRT files",
        f"{export_package()}.export_tflite",
        f"--run_dir={at['classifier run']}",
        f"--output_dir={at['LiteRT']}",
        "--quantization=float32,dynamic_int8",
        "--json",
        f"--eval_file={at['corpus']}/labelled/test.tsv",
        # After minutes of training many answers are near ties, which int8 may tip; the report says how many.
        "--min_agreement=0",
    )
    return json_lines(saved_model)[-1], json_lines(litert)[-1]


def json_lines(output: str) -> list[dict]:
    """The JSON objects in the output of a command: all lines that begin with "{"; log lines do not."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return [parse_json(line, f"the output of the command, {line[:60]!r},") for line in lines]


def config_path(name: str) -> Path:
    """The path of a config as a user would type it: relative to the current folder if it is in it."""
    path, here = CONFIGS / name, Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
