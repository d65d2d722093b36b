"""Folders of sentence-transformers: its numbers at every place, and what kbert does not have is named."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file
from scipy import special

import kbert
from kbert.checkpoints.conversion.resizing import with_vocabulary
from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.sentence_transformers import LENGTH_FILES, read_sentence_modules
from kbert.checkpoints.hugging_face.sentence_vectors import pooling_values
from kbert.checkpoints.model_loading import initialize
from kbert.checkpoints.model_variables import require_parts
from kbert.config import DatasetConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from kbert.tasks.similarity.vectors import similarities
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import mostly_long, tiny_finetuning_config
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.foreign_files import edit
from tests.kbert.checkpoints.random_checkpoint import ROBERTA, random_checkpoint
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary
from tests.places import SHARED_DATA

GOLDEN = SHARED_DATA / "golden" / "retrieval"
MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
pytestmark = pytest.mark.usefixtures("eager")

VECTORS = (
    "cls_and_mean", "cut_to_8", "lasttoken", "length_file_of_distilbert", "mean_sqrt_len", "dense_tanh",
    "dense_identity_nobias",
)  # fmt: skip
ABSENT = ("sentence_bert_config.json", "config_sentence_transformers.json")
COMMIT = "1" * 40
QUERY = {"query": "find the text: ", "document": "text: "}


def golden(name):
    if not (GOLDEN / name).is_dir():
        pytest.skip(
            f"FIDELITY NOT CHECKED: {GOLDEN / name} is not here (vectors of sentence-transformers 6.2)"
        )
    return GOLDEN / name, json.loads((GOLDEN / name / "expected.json").read_text())


# ------------------------------------------------------------------------------ settings alone


@pytest.fixture
def folder(tmp_path):
    """A small folder of a Transformer and a Pooling."""
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, tokenizer={"do_lower_case": True})
    list_modules(folder, "Transformer", "Pooling")
    edit(folder / "1_Pooling" / "config.json", embedding_dimension=8, pooling_mode="mean")
    edit(folder / "config_sentence_transformers.json", model_type="SentenceTransformer", prompts=QUERY)
    return folder


def list_modules(folder, *kinds):
    modules = [
        {
            "idx": index,
            "path": "" if kind.endswith("Transformer") else f"{index}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.mark.parametrize("name", LENGTH_FILES)
def test_the_length_stands_in_any_of_seven_files(folder, name):
    assert read_sentence_modules(folder).max_seq_length is None
    edit(folder / name, max_seq_length=9)
    edit(
        folder / LENGTH_FILES[-1], max_seq_length=9 if name == LENGTH_FILES[-1] else 11
    )  # the first one counts
    assert read_sentence_modules(folder).max_seq_length == read_checkpoint(folder).max_seq_length == 9


def test_without_a_length_it_is_the_tokenizers_or_the_positions(folder):
    assert read_checkpoint(folder).max_seq_length == 16
    edit(folder / "tokenizer_config.json", model_max_length=12)
    assert read_checkpoint(folder).max_seq_length == 12


def test_a_length_that_counts_the_row_of_padding(folder):
    """As of KLUE's RoBERTas with WordPieces, which are written as a BERT of one segment."""
    roberta = {"model_type": "roberta", "architectures": ["RobertaModel"], "pad_token_id": 0}
    edit(folder / "config.json", **roberta, type_vocab_size=1)
    edit(folder / "sentence_bert_config.json", max_seq_length=16)
    assert read_checkpoint(folder).max_seq_length == 15


@pytest.mark.parametrize("known", [(), ("sentence_bert_config.json",), ABSENT], ids=len)
def test_a_cache_is_believed_only_where_it_says_that_the_hub_lacks_a_file(folder, tmp_path, caplog, known):
    """Where programs have asked for some files alone, others may be on the hub."""
    place = tmp_path / "models--org--name"
    snapshot, marks = (shutil.copytree(folder, place / name / COMMIT) for name in ("snapshots", ".no_exist"))
    shutil.rmtree(marks)
    for name in known:
        (marks / name).parent.mkdir(parents=True, exist_ok=True)
        (marks / name).touch()
    (snapshot / ABSENT[1]).unlink()
    (tmp_path / "link").symlink_to(snapshot)
    notes = read_checkpoint(tmp_path / "link").report.notes
    for name in ABSENT:
        assert any(f"{name} is not there" in note for note in notes) is (name not in known)
        assert (f"{name} is not there" in caplog.text) is (name not in known)
    assert ("by hf://org/name." in caplog.text) is (len(known) < 2)


