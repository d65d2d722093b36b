"""Late interaction: sentence-transformers' numbers, queries and documents, MaxSim, and what does not fit."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

import kbert
from kbert import BertEncoder
from kbert.checkpoints.conversion.resizing import with_positions, with_vocabulary
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.tokenizer_json import build_tokenizer_json
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import wordpiece_rules
from kbert.checkpoints.model_variables import require_parts
from kbert.config import DatasetConfig, FinetuningConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.config.token_vectors_config import QueryExpansion, TokenVectorsConfig
from kbert.config.vectors_config import TEXT_TASKS
from kbert.inference import answers, texts
from kbert.tasks import TASKS
from kbert.tasks.late_interaction.maxsim import maxsim
from kbert.tasks.late_interaction.token_inputs import TokenInputs, tokenize_groups
from kbert.tasks.similarity.text_groups import TextGroup
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import mostly_long, tiny_encoder_config
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import (
    dense,
    edit,
    golden,
    hops,
    list_modules,
)
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.usefixtures("eager")

TEXTS = ["the day a", "a b", "c"]
LENGTHS = "sentence_bert_config.json"
EXPANSION = {"strategy": "fixed", "length": 9}
IDENTITY = {
    "bias": False,
    "activation_function": "torch.nn.modules.linear.Identity",
    "module_input_name": "token_embeddings",
}


@pytest.fixture
def folder(tmp_path):
    """A small folder of a Transformer, a Dense, a Normalize and a MultiVectorMask."""
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, tokenizer={"do_lower_case": True})
    list_modules(folder, "Transformer", "Dense", "Normalize", "MultiVectorMask")
    dense(folder, 1, 8, 4, **IDENTITY)
    edit(folder / "2_Normalize" / "config.json", module_input_name="token_embeddings")
    edit(folder / "3_MultiVectorMask" / "config.json", skiplist_words=["a", "not a piece"])
    edit(folder / "config_sentence_transformers.json", model_type="MultiVectorEncoder")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(["colbert", "colbert_plain"], ("colbert",)))
def test_vectors_are_those_of_sentence_transformers(name, tmp_path):
    source, expected = golden(name)
    for model in hops(kbert.load(source), tmp_path):
        queries = model.embed(expected["queries"], task="query")
        documents = model.embed(expected["texts"], task="document")
        for found, right in ((queries, expected["query_vectors"]), (documents, expected["documents"])):
            for matrix, numbers in zip(found, right, strict=True):
                np.testing.assert_allclose(matrix, numbers, atol=2e-5)
        np.testing.assert_allclose(model.similarity(queries, documents), expected["similarity"], rtol=2e-5)
    ranked = model.rank(expected["queries"][0], expected["texts"])
    assert [row["index"] for row in ranked] == np.argsort(-np.array(expected["similarity"][0])).tolist()


def test_vectors_of_tokens_are_dense_of_length_1_and_punctuation_is_left_out(folder):
    loaded = kbert.load(folder)
    plain, skipped = loaded.vocabulary.tokens.index("a"), loaded.embed(TEXTS, task="document")
    weights = read_checkpoint(folder).tensors["token_vectors/dense_0/kernel"].read()
    for text, matrix, query in zip(TEXTS, skipped, loaded.embed(TEXTS, task="query"), strict=True):
        inputs = loaded.inputs([text])
        hidden = loaded.encoder(inputs)["sequence_output"].numpy()[0] @ weights
        expected = hidden / np.linalg.norm(hidden, axis=-1, keepdims=True)
        np.testing.assert_allclose(query, expected, atol=1e-5)
        np.testing.assert_allclose(matrix, expected[inputs["input_ids"][0] != plain], atol=1e-5)
    for with_task, without in zip(skipped, loaded.embed(TEXTS), strict=True):
        np.testing.assert_allclose(with_task, without)
    with pytest.raises(ValueError, match="expected for each text a matrix"):
        loaded.similarity(skipped[0][0], skipped)
    with pytest.raises(ValueError, match=r"texts: received quantized vectors \(int8\)"):
        loaded.similarity(skipped, kbert.quantize_embeddings(skipped, "int8"))


def test_queries_and_documents_have_their_own_lengths(folder, caplog):
    edit(folder / LENGTHS, query_length=5, document_length=4)
    loaded = kbert.load(folder)
    lengths = {
        task: [len(m) for m in loaded.embed(["the day c d", "c"], task=task)] for task in ("query", None)
    }
    assert lengths == {"query": [5, 3], None: [6, 3]}
    assert [len(matrix) for matrix in loaded.embed(["the day c d", "c"], task="document")] == [4, 3]
    groups = [TextGroup((text, "the day c", "c d b"), None) for text in ("b", "the day c d")]
    with caplog.at_level("INFO", logger="absl"):
        features = tokenize_groups(groups, ["", "", ""], loaded.text_inputs, loaded.vectors)
    assert {values.shape[:2] for values in features.values()} == {(2, 3)}
    for cut in (
        "1 of 2 texts (50%) are longer than query_length=5",
        "4 of 4 texts (100%) are longer than document_length=4",
    ):
        assert f"{cut} tokens, and are cut at the end." in caplog.messages


def test_batches_have_room_for_documents_longer_than_the_model(folder, monkeypatch):
    edit(folder / LENGTHS, document_length=14, max_seq_length=6)
    loaded, split, lengths = kbert.load(folder), texts.split_to_fit, []
    for module in (texts, answers):
        monkeypatch.setattr(module, "split_to_fit", lambda *call: lengths.append(call[2]) or split(*call))
    loaded.embed(TEXTS, task="document")
    loaded.predict(("a", "b"))
    assert lengths == [14, 14]


@pytest.mark.parametrize("token", ["[Q]", "[Q] "])
def test_a_prompt_may_be_a_token(folder, tmp_path, caplog, token):
    """As those of published models. An ordinary text has no such token, but where it begins so."""
    *tokens, _ = (folder / "vocab.txt").read_text().splitlines()
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    edit(folder / "tokenizer_config.json", added_tokens_decoder={str(len(tokens)): {"content": token}})
    edit(folder / "config_sentence_transformers.json", prompts={"query": "[Q] ", "document": ""})
    loaded = kbert.load(folder)
    assert loaded.vectors.prompt_tokens == (token,)
    begin, b, c, end = (loaded.vocabulary.ids[text] for text in ("[CLS]", "b", "c", "[SEP]"))
    make_inputs = TokenInputs(loaded.vectors, loaded.vocabulary, 6, "query")
    texts = ["[Q] c b", "c [Q] b", "[Q] ", "", "[Q] c b c b c b"]
    ids = [[i for i in row if i] for row in make_inputs(tf.constant(texts))["input_ids"].numpy().tolist()]
    mark = len(tokens)
    assert [ids[0], *ids[2:]] == [
        [begin, mark, c, b, end], [begin, mark, end], [begin, end], [begin, mark, c, b, c, end]
    ]  # fmt: skip
    assert mark not in ids[1]
    document = loaded.embed("c b", prompt_name="query")
    np.testing.assert_allclose(document, loaded.embed("[Q] c b"), atol=1e-6)
    assert 'task="query" reads them as queries' in caplog.text
    for model in hops(loaded, tmp_path):
        matrices = model.embed("c b", task="query"), model.embed("[Q] c b"), loaded.embed("[Q] c b")
        for matrix in matrices:
            np.testing.assert_allclose(matrix, matrices[0], atol=1e-6)
        found = model.signatures["query"].function(text=tf.constant(["c b"]))["vectors"][0]
        np.testing.assert_allclose(found, matrices[0], atol=1e-6)


def test_a_vocabulary_without_the_tokens_that_a_model_adds_to_texts_is_refused(folder):
    """`kbert vocab --merge_into` replaces [unused0] first, which marks queries in published models."""
    checkpoint = read_checkpoint(folder)
    expansion = QueryExpansion(9, token="c")
    marked = TokenVectorsConfig(prompts={"query": "d "}, prompt_tokens=("d ",), query_expansion=expansion)
    checkpoint = dataclasses.replace(checkpoint, pooling=marked)
    tokens = checkpoint.vocabulary.tokens
    for lost in ("c", "d"):
        other = checkpoint.vocabulary.with_tokens(["new" if token == lost else token for token in tokens])
        with pytest.raises(ValueError, match=rf"adds the tokens \['{lost}'\] to texts, and the new vocab"):
            with_vocabulary(checkpoint, other)
    added = checkpoint.vocabulary.with_tokens([*tokens, "new"])
    assert with_vocabulary(checkpoint, added).vocabulary.tokens == added.tokens


def test_tokens_of_prompts_are_for_vectors_of_tokens_and_last_in_the_vocabulary(caplog):
    marked = TokenVectorsConfig(prompts={"query": "[Q] "}, prompt_tokens=("[Q] ",))
    assert TokenVectorsConfig().with_prompts(marked) == marked
    assert PoolingConfig("mean").with_prompts(marked) == PoolingConfig("mean")
    assert "prompts are tokens (['[Q] '])" in caplog.text
    vocabulary = Vocabulary([*BERT_TOKENS, "[Q]", "a"], True)
    with pytest.raises(ValueError, match=r"\['\[Q\]'\] are not the last of the vocabulary"):
        build_tokenizer_json(vocabulary, wordpiece_rules(vocabulary), ["[Q] "])


@pytest.mark.long
def test_lengths_beyond_the_model_s_answer_everywhere_as_in_a_longer_model(folder, tmp_path):
    """sentence-transformers cuts at max_seq_length only where a task has no length of its own."""
    text, all_found = "the day c d " * 4, []
    for longest in (6, 16):
        edit(folder / LENGTHS, query_length=9, document_length=14, max_seq_length=longest)
        (tmp_path / str(longest)).mkdir()
        models = hops(kbert.load(folder), tmp_path / str(longest))
        found = [
            [model.embed(text, task=task) for task in TEXT_TASKS]
            + [model.signatures[task].function(text=tf.constant([text]))["vectors"][0] for task in TEXT_TASKS]
            for model in models
        ]
        assert [len(vectors) for vectors in found[0][2:]] == [9, 14]
        assert {len(model.embed(text)) for model in models} == {longest}, "no task, no length of its own"
        all_found.extend(found)
    for found in all_found:
        for vectors, right in zip(found, all_found[0], strict=True):
            np.testing.assert_allclose(vectors, right, atol=1e-6)


@pytest.mark.parametrize(("strategy", "attend"), [("fixed", False), ("min", True)])
def test_short_queries_are_filled_with_masks(folder, strategy, attend):
    edit(folder / LENGTHS, query_expansion={"strategy": strategy, "length": 7, "attend": attend})
    loaded = kbert.load(folder)
    short, long = loaded.embed(["c", "c d c d c d c d"], task="query")
    assert (len(short), len(long)) == (7, 7 if strategy == "fixed" else 10)
    ids = np.full((1, 7), loaded.vocabulary.mask_id, np.int32)
    ids[0, :3] = loaded.inputs(["c"])["input_ids"][0]
    mask = np.ones((1, 7), np.int32) if attend else (np.arange(7) < 3).astype(np.int32)[None]
    inputs = {"input_ids": ids, "input_mask": mask, "segment_ids": np.zeros_like(ids)}
    found = loaded.model({name: value[:, None] for name, value in inputs.items()})["embeddings"][0, 0]
    np.testing.assert_allclose(short, found, atol=1e-5)
    alone = loaded.embed("c", task="query")  # whatever else is in the batch
    np.testing.assert_allclose(alone, short, atol=1e-5)


def test_maxsim_is_the_sum_of_the_largest_products():
    generator = np.random.default_rng(5)
    queries, documents = (
        [generator.standard_normal((length, 3)).astype(np.float32) for length in lengths]
        for lengths in ((2, 5), (1, 4, 0, 7))
    )
    expected = [
        [
            sum(max(q @ d for d in document) for q in query) if len(document) else -1e9
            for document in documents
        ]
        for query in queries
    ]
    np.testing.assert_allclose(maxsim(queries, documents), expected, atol=1e-5)
    mean = np.array(expected) / [[2], [5]]
    np.testing.assert_allclose(maxsim(queries, documents, True), mean, atol=1e-5)
    assert maxsim(queries, []).shape == (2, 0)
    assert maxsim([queries[0][:0]], documents).shape == (1, len(documents))


def test_whole_numbers_do_not_come_round(folder):
    loaded, generator = kbert.load(folder), np.random.default_rng(6)
    for dtype in (np.int16, np.float16):
        queries, documents = (
            [generator.integers(0, 120, (length, 16)).astype(dtype) for length in lengths]
            for lengths in ((2, 5), (3, 4))
        )
        exact = [[matrix.astype(np.float64) for matrix in matrices] for matrices in (queries, documents)]
        np.testing.assert_allclose(loaded.similarity(queries, documents), maxsim(*exact), rtol=1e-6)


WRONG = {
    "no mask": (["Transformer", "Dense"], LENGTHS, {}, "lists the modules Transformer, Dense of a Multi"),
    "an expansion": (
        None,
        LENGTHS,
        {"query_expansion": {"length": 0, "strategy": "min"}},
        "length=0 must be",
    ),
    "a strategy": (None, LENGTHS, {"query_expansion": {"length": 4, "strategy": "x"}}, "strategy='x' is not"),
    "a part of one": (
        None,
        LENGTHS,
        {"query_expansion": {"length": 4}},
        "should be an object of length, strat",
    ),
    "a short query": (
        None,
        LENGTHS,
        {"query_expansion": EXPANSION, "query_length": 5},
        "query_length=5 is less",
    ),
    "a similarity": (
        None,
        "config_sentence_transformers.json",
        {"similarity_fn_name": "cosine"},
        "maxsim, mean",
    ),
    "a vector": (
        None,
        "1_Dense/config.json",
        {"module_input_name": "sentence_embedding"},
        "'token_embeddings'",
    ),
    "no name of a vector": (
        None,
        "2_Normalize/config.json",
        {"module_input_name": None},
        "2_Normalize.*module_input_name='sentence_embedding', but here it is 'token_embeddings'",
    ),
}


@pytest.mark.parametrize(("modules", "file", "values", "sentence"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(folder, modules, file, values, sentence):
    if modules:
        list_modules(folder, *modules)
    edit(folder / file, **values)
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(folder)


def test_an_unknown_token_of_the_expansion_is_named_and_no_other_format_has_it(folder, tmp_path):
    with pytest.raises(ValueError, match="makes other vectors of texts than one for each.*=pooling"):
        write_checkpoint(read_checkpoint(folder), tmp_path / "google", "google", ["hidden_act"])
    edit(folder / LENGTHS, query_expansion=EXPANSION | {"token": "[Q]"})
    with pytest.raises(ValueError, match="token='.Q.' is not in the vocabulary"):
        kbert.load(folder).embed("c", task="query")


def test_a_dense_without_names_reads_the_vectors_of_tokens(folder):
    """As PyLate wrote it; MultiVectorEncoder gives the names."""
    named = read_checkpoint(folder).pooling
    edit(folder / "1_Dense" / "config.json", module_input_name=None, module_output_name=None)
    assert named.dense and read_checkpoint(folder).pooling == named


def test_everything_that_a_folder_says_is_written_back(folder, tmp_path):
    said = {"query_expansion": EXPANSION | {"token": "c"}, "document_length": 12}
    edit(folder / LENGTHS, **said)
    further = {"prompts": {"query": "a "}, "similarity_fn_name": "meanmaxsim", "default_prompt_name": "query"}
    edit(folder / "config_sentence_transformers.json", **further)
    edit(folder / "3_MultiVectorMask" / "config.json", skiplist_tasks="query", keep_only_token_ids=[5, 6])
    config = read_checkpoint(folder).pooling
    assert config == TokenVectorsConfig(
        config.dense,
        True,
        None,
        12,
        QueryExpansion(9, token="c"),
        ("a", "not a piece"),
        ("query",),
        (5, 6),
        **further,
    )
    models = hops(kbert.load(folder), tmp_path)
    assert [model.vectors for model in models] == [config] * 3
    expected, *_, back = (model.embed(TEXTS, task="document") for model in models)
    for found, right in zip(back, expected, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-6)


def test_the_model_has_the_parts_that_its_task_names_and_is_saved_by_keras(folder, tmp_path):
    encoder = BertEncoder(tiny_encoder_config())
    task = TASKS["late_interaction"](document_length=9).with_pooling(read_checkpoint(folder).pooling)
    assert (task.pooling.document_length, task.pooling.normalize) == (9, True)
    model = task.build_model(encoder)
    require_parts(task, [variable.path for variable in model.trainable_variables])
    ids = np.ones((2, 1, 4), np.int32)
    batch = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids}
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(batch)["embeddings"], model(batch)["embeddings"], atol=1e-6)


def test_what_fills_a_query_gathers_no_padding():
    """Mask tokens further from the text than local attention looks: else each length and training would have
    vectors of its own."""
    local = {"local_attention": 4, "global_attn_every_n_layers": 2, "hidden_dropout_prob": 0.0}
    config = tiny_encoder_config(num_hidden_layers=3, attention_probs_dropout_prob=0.0, **local)
    task = TASKS["late_interaction"]().with_pooling(TokenVectorsConfig(query_expansion=QueryExpansion(14)))
    model = task.build_model(BertEncoder(config))
    ids = np.full((2, 1, 24), 7, np.int32)
    mask = (np.arange(24) < np.array([[[3]], [[6]]])).astype(np.int32)
    batch = {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * ids}
    vectors = [
        model({name: values[:, :, :length] for name, values in batch.items()}, training=training)[
            "embeddings"
        ]
        for length in (14, 24)
        for training in (False, True)
    ]
    for other in vectors[1:]:
        np.testing.assert_allclose(other[:, :, :14], vectors[0][:, :, :14], atol=1e-5)


def test_a_model_whose_queries_are_filled_is_evaluated_in_its_precision_or_not_at_all(tmp_path):
    """`embed` has documents in bfloat16; an evaluation has queries and documents in one batch, in float32."""
    task = TASKS["late_interaction"]().with_pooling(TokenVectorsConfig(query_expansion=QueryExpansion(9)))
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"text": "the day", "text_pair": "a walk"}\n')
    loaded = random_task_model(task, precision="bfloat16", own_pooling=task.pooling)
    config = FinetuningConfig(task=task.name, max_seq_length=24, dataset=DatasetConfig(text_pair="text_pair"))
    with pytest.raises(ValueError, match="precision=bfloat16: random fills its .*in float32 alone: load it"):
        loaded.evaluate(file, config=config)


def test_fewer_positions_than_a_document_s_length_are_refused(folder):
    edit(folder / LENGTHS, document_length=14)
    with pytest.raises(ValueError, match="is 14, but the encoder has 13 positions"):
        with_positions(read_checkpoint(folder), 13)
    assert with_positions(read_checkpoint(folder), 14).encoder.max_position_embeddings == 14


def test_features_of_any_length_have_it():
    """`fit` compares the shapes of a batch with these."""
    shapes = [feature.shape for feature in TASKS["late_interaction"]().features(-1).values()]
    assert all(shape[-1] == -1 for shape in shapes if len(shape) == 2)
