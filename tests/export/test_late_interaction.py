"""What sentence-transformers' MultiVectorEncoder answers, by a SavedModel of either tokenizer."""

import numpy as np
import pytest
import tensorflow as tf

import kbert
from export.export_savedmodel import export_savedmodel
from export.gate.saved_model_session import SavedModelSession
from kbert.tasks import TASKS
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import golden
from tests.kbert.inference.random_model import random_task_model


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text_ops"),
    [("colbert", "tf_text"), ("colbert_plain", "core")],
)
def test_the_vectors_of_queries_and_documents(name, text_ops, tmp_path):
    source, expected = golden(name)
    report = export_savedmodel(kbert.load(source), tmp_path / "served", text_ops=text_ops)
    session, module = SavedModelSession(report["path"]), tf.saved_model.load(report["path"])
    for task, texts, matrices in (
        ("query", expected["queries"], expected["query_vectors"]),
        ("document", expected["texts"], expected["documents"]),
    ):
        by_session = session.run(task, {"text": texts})
        by_loading = module.signatures[task](text=tf.constant(texts))
        for answer in (by_session, {key: value.numpy() for key, value in by_loading.items()}):
            for found, mask, right in zip(answer["vectors"], answer["mask"], matrices, strict=True):
                np.testing.assert_allclose(found[mask == 1], right, atol=2e-5)
    pairs = {"text": expected["queries"][:1] * len(expected["texts"]), "text_pair": expected["texts"]}
    found = session.run("serving_default", pairs)["maxsim"]
    np.testing.assert_allclose(found, expected["similarity"][0], rtol=2e-5)


def test_a_file_for_phones_is_refused(tmp_path):
    loaded = random_task_model(TASKS["late_interaction"]().with_pooling(None))
    with pytest.raises(
        ValueError, match="late_interaction, whose vectors no LiteRT file gives; use a SavedModel"
    ):
        loaded.export_litert(tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_queries_of_tokens_without_attention_answer_in_float32(tmp_path):
    loaded = random_task_model(TASKS["late_interaction"]().with_pooling(None))
    assert loaded.task.reads_unattended
    with pytest.raises(ValueError, match="answered in float32, .* export it in"):
        export_savedmodel(loaded, tmp_path / "served", precision="bfloat16")
    assert not (tmp_path / "served").exists()
