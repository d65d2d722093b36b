"""`load`: run directories, checkpoints and sentence-transformers folders, and what they give."""

import json
import os
import pickle
import re
import shutil

import keras
import numpy as np
import pytest

import kbert
from export.server.served_model import _exported
from kbert.checkpoints.convert import convert
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.config.pooling_config import PoolingConfig
from kbert.inference.feature_extractor import FeatureExtractor
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.loading import load, open_model
from kbert.input_pipelines.labelled_files import read_rows
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.extract_features import write_features
from kbert.tasks import TASKS
from kbert.tasks.task_model import TaskModel
from tests.conftest import tiny_finetuning_config
from tests.kbert.inference.random_model import TEXTS, random_model, random_task_model, reference_states
from tests.kbert.input_pipelines.frames import Frame
from tests.kbert.runs.written_run import written_run
from tests.kbert.tasks.similarity.test_matryoshka import units
from tests.lives.compare import same

pytestmark = pytest.mark.usefixtures("eager")


@pytest.mark.slow
def test_load_a_run_gives_the_runs_model(finetuned_run, pair_run, pretraining_run):
    loaded = load(finetuned_run.path)
    assert isinstance(loaded, LoadedModel) and isinstance(loaded.model, TaskModel)
    assert loaded.task.labels == ("quiet", "loud") and loaded.takes_pairs is False
    assert loaded.config == finetuned_run.config.encoder and loaded.max_seq_length == 24
    assert loaded.vocabulary.fingerprint == finetuned_run.vocabulary().fingerprint
    _, _, model = finetuned_run.load_checkpoint()
    inputs = loaded.inputs(TEXTS)
    np.testing.assert_array_equal(loaded.model(inputs)["logits"], model(inputs)["logits"])
    assert load(finetuned_run).checkpoint == loaded.checkpoint
    assert load(loaded, allow_unmatched=[]) is loaded
    with pytest.raises(ValueError, match="precision='bfloat16' says how a model is loaded"):
        load(loaded, precision="bfloat16")
    assert load(str(pair_run.path)).takes_pairs is True
    pretrained = load(pretraining_run.path)
    assert pretrained.task.name == "pretraining" and pretrained.takes_pairs is None


@pytest.mark.parametrize("ask", [kbert.Predictor, lambda model: model.signatures])
def test_a_model_that_answers_no_texts_has_no_signatures(ask):
    with pytest.raises(ValueError, match="random has the task encoder, which has no predictions for texts"):
        ask(random_model()[0])


@pytest.mark.slow
def test_a_model_of_another_length_is_of_the_same_run(finetuned_run, monkeypatch):
    loaded = load(finetuned_run.path, checkpoint="last", precision="bfloat16")
    other = loaded.with_max_seq_length(16)
    assert other.run.path == finetuned_run.path and other.checkpoint == loaded.checkpoint is not None
    monkeypatch.setattr(
        "export.export_savedmodel.export_savedmodel", lambda model, base, **arguments: (model, arguments)
    )
    assert other.export("served") == (other, {"precision": "bfloat16"})
    assert other.export("served", precision="float32")[1] == {"precision": "float32"}
    monkeypatch.setattr("export.export_tflite.export_tflite", lambda *given, **arguments: (given, arguments))
    files, arguments = other.export_litert("files", eval_file="dev.tsv")
    assert files == (other, "files", ("float32", "dynamic_int8")) and arguments == {"eval_file": "dev.tsv"}
    with pytest.raises(TypeError, match=r"cannot be pickled or copied: load it where it is needed"):
        pickle.dumps(loaded)
    with pytest.raises(ValueError, match="max_seq_length=12.5 must be a whole number"):
        loaded.with_max_seq_length(12.5)
    with pytest.raises(AttributeError, match=r"loaded\.with_max_seq_length\(16\)"):
        loaded.max_seq_length = 16


@pytest.mark.long
@pytest.mark.parametrize("name", ["multiple_negatives_ranking", "sparse_embedding", "late_interaction"])
def test_the_first_vectors_may_read_the_weights(name, tmp_path):
    random = random_task_model(TASKS[name]().with_pooling(None))
    run = written_run(tmp_path / "run", random.task, random.model, random.vocabulary)
    answers = [model.embed(TEXTS) for model in (random, load(run.path), open_model(run.path))]
    vectors = [each.toarray() if name == "sparse_embedding" else each for each in answers]
    same(*vectors[:2], 1e-6)
    same(*vectors[::2], 1e-6)