@pytest.mark.parametrize("kind", ["Pooling", "Dense"])
def test_a_listed_module_that_is_not_there_is_refused_by_name(folder, kind):
    list_modules(folder, "Transformer", "Pooling", "Dense")
    if kind == "Pooling":
        shutil.rmtree(folder / "1_Pooling")
    path = rf"{folder.name}/\d_{kind}/config.json"
    with pytest.raises(
        ValueError, match=f"modules.json lists .*{path}, are not there: .* Copy all of its files"
    ):
        read_sentence_modules(folder)


def test_a_copy_without_the_length_of_texts_is_warned_of(folder, caplog):
    """sentence-transformers has always written it; prompts only from release 2 on."""
    (folder / ABSENT[1]).unlink()
    notes = read_checkpoint(folder).report.notes
    assert all(any(f"{name} is not there" in note for note in notes) for name in ABSENT)
    assert "copy all files" in caplog.text and ABSENT[1] not in caplog.text


def test_what_a_folder_says_is_kept_and_written_back(folder, tmp_path):
    edit(folder / "1_Pooling" / "config.json", pooling_mode=["max", "weightedmean"], include_prompt=False)
    further = {"default_prompt_name": "query", "similarity_fn_name": "dot", "truncate_dim": 7}
    edit(folder / "config_sentence_transformers.json", **further)
    read = read_checkpoint(folder)
    pooling = read.pooling
    assert (pooling.mode, pooling.normalize, pooling.include_prompt) == ("max+weightedmean", False, False)
    assert {name: getattr(pooling, name) for name in further} == further and pooling.prompts == QUERY
    write_checkpoint(read, tmp_path / "run", "kbert")
    write_checkpoint(read_checkpoint(tmp_path / "run"), tmp_path / "back", "hugging_face")
    assert read_checkpoint(tmp_path / "back").pooling == pooling
    written = json.loads((tmp_path / "back" / "config_sentence_transformers.json").read_text())
    assert written == further | {"prompts": QUERY, "model_type": "SentenceTransformer"}


def test_texts_that_are_lower_cased_for_a_cased_tokenizer_stay_so(folder, tmp_path):
    words = [word.title() for word in foreign_files.WORDS]
    words[:2] = ["über", "und"]
    (folder / "vocab.txt").write_text("\n".join([*foreign_files.TOKENS[: -len(words)], *words]) + "\n")
    edit(folder / "tokenizer_config.json", do_lower_case=False)
    edit(folder / "sentence_bert_config.json", do_lower_case=True)
    kbert.convert(folder, tmp_path / "run")
    kbert.convert(tmp_path / "run", tmp_path / "back", "hugging_face")
    for name, is_lower in (("sentence_bert_config.json", True), ("tokenizer_config.json", False)):
        assert json.loads((tmp_path / "back" / name).read_text())["do_lower_case"] is is_lower
    first, again = kbert.load(folder), kbert.load(tmp_path / "back")
    assert again.vocabulary.rules == first.vocabulary.rules
    np.testing.assert_array_equal(again.embed("ÜBER Und"), first.embed("über und"))


def test_lower_casing_for_another_tokenizer_is_refused_by_name(tmp_path):
    model = random_checkpoint("encoder", vocabulary=bpe_vocabulary([("a", "b")]), **ROBERTA)
    model = dataclasses.replace(model, pooling=PoolingConfig())
    write_checkpoint(model, tmp_path / "m", "hugging_face")
    edit(tmp_path / "m" / "sentence_bert_config.json", do_lower_case=True)
    with pytest.raises(ValueError, match="is bpe: lower-case them yourself; .*=do_lower_case.$"):
        read_checkpoint(tmp_path / "m")
    assert read_checkpoint(tmp_path / "m", allow_unmatched="do_lower_case").vocabulary.kind == "bpe"


def test_tokens_of_prompts_are_counted_anew_for_another_vocabulary(folder):
    """A prompt of two pieces is one word of the new vocabulary."""
    old = read_checkpoint(folder).vocabulary
    piece = next(token for token in old.tokens if token.startswith("##"))
    word = next(token for token in old.tokens if token.isalpha()) + piece[2:]
    assert word not in old.ids
    edit(folder / "1_Pooling" / "config.json", include_prompt=False)
    edit(folder / "config_sentence_transformers.json", prompts={"query": f"{word} "})
    checkpoint = read_checkpoint(folder)
    assert checkpoint.pooling.prompt_lengths == {"query": 3}  # with [CLS]
    changed = with_vocabulary(checkpoint, Vocabulary([*old.tokens, word], do_lower_case=True))
    assert changed.pooling.prompt_lengths == {"query": 2}


