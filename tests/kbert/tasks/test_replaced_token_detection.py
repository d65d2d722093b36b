"""ELECTRA's objective: what is drawn, what is told apart, and what each loss teaches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import kbert
from kbert.checkpoints.conversion.resizing import with_vocabulary
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.model_variables import require_parts
from kbert.encoder import BertEncoder
from kbert.experiments.finetuning import finetune
from kbert.experiments.pretraining import pretrain
from kbert.heads.replaced_token_head import DrawnTokens
from kbert.runs.run_directory import trained_weights
from kbert.tasks import TASKS
from kbert.tasks.pretraining.replaced_token_detection import generator_config
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import tiny_encoder_config, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.checkpoints.random_checkpoint import ELECTRA, MODERNBERT, MPNET

NAME = "replaced_token_detection"
PRETRAINING = tiny_pretraining_config(task=NAME)
CONFIG = tiny_encoder_config(vocab_size=50, num_attention_heads=4, hidden_dropout_prob=0.0)
# Two texts of 6 and 4 tokens. The second has one masked token, and two fillers at position 0.
BATCH = {
    "input_ids": np.array([[2, 4, 7, 4, 9, 3], [2, 4, 8, 3, 0, 0]], "int32"),
    "input_mask": np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], "int32"),
    "segment_ids": np.zeros((2, 6), "int32"),
    "masked_lm_positions": np.array([[1, 3, 4], [1, 0, 0]], "int32"),
    "masked_lm_ids": np.array([[5, 6, 9], [11, 0, 0]], "int32"),
    "masked_lm_weights": np.array([[1, 1, 1], [1, 0, 0]], "float32"),
}
TEXTS = np.array([[2, 5, 7, 6, 9, 3], [2, 11, 8, 3, 0, 0]])
MASKED = np.array([[0, 1, 0, 1, 1, 0], [0, 1, 0, 0, 0, 0]], bool)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)
    return TASKS[NAME]().build_model(BertEncoder(CONFIG))


@pytest.fixture(scope="module")
def run(records_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("detection") / "run"
    pretrain(PRETRAINING, folder, records_dir / "train")
    return folder


def outputs_of(model, training=False):
    return model({name: BATCH[name] for name in model.input}, training=training)


def test_the_encoder_sees_the_text_but_for_the_drawn_tokens(model):
    seen = outputs_of(model)["seen_ids"].numpy()
    np.testing.assert_array_equal(seen[~MASKED], TEXTS[~MASKED])
    assert np.any(seen != BATCH["input_ids"]) and np.all(seen < CONFIG.vocab_size)
    np.testing.assert_array_equal(seen, outputs_of(model)["seen_ids"])  # an evaluation draws the same again
    drawn = [outputs_of(model, training=True)["seen_ids"].numpy() for _ in range(3)]
    assert np.any(drawn[0] != drawn[1]) and np.any(drawn[1] != drawn[2])


def test_tokens_are_drawn_as_often_as_they_are_probable():
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    rows = 4_000
    logits = np.tile(np.log(probabilities), (rows, 1, 1)).astype("float32") + 3.0
    ids, positions = np.full((rows, 2), 9, "int32"), np.ones((rows, 1), "int32")
    ids[:, 0] = np.arange(rows) + 9  # an evaluation draws by the text
    for training in (True, False):
        drawn = DrawnTokens(dtype="float32")(
            ids, np.ones_like(ids), positions, logits, training=training
        ).numpy()
        assert np.all(drawn[:, 0] == ids[:, 0])
        shares = np.bincount(drawn[:, 1], minlength=4) / rows
        assert np.all(np.abs(shares - probabilities) < 4 * np.sqrt(probabilities / rows))


def test_an_evaluation_draws_by_the_text_not_by_its_place_in_the_batch(model):
    """In another order, in smaller batches and with more padding, each text gets the same tokens."""
    together = outputs_of(model)["seen_ids"].numpy()
    for row in range(len(together)):
        alone = {name: value[row : row + 1] for name, value in BATCH.items()}
        wider = {name: np.pad(value, [(0, 0), (0, 3)]) for name, value in alone.items() if "lm" not in name}
        seen = model({name: (alone | wider)[name] for name in model.input}, training=False)[
            "seen_ids"
        ].numpy()
        np.testing.assert_array_equal(seen[0, : together.shape[1]], together[row])


def test_losses_and_metrics_are_those_of_the_paper(model):
    task, outputs = TASKS[NAME](), outputs_of(model)
    real = BATCH["input_mask"] > 0
    logits = outputs["replaced_token_logits"].numpy()[real].astype("float64")
    replaced = (outputs["seen_ids"].numpy() != TEXTS)[real]
    probabilities = 1 / (1 + np.exp(-logits))
    expected = -np.log(np.where(replaced, probabilities, 1 - probabilities))
    sums, weights = task.loss_sums(outputs, BATCH), task.loss_weights(BATCH)
    assert float(weights["replaced_token_loss"]) == real.sum() == 10
    assert float(sums["replaced_token_loss"]) == pytest.approx(expected.sum(), rel=1e-5)
    masked_lm = TASKS["masked_lm"]()
    assert float(sums["masked_lm_loss"]) == float(masked_lm.loss_sums(outputs, BATCH)["masked_lm_loss"])
    metrics = task.metric_sums(outputs, BATCH)
    right = (logits > 0) == replaced
    assert tuple(map(float, metrics["replaced_token_accuracy"])) == (right.sum(), 10)
    assert tuple(map(float, metrics["replaced_token_recall"])) == (right[replaced].sum(), replaced.sum())
    assert (task.loss_factor("replaced_token_loss"), task.loss_factor("masked_lm_loss")) == (50, 1)


def test_the_detector_does_not_teach_the_generator_but_both_teach_the_tables(model):
    task = TASKS[NAME]()
    with tf.GradientTape(persistent=True) as tape:
        outputs = outputs_of(model)
        sums = task.loss_sums(outputs, BATCH)
    variables = [variable.value for variable in model.trainable_variables]
    taught = {
        name: {
            variable.path
            for variable, gradient in zip(
                model.trainable_variables, tape.gradient(loss, variables), strict=True
            )
            if gradient is not None
        }
        for name, loss in sums.items()
    }
    everything = {variable.path for variable in model.trainable_variables}
    generator = {name for name in everything if name.startswith("generator/")}
    tables = {name for name in everything if name.startswith("embeddings/")}
    assert taught["masked_lm_loss"] == generator | tables
    assert taught["replaced_token_loss"] == everything - generator


def test_the_generator_is_a_quarter_of_the_encoder():
    generator = generator_config(kbert.EncoderConfig(hidden_size=256, num_attention_heads=4))
    assert (generator.hidden_size, generator.num_attention_heads, generator.num_hidden_layers) == (64, 1, 12)
    assert (generator.intermediate_size, generator.embedding_width) == (768, 256)


@pytest.mark.parametrize("shape", [MPNET, ELECTRA, MODERNBERT], ids=["mpnet", "electra", "modernbert"])
def test_other_encoders_have_a_generator_too(shape):
    config = tiny_encoder_config(vocab_size=50, num_attention_heads=4, **shape)
    task = TASKS[NAME]()
    model = task.build_model(BertEncoder(config, outputs=("sequence_output",)))
    require_parts(task, trained_weights(model))
    assert np.isfinite(outputs_of(model, training=True)["replaced_token_logits"]).all()


def test_with_other_outputs_the_generator_keeps_its_projection():
    own = BertEncoder(CONFIG)
    generator = BertEncoder(generator_config(CONFIG), embeddings=own.embeddings)
    inputs = {name: BATCH[name] for name in generator.input}
    states = generator.with_outputs("hidden_states")(inputs)["hidden_states"]
    np.testing.assert_array_equal(states[-1], generator(inputs)["sequence_output"])


@pytest.mark.long
def test_a_classifier_starts_from_the_encoder(run, labelled_files, tmp_path, starts):
    finetune(tiny_finetuning_config(), tmp_path / "task", *labelled_files, init_checkpoint=run)
    before, (after,) = read_checkpoint(run).tensors, starts
    encoder = {name for name in before if name.startswith(("embeddings/", "layer_"))}
    assert encoder == {name for name in after if name.startswith(("embeddings/", "layer_"))}
    assert all(np.array_equal(before[name].read(), after[name]) for name in encoder)


@pytest.mark.long
def test_a_second_run_goes_on_with_the_generator(run, records_dir, tmp_path, starts):
    pretrain(PRETRAINING, tmp_path / "second", records_dir / "train", init_checkpoint=run)
    before, (after,) = read_checkpoint(run).tensors, starts
    assert before.keys() == after.keys() and any(name.startswith("generator/layer_0/") for name in before)
    assert all(np.array_equal(before[name].read(), after[name]) for name in before)


@pytest.mark.long
def test_what_a_run_answers_and_is_written_as(run, tmp_path):
    model, checkpoint = kbert.load(run), read_checkpoint(run)
    with pytest.raises(
        ValueError, match="no class for kbert's task 'replaced_token_detection'.*encoder_only"
    ):
        write_checkpoint(checkpoint, tmp_path / "hf", "hugging_face")
    write_checkpoint(checkpoint.encoder_alone(), tmp_path / "hf", "hugging_face")
    written = read_checkpoint(tmp_path / "hf").tensors
    assert all(
        np.array_equal(tensor.read(), checkpoint.tensors[name].read()) for name, tensor in written.items()
    )
    assert {name.split("/")[0] for name in written} == {"embeddings", "layer_0"}
    fewer = Vocabulary(checkpoint.vocabulary.tokens[:15], checkpoint.vocabulary.do_lower_case)
    write_checkpoint(with_vocabulary(checkpoint, fewer), tmp_path / "fewer", "kbert")
    before, after = checkpoint.tensors, read_checkpoint(tmp_path / "fewer").tensors
    for name in ("embeddings/word_embeddings", "generator/masked_lm/output_bias"):
        np.testing.assert_array_equal(after[name].read(), before[name].read()[:15])
    with pytest.raises(ValueError, match=NAME):
        model.predict(["jump the a"])
    assert model.embed(["jump the a"]).shape == (1, PRETRAINING.encoder.hidden_size)
