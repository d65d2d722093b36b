"""Exports of models whose prompts have to be named: what they say, and where programs find the prompts."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from export import export_savedmodel, export_tflite
from export.litert.loaded_file import LoadedFile
from kbert.cli.warn_once import warn_once
from kbert.config.pooling_config import PoolingConfig
from kbert.config.token_vectors_config import TokenVectorsConfig
from kbert.tasks import TASKS
from kbert.tasks.similarity.prompts import other_prompts
from tests.kbert.inference.random_model import random_task_model

NAMED = {"query": "q: ", "document": ""}
SAID = "No prompt stands before the texts, but the model has query:"


@pytest.mark.parametrize(
    ("task", "pooling", "signatures", "is_said"),
    [
        ("encoder", PoolingConfig(prompts=NAMED), {"ids"}, True),
        ("encoder", PoolingConfig(prompts=NAMED, default_prompt_name="query"), {"prompt_document"}, False),
        ("encoder", PoolingConfig(prompts=NAMED, include_prompt=False), {"prompt_query"}, False),
        ("late_interaction", TokenVectorsConfig(prompts=NAMED), {"query", "document"}, False),
        ("late_interaction", TokenVectorsConfig(prompts={"search_query": "q: "}), {"query", "ids"}, False),
        ("sequence_regression", None, {"ids"}, False),
    ],
)
def test_prompts_that_no_signature_has_are_said(task, pooling, signatures, is_said, caplog):
    warn_once.cache_clear()
    model = SimpleNamespace(
        task=SimpleNamespace(name=task, pooling=pooling), signatures=dict.fromkeys(signatures)
    )
    export_savedmodel._warn_of_prompts(model)
    assert (SAID in caplog.text and "kbert.json has them" in caplog.text) == is_said == bool(caplog.text)


def test_a_program_on_a_phone_finds_the_prompts():
    vocabulary = SimpleNamespace(describe=dict)
    source = SimpleNamespace(loaded=SimpleNamespace(vocabulary=vocabulary))
    task = TASKS["encoder"]("mean")
    assert "prompts" not in export_tflite._about(source, task, (16,), {})
    about = export_tflite._about(source, task.with_pooling(PoolingConfig(prompts=NAMED)), (16,), {})
    assert (about["prompts"], about["default_prompt_name"]) == (NAMED, None)
    assert TASKS.recorded(about).pooling.prompts == NAMED


def test_files_for_phones_say_that_programs_put_prompts_before_texts(tmp_path, monkeypatch, caplog):
    warn_once.cache_clear()
    pooling = PoolingConfig("mean", prompts=NAMED)
    loaded = random_task_model(TASKS["encoder"]("mean").with_pooling(pooling), own_pooling=pooling)
    monkeypatch.setattr(export_tflite.comparison_data, "comparison_data", None)  # before its work
    with pytest.raises(TypeError):
        export_tflite.export_tflite(loaded, tmp_path / "litert")
    assert SAID in caplog.text


class _File(LoadedFile):
    """A file of vectors that answers without LiteRT."""

    source, _num_looked_at = "model.tflite", 15
    pooling = PoolingConfig("mean", prompts=NAMED, default_prompt_name="query")
    task = TASKS["encoder"]("mean").with_pooling(pooling)
    text_inputs = SimpleNamespace(max_seq_length=8)

    def __init__(self):
        pass

    def outputs(self, texts, text_pairs=None, **named):
        return {"embedding": np.ones((len(texts), 2))}, np.zeros(len(texts), bool)


@pytest.mark.parametrize("ask", ["embed", "predict"])
def test_texts_that_hold_the_prompt_are_said_of_files_for_phones(ask, caplog):
    warn_once.cache_clear()
    getattr(_File(), ask)(["a", "b", "q: c"])
    assert not caplog.messages
    getattr(_File(), ask)(["q: a", "b", "q: c"])
    (sentence,) = caplog.messages
    assert "prompt 'q: ' is put before texts most of which begin with it already" in sentence


@pytest.mark.parametrize(("default", "said"), [(None, "behind 'query'"), ("query", "behind 'document'")])
def test_files_for_phones_say_where_other_tokens_do_not_count(default, said, caplog):
    pooling = PoolingConfig(
        prompts=NAMED, include_prompt=False, prompt_lengths={"query": 3}, default_prompt_name=default
    )
    export_tflite._warn_of_prompts(pooling)
    assert f"{said} the file gives other vectors" in caplog.text
    if default:  # an older folder, in which documents have no prompt, says as much
        caplog.clear()
        export_tflite._warn_of_prompts(dataclasses.replace(pooling, prompts={"query": "q: "}))
        assert f"{said} the file gives other vectors" in caplog.text


@pytest.mark.parametrize("includes", [True, False])
def test_a_task_without_a_prompt_beside_a_default_has_its_own_signature(includes):
    pooling = PoolingConfig(
        prompts={"query": "q: "}, default_prompt_name="query", include_prompt=includes,
        prompt_lengths={} if includes else {"query": 3},
    )  # fmt: skip
    written = dataclasses.replace(pooling, prompts=NAMED)
    assert other_prompts(pooling) == other_prompts(written) == ["document"]
    assert (
        other_prompts(dataclasses.replace(pooling, prompts={"own": "o: "}, default_prompt_name="own")) == []
    )


@pytest.mark.parametrize(("task", "is_said"), [(None, True), ("document", False)])
def test_texts_without_the_prompts_of_a_model_are_said(task, is_said, caplog):
    warn_once.cache_clear()
    file = _File()
    file.task = TASKS["encoder"]("mean").with_pooling(PoolingConfig("mean", prompts=NAMED))
    file.embed(["a", "b"], task=task)
    assert (SAID in caplog.text) == is_said