FORWARD = {"method": "forward", "method_output_name": "last_hidden_state"}
REFUSED = {
    "a prompt that is not there": (
        "config_sentence_transformers.json",
        {"default_prompt_name": "passage"},
        r"default_prompt_name='passage' is not among the prompts \(query, document\)",
    ),
    "a prompt that is no text": (
        "config_sentence_transformers.json",
        {"prompts": {"query": 3}},
        "has prompts that are no texts",
    ),
    "a special token in a prompt": (
        "config_sentence_transformers.json",
        {"prompts": {"query": "ask [MASK] "}},
        r"the prompt 'query' is 'ask \[MASK\] ', and its tokenizer never splits '\[MASK\]'.*=prompts",
    ),
    "a similarity": (
        "config_sentence_transformers.json",
        {"similarity_fn_name": "angle"},
        "cosine, dot, euc",
    ),
    "another kind": (
        "config_sentence_transformers.json",
        {"model_type": "SparseEncoder"},
        "lists the modules Transformer, Pooling, Normalize of a SparseEncoder",
    ),
    "PyLate": ("config_sentence_transformers.json", {"query_prefix": "[Q] "}, "query_prefix=.*PyLate's"),
    "a width below 1": ("config_sentence_transformers.json", {"truncate_dim": 0}, "truncate_dim should be"),
    "another output": (
        "sentence_bert_config.json",
        {"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}},
        "method_output_name is 'pooler_output', but kbert's is 'last_hidden_state'.*=modality_config",
    ),
    "texts through a chat template": (
        "sentence_bert_config.json",
        {"modality_config": {name: FORWARD for name in ("text", "message")}},
        "modality_config is of 'text, message', but .* no chat template; .*=modality_config",
    ),
    "messages alone": (
        "sentence_bert_config.json",
        {"modality_config": {"message": FORWARD | {"format": "flat"}}},
        "modality_config is of 'message', but .*=modality_config",
    ),
    "another task": (
        "sentence_bert_config.json",
        {"transformer_task": "fill-mask"},
        "transformer_task is 'fill-mask'",
    ),
    "a cut query": (
        "sentence_bert_config.json",
        {"query_length": 8},
        "query_length=8, which kbert follows in a MultiVectorEncoder alone.*=query_length",
    ),
    "arguments": (
        "sentence_bert_config.json",
        {"model_kwargs": {"a": 1}},
        "gives transformers' classes no argu",
    ),
    "an unknown pooling": (
        "1_Pooling/config.json",
        {"pooling_mode": "first"},
        "pools by first; kbert pools by cls",
    ),
    "a vector elsewhere": (
        "2_Normalize/config.json",
        {"module_input_name": "x"},
        "module_input_name='x', but here it is 'sentence_embedding'",
    ),
}


@pytest.mark.parametrize(("file", "values", "sentence"), REFUSED.values(), ids=REFUSED)
def test_settings_that_kbert_does_not_follow_are_named(folder, file, values, sentence):
    list_modules(folder, *MODULES)
    edit(folder / file, **values)
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(folder)


def test_modules_that_kbert_does_not_have_are_named_and_their_encoder_can_be_read(folder):
    list_modules(folder, "Transformer", "Pooling", "LayerNorm")
    with pytest.raises(
        ValueError, match="Transformer, Pooling, LayerNorm of a .* allow_unmatched=modules.json"
    ):
        read_checkpoint(folder)
    with pytest.raises(ValueError, match="LayerNorm of a .* allow_unmatched=modules.json"):
        read_checkpoint(folder, allow_unmatched="*")  # a glob leaves out nothing by itself
    encoder = read_checkpoint(folder, allow_unmatched="modules.json")
    assert encoder.pooling is None
    # The encoder's own length and casing are followed, also where it lies in a folder of its own.
    inner = folder / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"):
        (folder / name).rename(inner / name)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([modules[0] | {"path": inner.name}, *modules[1:]]))
    edit(inner / "sentence_bert_config.json", max_seq_length=9)
    within = read_checkpoint(folder, allow_unmatched="modules.json")
    assert (within.source, within.max_seq_length, within.encoder) == (str(folder), 9, encoder.encoder)
    assert any(f"the model in {inner} is read alone" in note for note in within.report.notes)


