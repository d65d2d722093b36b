"""A LiteRT file of every head gives the numbers of Keras, with built-in ops alone."""

import numpy as np
import pytest

import kbert
from export.litert.comparison import keras_answers
from export.litert.conversion import convert_to_litert
from export.litert.flatbuffer import checked_ops, read_model
from export.litert.litert_model import LiteRTModel
from kbert.features import ENCODER_INPUTS
from kbert.files.whole_file import write_json
from kbert.tasks import TASKS
from tests.export.litert.litert_rows import rows_for
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.long  # a conversion for every head

LABELS = ("quiet", "loud", "other")
HEADS = {
    "sequence_classification": (TASKS["sequence_classification"], {"labels": LABELS, "temperature": 1.7}),
    "multi_label_classification": (TASKS["multi_label_classification"], {"labels": LABELS}),
    "sequence_regression": (TASKS["sequence_regression"], {"takes_pairs": True}),
    "token_classification": (TASKS["token_classification"], {"labels": ("O", "B-PER", "I-PER")}),
    "bilstm": (TASKS["token_classification"], {"labels": ("O", "B-X"), "head": "bilstm", "lstm_size": 8}),
    "question_answering": (TASKS["question_answering"], {"max_query_length": 6, "doc_stride": 7}),
    "multiple_choice": (TASKS["multiple_choice"], {"num_choices": 3}),
    "cosine_similarity": (TASKS["cosine_similarity"], {"pooling": "mean", "normalize": True}),
    "multiple_negatives_ranking": (TASKS["multiple_negatives_ranking"], {"pooling": "max"}),
}
OUTPUTS = {
    "sequence_classification": {"logits": (3,), "probabilities": (3,)},
    "multi_label_classification": {"logits": (3,), "probabilities": (3,)},
    "sequence_regression": {"prediction": ()},
    "token_classification": {"logits": (12, 3), "probabilities": (12, 3)},
    "bilstm": {"logits": (12, 2), "probabilities": (12, 2)},
    "question_answering": {"start_logits": (12,), "end_logits": (12,)},
    "multiple_choice": {"logits": (3,), "probabilities": (3,)},
    "cosine_similarity": {"embedding": (16,)},
    "multiple_negatives_ranking": {"embedding": (16,)},
}


def test_every_task_on_labelled_files_is_here():
    heads = {task_class.name for task_class, _ in HEADS.values()}
    assert heads == {name for name in TASKS if TASKS[name].files and TASKS[name].text_vectors_class is None}


@pytest.mark.parametrize("name", HEADS)
def test_the_file_gives_what_keras_gives(name, tmp_path, caplog):
    task_class, settings = HEADS[name]
    task = task_class(**settings)
    loaded = random_task_model(task)
    content = convert_to_litert(
        task.serving.signatures(loaded.model, loaded.text_inputs)["ids"], [12], "float32"
    )
    assert len(checked_ops(content, name)) > 5
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    model = LiteRTModel(path, loaded.vocabulary)
    assert model.outputs == OUTPUTS[name] and model.lengths == (12,)
    require_order(content, ENCODER_INPUTS, sorted(OUTPUTS[name]))

    batch = rows_for(task, loaded.vocabulary, 12)
    answer = keras_answers(task, loaded.model, loaded.text_inputs, "random")
    expected, found = (
        task.serving.outputs_from_ids(answer, batch),
        task.serving.outputs_from_ids(model.answer_ids, batch),
    )
    assert found.keys() == expected.keys() == dict(loaded.model.output).keys()
    for output, values in expected.items():
        assert values.shape == found[output].shape and np.ptp(values) > 0.01, "the rows differ"
        np.testing.assert_allclose(found[output], values, atol=1e-5, rtol=1e-5)
    same = task.serving.same_answers(found, expected, batch)
    assert same.dtype == bool and same.ndim == 1 and same.all()
    assert not task.serving.same_answers({n: -v for n, v in found.items()}, expected, batch).all()
    check_loaded_file(path, loaded, caplog)


def require_order(content, inputs, outputs):
    """Flutter, React Native and Swift take tensors by their places, and the ids are all of one type."""
    model = read_model(content)
    (signature,) = model.signatureDefs
    graph = model.subgraphs[signature.subgraphIndex]  # the loops of an LSTM have others
    for places, named, expected in (
        (graph.inputs, signature.inputs, inputs),
        (graph.outputs, signature.outputs, outputs),
    ):
        names = {tensor.tensorIndex: tensor.name.decode() for tensor in named}
        assert [names[index] for index in places] == list(expected)


def check_loaded_file(path, loaded, caplog):
    """`kbert.load` of the file predicts as the model, or says why it does not."""
    task, vocabulary = loaded.task, loaded.vocabulary
    vocabulary.write_files(path.parent)
    write_json(TASKS.to_record(task) | {"vocabulary": vocabulary.describe()}, path.parent / "kbert.json")
    if not task.serving.row_texts:
        with pytest.raises(ValueError, match="several rows"):
            kbert.load(path)
        return
    file, model = kbert.load(path), loaded.with_max_seq_length(12)
    if task.serving.inputs == task.serving.row_texts:
        examples = [("jump the a",) * len(task.serving.inputs), ("walks",) * len(task.serving.inputs)]
        if task.serving.inputs == ("text",):
            examples = [text for (text,) in examples]
        for prediction, expected in zip(file.predict(examples), model.predict(examples), strict=True):
            assert prediction.keys() == expected.keys()
            for name, value in expected.items():
                exact = isinstance(value, str | list)
                assert prediction[name] == (value if exact else pytest.approx(value, abs=1e-5)), name
    else:
        expected = model.embed("jump the a", task.pooling.mode, task.pooling.normalize)
        np.testing.assert_allclose(file.embed("jump the a"), expected, atol=1e-5)
        cut = model.embed("jump the a", task.pooling.mode, task.pooling.normalize, dimensions=3)
        np.testing.assert_allclose(file.embed("jump the a", dimensions=3), cut, atol=1e-5)
        with pytest.raises(ValueError, match="pooling and normalize are those of .*leave them out"):
            file.embed("jump the a", normalize=True)
        file.embed("walk " * 40)
        assert "is longer than the 12 tokens" in caplog.text
        with pytest.raises(ValueError, match="embed"):
            file.predict([("jump", "walk")])