@pytest.mark.parametrize("name", ["sparse_embedding", "late_interaction"])
def test_features_are_none_of_vectors_in_another_form(name, tmp_path):
    random = random_task_model(TASKS[name]().with_pooling(None))
    run = written_run(tmp_path / "run", random.task, random.model, random.vocabulary)
    texts, file = tmp_path / "texts.txt", tmp_path / "features.npz"
    texts.write_text("\n".join(TEXTS))
    with pytest.raises(ValueError, match=f"{name}, whose vectors .*embed.*--pooling=none"):
        write_features(run.path, texts, file)
    assert not file.exists()
    write_features(run.path, texts, file, pooling="mean")
    assert len(np.load(file)["values"]) == len(TEXTS)


def test_weights_are_read_when_they_are_first_asked_for(finetuned_run, monkeypatch):
    """Of a run that still trains they may be of a newer checkpoint by then."""
    load_checkpoint, asked = RunDirectory.load_checkpoint, []

    def newer(run, which):
        asked.append(which)
        folder, *rest = load_checkpoint(run, which)
        return folder.with_name("step-00000777"), *rest

    monkeypatch.setattr(RunDirectory, "load_checkpoint", newer)
    with os.scandir(finetuned_run.path.parent) as entries:
        (entry,) = (entry for entry in entries if entry.name == finetuned_run.path.name)
    loaded = open_model(entry, checkpoint="last")
    assert loaded.source == str(finetuned_run.path)
    assert loaded.task.labels == ("quiet", "loud") and loaded.config == finetuned_run.config.encoder
    assert not asked and loaded.checkpoint == finetuned_run.checkpoint("last")
    assert isinstance(loaded.model, TaskModel) and loaded.checkpoint.name == "step-00000777"
    assert loaded.with_max_seq_length(16).model is loaded.model and asked == ["last"]


@pytest.mark.long
def test_an_evaluation_allows_what_loading_allowed(finetuned_run, labelled_files, tmp_path):
    write_checkpoint(read_checkpoint(finetuned_run.path), tmp_path / "hf", "hugging_face")
    settings = json.loads((tmp_path / "hf" / "tokenizer_config.json").read_text())
    (tmp_path / "hf" / "tokenizer_config.json").write_text(json.dumps(settings | {"do_lower_case": False}))
    loaded = load(tmp_path / "hf", do_lower_case=True, allow_unmatched=["do_lower_case"])
    metrics = loaded.evaluate(labelled_files[1], config=tiny_finetuning_config())
    assert metrics["loss"] == pytest.approx(
        load(finetuned_run.path).evaluate(labelled_files[1])["loss"], abs=1e-5
    )


def make_rows(loaded, file):
    """(columns, the dataset that names them, rows) of a labelled file."""
    dataset = loaded.run.config.dataset
    examples = read_rows(file, dataset)
    columns = {dataset.text: [row.text for row in examples], dataset.label: [row.label for row in examples]}
    return columns, dataset, [{dataset.text: row.text, dataset.label: row.label} for row in examples]


@pytest.mark.slow
def test_an_evaluation_judges_the_weights_that_are_in_memory(finetuned_run, labelled_files):
    loaded = load(finetuned_run.path)
    before = loaded.evaluate(labelled_files[1])
    for variable in loaded.model.trainable_variables:
        variable.assign(variable * 0.5)
    after = loaded.evaluate(labelled_files[1])
    assert abs(after["loss"] - before["loss"]) > 1e-4
    _, dataset, rows = make_rows(loaded, labelled_files[1])
    answers = loaded.predict([row[dataset.text] for row in rows])
    chances = [answer["probabilities"][row[dataset.label]] for answer, row in zip(answers, rows, strict=True)]
    assert after["loss"] == pytest.approx(-np.log(chances).mean(), abs=1e-4)
    with pytest.raises(ValueError, match="checkpoint='last' says how a model is loaded"):
        loaded.evaluate(labelled_files[1], checkpoint="last")