def test_a_glob_drops_nothing_that_kbert_follows(folder):
    edit(folder / "sentence_bert_config.json", max_seq_length=9)
    expected, found = read_checkpoint(folder), read_checkpoint(folder, allow_unmatched=["m*", "*"])
    assert (found.pooling, found.max_seq_length) == (expected.pooling, 9) and found.pooling.prompts == QUERY


HEADS = {
    "BertForMaskedLM": ("masked_lm",),
    "BertForPreTraining": ("masked_lm", "next_sentence"),
    "BertForSequenceClassification": ("classification",),
}


@pytest.mark.parametrize("architecture", mostly_long(HEADS, ("BertForMaskedLM",)))
def test_a_head_behind_the_encoder_changes_no_vectors(folder, tmp_path, architecture):
    """sentence-transformers loads the encoder alone, whatever class config.json names."""
    settings = {"similarity_fn_name": "dot", "default_prompt_name": "query"}
    edit(folder / "config_sentence_transformers.json", **settings)
    headed = shutil.copytree(folder, tmp_path / "headed")
    body = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    tensors = foreign_files.hugging_face_names(
        foreign_files.random_weights(HEADS[architecture], num_labels=1)
    )
    foreign_files.write_safetensors(headed / "model.safetensors", tensors | body)
    edit(headed / "config.json", architectures=[architecture], id2label={"0": "LABEL_0"})
    plain, texts = kbert.load(folder), ["the day", "a b"]
    expected = plain.embed(texts)
    for model in hops(kbert.load(headed), tmp_path):
        assert (model.task.name, model.own_pooling) == (plain.task.name, plain.own_pooling)
        np.testing.assert_allclose(model.embed(texts), expected, atol=1e-6)
        np.testing.assert_allclose(
            model.similarity(expected, expected), plain.similarity(expected, expected), atol=1e-6
        )
    report = read_checkpoint(headed).report
    assert any(
        "is left out: modules.json makes vectors of the encoder alone" in note for note in report.notes
    )
    assert any(name.startswith(("cls.", "classifier.")) for name, _ in report.left_over)


def test_modules_stand_in_the_order_of_their_list(folder):
    """As sentence-transformers reads them; `idx` is a name."""
    list_modules(folder, "Transformer", "Pooling")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([module | {"idx": -module["idx"]} for module in modules]))
    assert read_sentence_modules(folder).vectors.mode == "mean"
    (folder / "modules.json").write_text(json.dumps(modules[::-1]))
    with pytest.raises(ValueError, match="lists the modules Pooling, Transformer of a"):
        read_sentence_modules(folder)


@pytest.mark.parametrize("mode", ["mean+mean", "cls+mean", "mean+cls", "cls+cls+max"])
def test_poolings_come_back_in_their_order_and_number(mode):
    width, pooling = 8, PoolingConfig(mode)
    values = pooling_values(pooling, width)
    listed = [name for name in values.get("pooling_mode", ())]
    booleans = [name for name, value in values.items() if name.startswith("pooling_mode_") and value]
    assert len(listed or booleans) == len(pooling.modes)


def test_the_classifier_of_setfit_is_named(folder):
    (folder / "model_head.pkl").write_bytes(b"a pickle")
    with pytest.raises(ValueError, match="holds model_head.pkl, SetFit's classifier.*=model_head.pkl"):
        read_checkpoint(folder)
    assert read_checkpoint(folder, allow_unmatched="model_head.pkl").pooling.mode == "mean"


def test_each_prompt_beside_a_default_one_has_a_signature(folder):
    edit(folder / "config_sentence_transformers.json", default_prompt_name="query")
    loaded = kbert.load(folder)
    signatures = loaded.signatures
    assert [name for name in signatures if name.startswith(("prompt_", "ids_"))] == ["prompt_document"]
    found = signatures["prompt_document"].function(text=tf.constant(["the day", ""]))["embedding"]
    np.testing.assert_allclose(found, loaded.embed(["the day", ""], prompt_name="document"), atol=1e-6)
    edit(folder / "config_sentence_transformers.json", default_prompt_name=None)
    assert "prompt_document" not in kbert.load(folder).signatures  # the text itself may have it


