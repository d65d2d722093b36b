"""The comparison of features from a small frozen encoder: trained, stopped, taken up, judged."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

import kbert
from kbert.cli.signals import StoppedBySignal
from kbert.config import DatasetConfig, to_dict
from kbert.experiments import seeds as seeds_module
from kbert.experiments.evaluation import evaluate
from kbert.experiments.feature_based.feature_table import TablePlaces, TableSettings, run_feature_table
from kbert.experiments.finetuning import run_finetuning
from kbert.features import layer_feature
from kbert.files.safetensors_file import read_safetensors
from kbert.inference.loaded_model import load
from kbert.reports.feature_table_report import feature_table
from kbert.runs.run_directory import RunDirectory
from kbert.tasks.token_classification import TokenClassification
from kbert.tasks.token_classification.entity_scores import EntityCounts
from kbert.tasks.token_classification.tagged_sentences import read_tagged_sentences
from tests.html_checks import read_page
from tests.kbert.experiments.glue.test_glue_benchmark import signal_in_call
from tests.kbert.runs.written_run import written_run
from tests.kbert.tasks.feature_based import small_features
from tests.kbert.tasks.feature_based.test_layer_features import expected_vectors
from tests.made_once import made_once
from tfrecords_tools import create_layer_features as tool
from tfrecords_tools.create_finetuning_data import create_finetuning_data

pytestmark = pytest.mark.slow  # several trainings
LABELS = ("O", "B-ORG", "B-PER", "I-ORG", "I-PER")
READS = ("concat_last_four", "embeddings")  # the table has them in the paper's order, the other way round


def write_config(folder, **changes):
    path = folder / "config.json"
    config = small_features.config_of(save_checkpoints_steps=6, **changes)
    path.write_text(json.dumps(to_dict(config) | {"encoder": None}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """(places without the fine-tuned run, config file); the checkpoint is `start["init_checkpoint"]`."""

    def make(folder):
        small_features.write_files(folder)
        small_features.write_run(small_features.random_encoder(), folder / "encoder")
        write_config(folder)

    folder = made_once(tmp_path_factory, "feature_based", make)
    start = {"init_checkpoint": folder / "encoder"}
    run_dir = tmp_path_factory.mktemp("table") / "run"
    return TablePlaces(folder / "train.conll", folder / "dev.conll", run_dir, start), folder / "config.json"


@pytest.fixture(scope="module")
def table(small):
    """Two rows of one seed, stopped in the second and taken up again: places, settings, summary, what ran."""
    places, config = small
    settings = TableSettings(config, reads=READS, seeds=(1,), stored="float16")
    written = []

    def write(*arguments, **options):
        written.append(arguments[2].name)
        return tool.create_layer_features(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        signal_in_call(patch, 7)  # each run is four calls
        with pytest.raises(StoppedBySignal):
            run_feature_table(settings, places, write)
    there = json.loads((places.run_dir / "summary.json").read_text())
    trained = []
    with pytest.MonkeyPatch.context() as patch:

        def counted(config, run_dir, **arguments):
            trained.append(run_dir.parent.name)
            return run_finetuning(config, run_dir, **arguments)

        patch.setattr(seeds_module, "run_finetuning", counted)
        summary = run_feature_table(settings, places, write)
    return places, settings, summary, (list(there["rows"]), written, trained)


@pytest.mark.long
def test_the_same_command_goes_on_where_it_was(table):
    places, settings, summary, (there, written, trained) = table
    assert written == ["train", "dev"]  # the encoder saw each file once
    assert there == ["embeddings"] and trained == ["concat_last_four"]
    assert list(summary["rows"]) == ["embeddings", "concat_last_four"]
    assert json.loads((places.run_dir / "summary.json").read_text()) == json.loads(json.dumps(summary))
    read_page(places.run_dir / "report.html")
    lines = feature_table(summary).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["features", "Embeddings", "Concat Last Four Hidden"]
    values = summary["rows"]["embeddings"]["metrics"]
    assert lines[1].split()[1:] == [f"{values[name]['mean']:.4f}" for name in ("f1", "strict_f1",
                                    "token_accuracy")] + ["1", "0.910"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.long
def test_the_run_holds_no_variable_of_the_encoder(table):
    places, *_ = table
    run = RunDirectory(places.run_dir / "embeddings" / "seed-1")
    for file in ("model.safetensors", "optimizer.safetensors"):
        names = read_safetensors(run.checkpoint() / file)
        assert names and all("bilstm_tagger/" in name for name in names)
    task, model = run.load_model()
    assert all(variable.path.startswith("bilstm_tagger/") for variable in model.trainable_variables)
    assert model.encoder is None


@pytest.mark.long
def test_scores_of_records_are_those_of_the_sentences_of_the_file(table):
    """Asked one sentence at a time, without rows and padding, with vectors that were never on disk."""
    places, _, summary, _ = table
    run = RunDirectory(places.run_dir / "embeddings" / "seed-1")
    task, judged = evaluate(run, input_dir=places.run_dir / "features" / "dev", batch_size=4)
    assert judged["f1"] == pytest.approx(summary["rows"]["embeddings"]["metrics"]["f1"]["mean"], abs=1e-6)
    sentences = list(read_tagged_sentences(places.dev_file, run.config.dataset))
    assert judged["num_examples"] == len(sentences)
    vectors, _ = expected_vectors(load(places.start["init_checkpoint"]), sentences, False)
    _, model = run.load_model()
    model = tf.function(model, reduce_retracing=True)  # step by step, an LSTM takes long
    counts, right, total = EntityCounts(), 0, 0
    for sentence, layers in zip(sentences, vectors, strict=True):
        predicted = []
        for first in range(0, len(sentence.words), small_features.ROW):  # as long sentences are cut
            part = layers[np.newaxis, first : first + small_features.ROW, 0].astype(np.float16)
            inputs = {
                layer_feature(0): tf.constant(part.astype(np.float32)),
                "input_mask": tf.ones(part.shape[:2], tf.int32),
            }
            predicted += [task.labels[i] for i in np.argmax(model(inputs)["logits"][0], axis=-1)]
        counts.add(sentence.labels, predicted)
        right += sum(map(str.__eq__, predicted, sentence.labels))
        total += len(predicted)
    assert judged["token_accuracy"] == pytest.approx(right / total, abs=1e-6)
    assert judged["f1"] == pytest.approx(counts.overall().f1, abs=1e-6)
    assert 0.3 < judged["token_accuracy"] < 1.0  # there is something to differ in


def write_tagger(model, places, folder):
    """A token classification run of 0 steps with random weights."""
    task = TokenClassification(LABELS)
    tagger = task.build_model(model.encoder)
    return written_run(folder, task, tagger, model.vocabulary, dataset=DatasetConfig(labels=LABELS))


@pytest.mark.slow
@pytest.mark.long
def test_the_row_of_a_finetuned_run(table, tmp_path):
    places, settings, summary, _ = table
    run = write_tagger(small_features.random_encoder(), places, tmp_path / "finetuned" / "seed-3")
    _, metrics = evaluate(run, places.dev_file)
    again = TablePlaces(
        places.train_file, places.dev_file, places.run_dir, places.start, tmp_path / "finetuned"
    )
    found = run_feature_table(settings, again, None)  # nothing is written again
    assert list(found["rows"]) == [*summary["rows"], "finetuned"]
    row = found["rows"]["finetuned"]
    assert row["seeds"] == [run.config.seed]
    for name in ("f1", "token_accuracy", "loss"):
        assert row["metrics"][name]["mean"] == pytest.approx(metrics[name], abs=1e-6)
    assert feature_table(found).splitlines()[-1].startswith("Fine-tuned")


@pytest.mark.slow
@pytest.mark.long
def test_other_features_in_the_folder_are_refused(table, tmp_path):
    places, settings, *_ = table
    other = TableSettings(settings.config, ("task_settings.document_context=true",), READS, (1,), "float16")
    with pytest.raises(ValueError, match=r"features/train holds features of something else: task_settings"):
        run_feature_table(other, places, None)
    changed = tmp_path / "train.conll"
    changed.write_text(places.train_file.read_text() + "\na X O\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"something else: input_digest"):
        run_feature_table(settings, TablePlaces(changed, *list(vars(places).values())[1:]), None)


@pytest.mark.exhaustive
def test_float16_under_xla_in_parts_learns_alike(table, tmp_path):
    places, _, summary, _ = table
    features = {f"{name}_dir": places.run_dir / "features" / name for name in ("train", "dev")}
    sizes = {"num_hidden_layers": 4, "hidden_size": 16, "stored": "float16", "reads": "embeddings"}
    config = small_features.config_of(sizes, seed=1, dropout_prob=0.0, num_train_epochs=1.0)
    changes = {
        "precision": "float16",
        "jit_compile": True,
        "pad_to_longest": False,
        "gradient_accumulation_steps": 2,
    }
    losses = []
    for number, more in enumerate(({}, changes)):
        one = dataclasses.replace(config, **more)
        _, metrics = run_finetuning(
            one, tmp_path / str(number), init_checkpoint=places.start["init_checkpoint"], **features
        )
        losses.append(metrics["loss"])
    assert losses[1] == pytest.approx(losses[0], abs=0.05)


# ------------------------------------------------------------------------------------------ refused


@pytest.mark.slow
@pytest.mark.long
def test_files_of_texts_are_refused_for_training_and_evaluation(table, tmp_path):
    places, *_ = table
    with pytest.raises(
        ValueError, match="train.conll: a model for feature_based_tagging reads stored features"
    ):
        run_finetuning(
            small_features.config_of(),
            tmp_path / "run",
            places.train_file,
            places.dev_file,
            init_checkpoint=places.start["init_checkpoint"],
        )
    config = write_config(tmp_path)
    with pytest.raises(ValueError, match="no texts. Make records of it with kbert layer-features"):
        create_finetuning_data(
            config, places.dev_file, tmp_path / "records", init_checkpoint=places.start["init_checkpoint"]
        )
    run = RunDirectory(places.run_dir / "embeddings" / "seed-1")
    with pytest.raises(
        ValueError, match="dev.conll: a model for feature_based_tagging reads stored features"
    ):
        evaluate(run, places.dev_file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json"]


@pytest.mark.slow
@pytest.mark.long
def test_what_needs_an_encoder_is_refused(table, tmp_path):
    from export.export_savedmodel import export_savedmodel

    places, *_ = table
    run = RunDirectory(places.run_dir / "embeddings" / "seed-1")
    for use in (kbert.load, kbert.checkpoints.formats.read_checkpoint):
        with pytest.raises(
            ValueError, match="its model reads stored features, and has no encoder that texts"
        ):
            use(run.path)
    with pytest.raises(ValueError, match="does not answer texts"):
        export_savedmodel(run, tmp_path / "serving")
    assert not (tmp_path / "serving").exists()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reinit_layers": 1}, "reinit_layers: a model for feature_based_tagging has no encoder"),
        ({"recompute_activations": True}, "recompute_activations: a model for feature_based_tagging has no"),
    ],
)
def test_settings_of_an_encoders_weights_are_refused(table, tmp_path, changes, message):
    places, *_ = table
    features = {f"{name}_dir": places.run_dir / "features" / name for name in ("train", "dev")}
    sizes = {"num_hidden_layers": 4, "hidden_size": 16, "stored": "float16"}
    with pytest.raises(ValueError, match=message):
        run_finetuning(
            small_features.config_of(sizes, **changes),
            tmp_path / "run",
            init_checkpoint=places.start["init_checkpoint"],
            **features,
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.long
def test_records_of_another_precision_are_refused(table, tmp_path):
    places, *_ = table
    features = {f"{name}_dir": places.run_dir / "features" / name for name in ("train", "dev")}
    sizes = {"num_hidden_layers": 4, "hidden_size": 16}
    with pytest.raises(
        ValueError, match="made with task_settings.stored='float16', but this run has 'float32'"
    ):
        run_finetuning(
            small_features.config_of(sizes),
            tmp_path / "run",
            init_checkpoint=places.start["init_checkpoint"],
            **features,
        )


def test_wrong_settings_of_the_table(small, tmp_path):
    places, config = small
    with pytest.raises(ValueError, match="--reads: 'first' is not known; choose some of embeddings, second"):
        TableSettings(config, reads=("first",))
    with pytest.raises(ValueError, match="--seeds=1,1 names one twice"):
        TableSettings(config, seeds=(1, 1))
    with pytest.raises(
        ValueError, match="task='token_classification' reads texts; give a config of a task on"
    ):
        TableSettings(config, ("task=token_classification", "task_settings={}")).load()
    several = TablePlaces(places.train_file, places.dev_file, tmp_path / "run", {"strategy": "multi_worker"})
    with pytest.raises(ValueError, match="--strategy=multi_worker can train only one run in a process"):
        run_feature_table(TableSettings(config), several, None)
    other = TablePlaces(places.train_file, places.dev_file, tmp_path / "run", places.start, tmp_path)
    with pytest.raises(ValueError, match="holds no run, and no seed-N with one"):
        run_feature_table(TableSettings(config), other, None)
    assert not (tmp_path / "run").exists()