@pytest.mark.long
@pytest.mark.parametrize("name", ["kernel", "bias", "a head"])
def test_bfloat16_answers_from_the_weights_that_are_in_memory(name, finetuned_run, labelled_files):
    """Of which it has copies."""
    loaded = load(finetuned_run.path, precision="bfloat16")

    def asked(loaded):
        asks = loaded.predictor("serving_default"), FeatureExtractor(loaded)
        return lambda: [
            asks[0].outputs(text=["jump the a"])["logits"],
            asks[1]("jump the a").values,
            loaded.embed("jump the a"),
            loaded.predict("jump the a")["probabilities"]["loud"],
            loaded.evaluate(labelled_files[1])["loss"],
        ]

    numbers = asked(loaded)
    before = numbers()
    for block in loaded.encoder.blocks:
        dense = block.feed_forward.output_dense
        if name == "a head":
            kernel = block.attention.output_dense.kernel
            size = loaded.config.hidden_size // loaded.config.num_attention_heads
            kernel.assign(np.where(np.arange(kernel.shape[0])[:, None] // size == 1, 0.0, kernel))
        else:
            getattr(dense, name).assign(getattr(dense, name) + 1)
    length = loaded.max_seq_length
    again = LoadedModel("", loaded.task, loaded.model, loaded.vocabulary, length, precision="bfloat16")
    again.run = loaded.run
    for old, now, new in zip(before, numbers(), asked(again)(), strict=True):
        assert np.array_equal(now, new) and not np.array_equal(now, old)


@pytest.mark.long
def test_data_in_memory_are_evaluated_as_their_file_is(finetuned_run, labelled_files):
    loaded = load(finetuned_run.path)
    columns, dataset, rows = make_rows(loaded, labelled_files[1])
    expected = loaded.evaluate(labelled_files[1])
    for data in (columns, Frame(columns), rows):
        assert loaded.evaluate(data) == expected
    with pytest.raises(ValueError, match="row 2 of the data has None as its label") as error:
        loaded.evaluate([rows[0], rows[0] | {dataset.label: None}])
    assert ".jsonl" not in str(error.value)
    renamed = {f"my {name}": values for name, values in columns.items()}
    with pytest.raises(ValueError, match="(?s)the data .*row 1 has no column .* The run .* was trained"):
        loaded.evaluate(renamed)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["kbert", "hugging_face"])
def test_a_model_is_saved_with_the_weights_that_it_has(finetuned_run, tmp_path, format):
    """Those that somebody froze, too."""
    loaded = load(finetuned_run.path)
    loaded.model.trainable_variables[0].assign_add(np.full(loaded.model.trainable_variables[0].shape, 0.1))
    loaded.model.encoder.trainable = False
    expected = loaded.predict(["jump the a", "walk"])
    written = loaded.save(tmp_path / "saved", format)
    assert written.format == format and not written.left_over
    again = load(tmp_path / "saved")
    for answer, known in zip(again.predict(["jump the a", "walk"]), expected, strict=True):
        assert answer["probabilities"] == pytest.approx(known["probabilities"], abs=1e-6)
    again.model.trainable_variables[0].assign_add(np.full(again.model.trainable_variables[0].shape, 0.1))
    again.save(tmp_path / "saved", format, overwrite=True)  # of a checkpoint of others, too
    assert load(tmp_path / "saved").predict("walk") != again.predict("jump the a")
    with pytest.raises(ValueError, match="saved"):
        loaded.save(tmp_path / "saved")


# ------------------------------------------------------------------------------- embeddings


def test_embeddings_equal_the_numpy_reference():
    loaded, weights = random_model()
    means, firsts = loaded.embed(TEXTS, "mean", True), loaded.embed(TEXTS, "cls", False)
    assert means.shape == firsts.shape == (5, 16) and means.dtype == firsts.dtype == np.float32
    for text, mean, first in zip(TEXTS, means, firsts, strict=True):
        state = reference_states(loaded, weights, text)[-1]
        np.testing.assert_allclose(mean, units(state.mean(axis=0)), atol=1e-5)
        np.testing.assert_allclose(first, state[0], atol=1e-5)


@pytest.mark.slow
def test_the_embedding_model_is_an_ordinary_keras_model(tmp_path):
    loaded, _ = random_model()
    model = loaded.embedding_model()
    inputs = loaded.inputs(TEXTS)
    np.testing.assert_allclose(model(inputs), loaded.embed(TEXTS), atol=1e-5)
    assert all(any(v is w for w in loaded.model.weights) for v in model.weights), "weights are shared"
    model.save(tmp_path / "embedding.keras")
    again = keras.saving.load_model(tmp_path / "embedding.keras")
    np.testing.assert_array_equal(again(inputs), model(inputs))
    batch = {"a": inputs["segment_ids"]} | inputs  # Keras takes inputs of a dict by the order of their names
    np.testing.assert_array_equal(again(batch), model(inputs))


def test_the_embedding_model_gives_the_vectors_of_embed():
    """Also where they are cut, and scaled again."""
    loaded, _ = random_model(own_pooling=PoolingConfig("mean", normalize=False, truncate_dim=5))
    for normalize in (True, False):
        vectors = loaded.embedding_model(normalize=normalize)(loaded.inputs(TEXTS))
        np.testing.assert_allclose(vectors, loaded.embed(TEXTS, normalize=normalize), atol=1e-5)


# -------------------------------------------------------------------- sentence-transformers


@pytest.mark.slow
def test_a_model_is_saved_whatever_became_of_the_checkpoints_of_its_run(pretraining_run, tmp_path):
    run = RunDirectory(shutil.copytree(pretraining_run.path, tmp_path / "run"))
    loaded = load(run.path, checkpoint=6)
    (run.checkpoint(12) / "model.safetensors").write_bytes(b"damaged")  # the run's default
    shutil.rmtree(run.checkpoint(6))
    loaded.save(tmp_path / "saved")
    for variable, saved in zip(loaded.model.weights, load(tmp_path / "saved").model.weights, strict=True):
        np.testing.assert_array_equal(variable, saved)


@pytest.mark.slow
def test_a_model_follows_what_it_has_chosen(finetuned_run, labelled_files, tmp_path):
    run = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run"))
    loaded, file = load(run.path), labelled_files[1]
    before = loaded.predict("jump the a")
    metrics = loaded.evaluate(file, keep_chosen=True)
    assert loaded.task.settings.temperature == metrics["chosen_temperature"] != 1.0
    assert loaded.predict("jump the a") == load(run.path).predict("jump the a") != before
    loaded.evaluate(file, keep_chosen=True)  # its weights are still those of the checkpoint


@pytest.mark.long
def test_a_model_that_was_changed_keeps_what_was_chosen_before(
    finetuned_run, labelled_files, tmp_path, caplog
):
    run = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run"))
    loaded, file = load(run.path), labelled_files[1]
    loaded.evaluate(file, keep_chosen=True)
    others = [loaded.with_max_seq_length(20), load(run.path, precision="bfloat16"), load(run.path)]
    others[2].model.set_weights([0.5 * weight for weight in loaded.model.get_weights()])
    for other, name in zip(others, ("max_seq_length", "precision", "[a-z_/0-9]+;"), strict=True):
        with pytest.raises(ValueError, match=f"this model has another {name}.*evaluate that one"):
            other.evaluate(file, keep_chosen=True)
    text = "jump the a"
    for other, changed in zip(others, ("max_seq_length", "", "[a-z_/0-9]+"), strict=True):
        caplog.clear()
        other.save(tmp_path / "saved", overwrite=True)  # with what was chosen, as the model itself answers
        again = load(tmp_path / "saved", precision=other.precision)
        same(again.predict(text), other.predict(text), 1e-6)
        found = re.search(rf"\(temperature, .*\) is saved with .*another {changed}: save", caplog.text)
        assert bool(found) is bool(changed)
    for other, is_stored in zip(others, (True, True, False), strict=True):
        other.evaluate(file, html_file=tmp_path / "page.html")
        assert ("Checkpoint of step" in (tmp_path / "page.html").read_text()) is is_stored


def test_vectors_of_a_folder_that_names_no_pooling_say_so(finetuned_run, tmp_path, caplog):
    load(finetuned_run.path).save(tmp_path / "folder", "hugging_face")
    loaded = load(tmp_path / "folder")
    loaded.embed("the a", pooling="cls")
    load(finetuned_run.path).embed("the a")
    assert "modules.json" not in caplog.text
    loaded.embed("the a")
    assert f"{tmp_path / 'folder'} was read without a modules.json that says how vectors" in caplog.text


@pytest.mark.long
def test_every_way_to_the_mean_of_a_folder_that_names_no_pooling_says_so(pretraining_run, tmp_path, caplog):
    """Also of the run that it became, and of a copy of that run."""
    folders = [tmp_path / name for name in ("folder", "run", "copy")]
    convert(pretraining_run.path, folders[0], "hugging_face", encoder_only=True)
    convert(folders[0], folders[1])
    load(folders[1]).save(folders[2])
    for folder in folders:
        for taker in ("embed", "embedding_model", "the server"):
            caplog.clear()
            if taker == "the server":
                _exported(str(folder), tmp_path / f"served_{folder.name}")
            else:
                getattr(load(folder), taker)(*(["the [SEP]"] if taker == "embed" else []))
                assert (f"{folder}: texts hold [SEP] written out" in caplog.text) is (taker == "embed")
            assert (
                f"{folder} was read without a modules.json" in caplog.text
                and f"so {taker} takes" in caplog.text
            )
    caplog.clear()
    convert(pretraining_run.path, tmp_path / "own")
    load(tmp_path / "own").embedding_model()
    load(folders[1]).embedding_model("cls")
    assert not caplog.text


@pytest.mark.parametrize("name", ["sparse_embedding", "late_interaction"])
def test_what_is_no_vector_of_a_text_has_an_embedding_model_of_a_named_pooling_alone(name):
    loaded = random_task_model(TASKS[name]().with_pooling(None))
    for arguments in ({}, {"normalize": False}):
        with pytest.raises(ValueError, match=f"the task {name}, which does not make one vector"):
            loaded.embedding_model(**arguments)
    states = loaded.encoder(loaded.inputs(TEXTS[:1]))["sequence_output"]
    np.testing.assert_allclose(
        loaded.embedding_model("cls", False)(loaded.inputs(TEXTS[:1])), states[:, 0], atol=1e-6
    )