def test_formats_without_prompts_and_activations_refuse_them(folder, tmp_path):
    with pytest.raises(ValueError, match="says prompts of its vectors, and google has no place.*=prompts"):
        write_checkpoint(read_checkpoint(folder), tmp_path / "google", "google", ["hidden_act"])
    scores = read_checkpoint(one_output(tmp_path / "scores"))
    with pytest.raises(
        ValueError, match="goes through a sigmoid, and google has no place for it.*=activation_fn"
    ):
        write_checkpoint(scores, tmp_path / "google", "google", ["hidden_act", "problem_type"])
    assert not (tmp_path / "google").exists()


# ------------------------------------------------------------------------------ equal numbers


def expected_vectors(name, folder):
    """(a loaded model, texts, their vectors by sentence-transformers)"""
    source, expected = golden(name)
    if name != "prompts_not_pooled":
        return kbert.load(source), expected["texts"], expected["vectors"]
    prompted = shutil.copytree(source, folder / "prompted")  # a default prompt, which is not pooled
    edit(prompted / "config_sentence_transformers.json", default_prompt_name="document")
    return kbert.load(prompted), expected["texts"], expected["document_vectors"]


def hops(loaded, folder):
    """A loaded model, and what it becomes: the models of a run and of a folder."""
    write_checkpoint(read_checkpoint(loaded.source), folder / "run", "kbert")
    write_checkpoint(read_checkpoint(folder / "run"), folder / "back", "hugging_face")
    return loaded, kbert.load(folder / "run"), kbert.load(folder / "back")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    mostly_long([*VECTORS, "prompts_not_pooled"], ("dense_tanh", "prompts_not_pooled")),
)
def test_vectors_are_those_of_sentence_transformers_everywhere(name, tmp_path):
    loaded, texts, vectors = expected_vectors(name, tmp_path)

    def same(found):
        np.testing.assert_allclose(found, vectors, atol=5e-6)

    for model in hops(loaded, tmp_path):
        same(model.embed(texts))
    same([answer["embedding"] for answer in loaded.predict(texts)])
    same(loaded.embedding_model()(loaded.inputs(texts)))
    same([row.values[0] for row in kbert.FeatureExtractor(loaded, [-1], loaded.own_pooling)(texts)])


@pytest.mark.slow
def test_a_named_prompt_leaves_its_own_tokens_out(tmp_path):
    source, expected = golden("prompts_not_pooled")
    loaded, queries = kbert.load(source), expected["queries"]
    np.testing.assert_allclose(
        loaded.embed(queries, prompt_name="query"), expected["query_vectors"], atol=5e-6
    )
    texts = loaded.embed(expected["texts"], prompt_name="document")
    np.testing.assert_allclose(texts, expected["document_vectors"], atol=5e-6)
    signatures = loaded.signatures
    assert {"prompt_query", "ids_query", "prompt_document", "ids_document"} < signatures.keys()
    answers = signatures["prompt_query"].function(text=tf.constant(queries))["embedding"]
    np.testing.assert_allclose(answers, expected["query_vectors"], atol=5e-6)
    prompted = tf.constant([loaded.own_pooling.prompts["query"] + query for query in queries])
    ids = loaded.text_inputs(prompted, pad_to_longest=True)
    answers = signatures["ids_query"].function(**ids)["embedding"]
    np.testing.assert_allclose(answers, expected["query_vectors"], atol=5e-6)
    with pytest.raises(
        ValueError, match="prompt_name='passage' is not known; the model has 'document', 'query'"
    ):
        loaded.embed(queries, prompt_name="passage")


@pytest.mark.long
@pytest.mark.slow
def test_an_evaluation_ranks_as_the_folder_says(folder):
    """With its prompts and its similarity; no head is missing, so a config for pairs measures any vectors."""
    edit(
        folder / "config_sentence_transformers.json", default_prompt_name="document", similarity_fn_name="dot"
    )
    loaded, words = kbert.load(folder), [token for token in foreign_files.TOKENS if token.isalpha()]
    texts = [f"{word} {other}" for word, other in zip(words, reversed(words), strict=True)]
    columns = {"text": texts[:4], "text_pair": texts[4:8]}
    queries, documents = loaded.embed(texts[:4], task="query"), loaded.embed(texts[4:8], task="document")
    scores = similarities(queries, documents, "dot")
    ranks = 1 + (scores > np.diag(scores)[:, None]).sum(axis=1)
    config = tiny_finetuning_config(
        task="multiple_negatives_ranking",
        dataset=DatasetConfig(text_pair="text_pair"),
        max_seq_length=loaded.max_seq_length,
    )
    for model in (folder, loaded):
        _, metrics = kbert.evaluate(model, columns, config=config)
        assert metrics["mrr"] == pytest.approx(np.mean(1 / ranks))
    other = tiny_finetuning_config(max_seq_length=16, dataset=DatasetConfig())
    with pytest.raises(ValueError, match="for the task sequence_classification, but .* a model of encoder"):
        kbert.evaluate(folder, {"text": ["a", "b"], "label": ["x", "y"]}, config=other)


# ------------------------------------------------------------------------------ dense layers


def dense(folder, number, inputs, units, **settings):
    """A Dense with random weights as module `number`; its tensors by torch's names."""
    own = folder / f"{number}_Dense"
    edit(own / "config.json", in_features=inputs, out_features=units, **settings)
    generator = np.random.default_rng(number)
    shapes = {"linear.weight": (units, inputs)}
    shapes |= {"linear.bias": (units,)} if settings.get("bias", True) else {}
    if settings.get("use_residual") and inputs != units:
        shapes["residual.weight"] = (units, inputs)
    tensors = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    save_file(tensors, own / "model.safetensors")
    return tensors


def scaled(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_a_chain_of_dense_layers_and_normalizations(folder, tmp_path):
    plain = kbert.load(folder).embed(["the day", "a b"])
    list_modules(folder, "Transformer", "Pooling", "Normalize", "Dense", "Dense", "Normalize")
    first = dense(folder, 3, 8, 6, use_residual=True)  # Tanh where the file names none
    second = dense(folder, 4, 6, 6, activation_function=GELU, bias=False, use_residual=True)
    (folder / "5_Normalize").mkdir()
    shutil.copytree(folder / "5_Normalize", folder / "2_Normalize")
    inner = scaled(plain)
    hidden = (
        np.tanh(inner @ first["linear.weight"].T + first["linear.bias"]) + inner @ first["residual.weight"].T
    )
    product = hidden @ second["linear.weight"].T
    expected = scaled(hidden + product * (1 + special.erf(product / np.sqrt(2))) / 2)
    for model in hops(kbert.load(folder), tmp_path):
        np.testing.assert_allclose(model.embed(["the day", "a b"]), expected, atol=2e-6)
    kinds = [
        module["type"].split(".")[-1] for module in json.loads((tmp_path / "back/modules.json").read_text())
    ]
    assert kinds == ["Transformer", "Pooling", "Normalize", "Dense", "Dense", "Normalize"]
    # All that Dense(**config) of sentence-transformers 3 to 5 takes, and what 6 added for these layers.
    written = json.loads((tmp_path / "back/4_Dense/config.json").read_text())
    assert written.keys() == {"in_features", "out_features", "bias", "activation_function", "use_residual"}


GELU = "torch.nn.modules.activation.GELU"
WRONG_DENSE = {
    "an activation with weights": (
        {"activation_function": "torch.nn.modules.activation.PReLU"},
        "PReLU', but",
    ),
    "an activation of the folder's": ({"activation_function": "mine.Act"}, "mine.Act'.*=activation_function"),
    "another width": ({"in_features": 9}, "in_features=9, but the vectors before this Dense have 8 numbers"),
    "other weights": ({"out_features": 5}, r"linear.weight is float32 of shape \(6, 8\).*says \(5, 8\)"),
    "a bias that is not said": ({"bias": False}, "holds linear.bias, linear.weight; by its config.json"),
    "vectors of tokens": ({"module_input_name": "token_embeddings"}, "here it is 'sentence_embedding'"),
    "no width": ({"out_features": None}, "says no in_features and out_features"),
}


@pytest.mark.parametrize(("values", "sentence"), WRONG_DENSE.values(), ids=WRONG_DENSE)
def test_a_dense_that_does_not_fit_is_named(folder, values, sentence):
    list_modules(folder, "Transformer", "Pooling", "Dense")
    dense(folder, 2, 8, 6)
    read_checkpoint(folder)
    edit(folder / "2_Dense" / "config.json", **values)
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(folder)


def test_a_dense_without_weights_is_named_and_a_pooling_of_other_width(folder):
    list_modules(folder, "Transformer", "Pooling", "Dense")
    dense(folder, 2, 8, 6)
    with pytest.raises(ValueError, match="pooling='cls.mean' gives 2 vectors .* dense layer of .* reads 1"):
        kbert.load(folder).embed("a", pooling="cls+mean")
    with pytest.raises(
        ValueError, match="says dense of its vectors|makes its vectors with .*dense=.*=pooling"
    ):
        write_checkpoint(read_checkpoint(folder), folder / "google", "google", ["hidden_act", "prompts"])
    (folder / "2_Dense" / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="2_Dense holds no weights .model.safetensors or pytorch_model.bin"):
        read_checkpoint(folder)


def test_a_run_that_starts_from_a_folder_keeps_its_dense_layers(folder, tmp_path):
    list_modules(folder, "Transformer", "Pooling", "Dense", "Normalize")
    dense(folder, 2, 8, 6)
    (folder / "3_Normalize").mkdir()
    initial = read_checkpoint(folder)
    task = TASKS["multiple_negatives_ranking"]().with_pooling(initial.pooling)
    model = task.build_model(BertEncoder(initial.encoder))
    assert initialize(model, initial)["fresh"] == []
    loaded = kbert.load(folder)
    inputs = {name: value[None] for name, value in loaded.inputs(["the day"]).items()}
    np.testing.assert_allclose(model(inputs)["embeddings"][0], loaded.embed(["the day"]), atol=1e-6)
    require_parts(task, [variable.path for variable in model.trainable_variables])


# ------------------------------------------------------------------------------ cross-encoders


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(["identity", "sigmoid"], ["sigmoid"]))
def test_scores_are_those_of_sentence_transformers_everywhere(name, tmp_path):
    source, expected = golden(f"cross_encoder_{name}")
    pairs, scores = [tuple(pair) for pair in expected["pairs"]], expected["scores"]
    loaded = kbert.load(source)
    assert loaded.task.name == "sequence_regression" and loaded.task.activation == name
    for model in hops(loaded, tmp_path):
        found = [answer["prediction"] for answer in model.predict(pairs)]
        np.testing.assert_allclose(found, scores, atol=5e-6)
        raw = [answer["prediction"] for answer in model.predict(pairs, raw_scores=True)]
        np.testing.assert_allclose(raw, expected["logits"], atol=5e-6)
    raw = loaded.rank(pairs[0][0], [pair[1] for pair in pairs[:6]], raw_scores=True)
    assert [row["score"] for row in raw] == pytest.approx(
        sorted(expected["logits"][:6], reverse=True), abs=5e-6
    )
    ranked = loaded.rank(pairs[0][0], [pair[1] for pair in pairs[:6]])
    assert [(row["index"], pytest.approx(row["score"], abs=5e-6)) for row in ranked] == [
        tuple(row) for row in expected["rank"][0]
    ]
    texts = np.array([[text.encode() for text in pair] for pair in pairs], object).T
    outputs = loaded.signatures["pair"].function(*map(tf.constant, texts.tolist()))
    assert ("logits" in outputs) == (name == "sigmoid")


def test_the_logits_of_three_labels_are_those_of_sentence_transformers():
    source, expected = golden("cross_encoder_3_labels")
    loaded = kbert.load(source)
    texts, pairs = zip(*expected["pairs"], strict=True)
    outputs = loaded.predictor("pair").outputs(text=texts, text_pair=pairs)
    np.testing.assert_allclose(outputs["logits"], expected["scores"], atol=5e-6)
    answers = loaded.predict(list(zip(texts, pairs, strict=True)), raw_scores=True)
    np.testing.assert_allclose([[*row["logits"].values()] for row in answers], expected["scores"], atol=5e-6)
    assert "label" in answers[0] and "probabilities" not in answers[0]


IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
OLDER = "sbert_ce_default_activation_function"
ACTIVATIONS = {  # config.json, config_sentence_transformers.json, with modules.json -> the activation
    "newest key": ({}, {"activation_fn": IDENTITY}, True, "identity"),
    "it comes first": ({OLDER: SIGMOID}, {"activation_fn": IDENTITY}, True, "identity"),
    "config.json": ({"sentence_transformers": {"activation_fn": IDENTITY}}, {}, False, "identity"),
    "older key": ({OLDER: IDENTITY}, {}, False, "identity"),
    "null": ({OLDER: IDENTITY, "sentence_transformers": {"activation_fn": None}}, {}, False, "sigmoid"),
    "older, null": ({OLDER: None, "problem_type": "regression"}, {}, False, None),
    "a cross-encoder's default": ({}, {"activation_fn": None}, True, "sigmoid"),
    "whatever its problem type": ({"problem_type": "regression"}, {}, True, "sigmoid"),
    "a label, for transformers": ({"problem_type": "multi_label_classification"}, {}, True, "sigmoid"),
    "without a word": ({}, None, False, "sigmoid"),
    "a regression of transformers": ({"problem_type": "regression"}, None, False, None),
}


def one_output(folder, num_labels=1):
    weights = foreign_files.random_weights(("pooler", "classification"), num_labels=num_labels)
    tensors = foreign_files.hugging_face_names(weights)
    tokenizer = {"do_lower_case": True}
    return foreign_files.write_hugging_face(
        folder, tensors, "BertForSequenceClassification", tokenizer=tokenizer
    )


@pytest.mark.parametrize(
    ("config", "sentences", "modules", "activation"), ACTIVATIONS.values(), ids=ACTIVATIONS
)
def test_where_an_activation_stands(tmp_path, config, sentences, modules, activation):
    folder = one_output(tmp_path / "m")
    edit(folder / "config.json", **config)
    if sentences is not None:
        edit(folder / "config_sentence_transformers.json", model_type="CrossEncoder", **sentences)
    if modules:
        list_modules(folder, "Transformer")
    checkpoint = read_checkpoint(folder)
    assert (checkpoint.task, checkpoint.activation) == ("sequence_regression", activation)
    write_checkpoint(checkpoint, tmp_path / "back", "hugging_face")
    assert read_checkpoint(tmp_path / "back").activation == (activation or "identity")


@pytest.mark.parametrize("settings", [{"model_type": "CrossEncoder"}, {"activation_fn": IDENTITY}, {}])
@pytest.mark.parametrize("modules", [False, True])
def test_a_cross_encoders_default_prompt_is_refused_however_its_folder_says_what_it_is(
    tmp_path, settings, modules
):
    folder = one_output(tmp_path / "m")
    prompts = {"prompts": {"q": "query: ", "": ""}, "default_prompt_name": "q"}
    edit(folder / "config_sentence_transformers.json", **prompts, **settings)
    if modules:
        list_modules(folder, "Transformer")
    if modules or settings:
        with pytest.raises(ValueError, match="default_prompt_name='q' puts 'query: ' before.*cross-encoder"):
            read_checkpoint(folder)
    edit(folder / "config_sentence_transformers.json", default_prompt_name="")
    assert read_checkpoint(folder).task == "sequence_regression"


def test_several_outputs_with_a_sigmoid_are_several_labels(tmp_path):
    folder = one_output(tmp_path / "m", num_labels=3)
    assert read_checkpoint(folder).task == "sequence_classification"
    edit(folder / "config.json", sentence_transformers={"activation_fn": SIGMOID, "version": "4.1.0"})
    checkpoint = read_checkpoint(folder)
    assert checkpoint.task == "multi_label_classification"
    write_checkpoint(checkpoint, tmp_path / "back", "hugging_face")
    config = json.loads((tmp_path / "back" / "config.json").read_text())
    assert config["sentence_transformers"] == {"activation_fn": SIGMOID}


@pytest.mark.parametrize(
    ("num_labels", "problem_type", "task"),
    [
        (1, "regression", "sequence_regression"),
        (3, "single_label_classification", "sequence_classification"),
    ],
)
def test_a_sigmoid_of_before_a_training_by_transformers_is_asked_about(
    tmp_path, num_labels, problem_type, task
):
    folder = one_output(tmp_path / "m", num_labels)
    edit(folder / "config.json", problem_type=problem_type, sentence_transformers={"activation_fn": SIGMOID})
    with pytest.raises(ValueError, match='but not by problem_type.*"problem_type": null.*=activation_fn'):
        read_checkpoint(folder)
    checkpoint = read_checkpoint(folder, allow_unmatched=["activation_fn"])
    assert (checkpoint.task, checkpoint.activation) == (task, None)
    list_modules(folder, "Transformer")  # sentence-transformers trained it
    sigmoids = {1: "sequence_regression", 3: "multi_label_classification"}
    assert read_checkpoint(folder).task == sigmoids[num_labels]


def test_one_label_that_may_hold_has_its_sigmoid_without_a_word(tmp_path, caplog):
    folder = one_output(tmp_path / "m")
    edit(folder / "config.json", problem_type="multi_label_classification")
    checkpoint = read_checkpoint(folder)
    assert (checkpoint.task, checkpoint.activation) == ("multi_label_classification", None)
    assert not caplog.text
    write_checkpoint(checkpoint, tmp_path / "back", "hugging_face")
    assert read_checkpoint(tmp_path / "back").task == "multi_label_classification"
