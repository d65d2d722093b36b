"""Hugging Face folders: equal numbers, every name accounted for, and one sentence for what is wrong."""

import json
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.model_loading import build_model
from tests.conftest import mostly_long
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.answers import answers, largest_difference
from tests.naming import naming
from tests.places import SHARED_DATA

STORED = Path(__file__).parents[1] / "stored"
GOLDEN = SHARED_DATA / "golden" / "checkpoints"
GOLDEN_NAMES = (
    "BertForMaskedLM_gelu",
    "BertForMultipleChoice_gelu",
    "BertForNextSentencePrediction_gelu",
    "BertForPreTraining_gelu",
    "BertForPreTraining_gelu_new",
    "BertForQuestionAnswering_gelu",
    "BertForSequenceClassification_gelu",
    "BertForTokenClassification_gelu",
    "BertModel_gelu",
    "BertModel_gelu_new",
)


def read_tensors(path, **arguments):
    checkpoint = read_checkpoint(path, **arguments)
    return checkpoint, {name: tensor.read() for name, tensor in checkpoint.tensors.items()}


def same_weights(tensors, weights):
    assert tensors.keys() == weights.keys()
    for name, value in weights.items():
        np.testing.assert_array_equal(tensors[name], value, err_msg=name)
        assert tensors[name].dtype == np.float32


@pytest.fixture(scope="module")
def weights():
    return foreign_files.random_weights()


@pytest.fixture
def folder(tmp_path, weights):
    return foreign_files.write_hugging_face(
        tmp_path / "model", foreign_files.hugging_face_names(weights, prefix="")
    )


def edit_config(folder, **changes):
    values = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({k: v for k, v in values.items() if v is not None}))


# ----------------------------------------------------------------------------- equal numbers


@pytest.mark.parametrize("name", sorted(path.name for path in STORED.iterdir()))
def test_stored_models_of_transformers_give_their_stored_answers(name):
    expected = dict(np.load(STORED / name / "expected.npz"))
    checkpoint, ours = answers(STORED / name, expected)
    assert largest_difference(ours, expected) < 5e-6
    assert f"architecture {name.split('_')[0]}, read as kbert's task" in str(checkpoint.report)


@pytest.mark.parametrize("name", mostly_long(GOLDEN_NAMES, ["BertForPreTraining_gelu_new"]))
def test_golden_checkpoints_give_their_expected_outputs(name):
    if not (GOLDEN / name).is_dir():
        pytest.skip(f"FIDELITY NOT CHECKED: {GOLDEN / name} is not here (answers of another implementation)")
    expected = dict(np.load(GOLDEN / name / "expected.npz"))
    checkpoint, ours = answers(GOLDEN / name, expected)
    assert largest_difference(ours, expected) < 2e-5
    assert not checkpoint.report.left_over


def test_the_public_tiny_model_loads_whole():
    folder = SHARED_DATA / "checkpoints" / "hf_tiny"
    if not folder.is_dir():
        pytest.skip(f"FIDELITY NOT CHECKED: {folder} is not here (an old pickle of another project)")
    checkpoint, tensors = read_tensors(folder)
    assert len(checkpoint.report.taken) == len(tensors) == 23 and not checkpoint.report.left_over
    assert checkpoint.encoder.hidden_act == "gelu_erf" and not checkpoint.vocabulary.do_lower_case
    _, model = build_model(checkpoint)
    for variable in model.trainable_variables:
        np.testing.assert_array_equal(variable.numpy(), tensors[variable.path])


# ------------------------------------------------------------------------------ file layouts


def test_names_with_and_without_prefix_and_the_old_names_of_norms(tmp_path, weights):
    plain = foreign_files.hugging_face_names(weights, prefix="")
    prefixed = foreign_files.hugging_face_names(weights, prefix="bert.")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in prefixed.items()
    }
    for number, tensors in enumerate((plain, prefixed, old)):
        folder = foreign_files.write_hugging_face(tmp_path / str(number), tensors)
        checkpoint, read = read_tensors(folder)
        same_weights(read, weights)
        assert {line[0] for line in checkpoint.report.taken} == tensors.keys()


def test_buffers_and_tied_copies_are_named_in_the_report(tmp_path):
    weights = foreign_files.random_weights(("pooler", "masked_lm", "next_sentence"))
    tensors = foreign_files.hugging_face_names(weights)
    tensors["bert.embeddings.position_ids"] = np.arange(16)[None]
    tensors["cls.predictions.decoder.weight"] = weights["embeddings/word_embeddings"]
    tensors["cls.predictions.decoder.bias"] = weights["masked_lm/output_bias"]
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, "BertForPreTraining")
    checkpoint, read = read_tensors(folder)
    same_weights(read, weights)
    table = "bert.embeddings.word_embeddings.weight"
    assert dict(checkpoint.report.left_over) == {
        "bert.embeddings.position_ids": "a buffer (0, 1, 2 ...), not a weight",
        "cls.predictions.decoder.weight": f"equal to {table}, number for number",
        "cls.predictions.decoder.bias": "equal to cls.predictions.bias, number for number",
    }

    # The bias may lie under the decoder's name alone.
    del tensors["cls.predictions.bias"]
    foreign_files.write_hugging_face(folder, tensors, "BertForPreTraining")
    same_weights(read_tensors(folder)[1], weights)

    tensors["cls.predictions.decoder.weight"] = weights["embeddings/word_embeddings"] * 1.5
    foreign_files.write_hugging_face(folder, tensors, "BertForPreTraining")
    with pytest.raises(ValueError, match=f"decoder.weight differs from {table}"):
        read_checkpoint(folder)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_float_types_become_float32(folder, weights, dtype):
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    tensors = foreign_files.hugging_face_names(weights, prefix="")
    foreign_files.write_safetensors(
        folder / "model.safetensors", {name: value.astype(kind) for name, value in tensors.items()}
    )
    checkpoint, read = read_tensors(folder)
    same_weights(read, {name: value.astype(kind).astype(np.float32) for name, value in weights.items()})
    assert all(dtype in how for _, _, how in checkpoint.report.taken)


def shards(folder, tensors, weight_map=None):
    (folder / "model.safetensors").unlink()
    names = list(tensors)
    files = {"a-00001.safetensors": names[::2], "b-00002.safetensors": names[1::2]}
    for file, held in files.items():
        foreign_files.write_safetensors(folder / file, {name: tensors[name] for name in held})
    places = {name: file for file, held in files.items() for name in held} | (weight_map or {})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def test_shards(folder, weights):
    shards(folder, foreign_files.hugging_face_names(weights, prefix=""))
    same_weights(read_tensors(folder)[1], weights)


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        ({"pooler.dense.weight": "c.safetensors"}, "names c.safetensors, which is not there; download all"),
        (
            {"pooler.dense.weight": "../x.safetensors"},
            r"names the file '../x.safetensors', which is not in its",
        ),
        ({"more": "a-00001.safetensors"}, "do not belong together: 'more' is only in the index"),
    ],
)
def test_shards_that_do_not_belong_together(folder, weights, places, sentence):
    shards(folder, foreign_files.hugging_face_names(weights, prefix=""), places)
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(folder)


def test_a_masked_lm_is_pretraining_without_next_sentence(tmp_path):
    checkpoint = read_checkpoint(STORED / "BertForMaskedLM_bin")
    assert checkpoint.task == "masked_lm" and not checkpoint.missing
    task, _ = build_model(checkpoint)
    assert task.name == "masked_lm" and not task.next_sentence

    # The files of bert-base-uncased hold all heads and name the masked LM alone.
    folder = tmp_path / "m"
    shutil.copytree(STORED / "BertForPreTraining", folder)
    edit_config(folder, architectures=["BertForMaskedLM"])
    checkpoint = read_checkpoint(folder)
    assert checkpoint.task == "pretraining" and not checkpoint.missing and not checkpoint.report.left_over


@pytest.mark.parametrize("name", sorted(path.name for path in STORED.iterdir()))
def test_without_a_named_architecture_the_tensors_tell_it(tmp_path, name):
    shutil.copytree(STORED / name, tmp_path / "m")
    edit_config(tmp_path / "m", architectures=None, model_type=None if "Distil" not in name else "distilbert")
    guessed = read_checkpoint(tmp_path / "m")
    expected = "sequence_regression" if "MultipleChoice" in name else read_checkpoint(STORED / name).task
    assert guessed.task == expected  # a choice and a regression look alike


def test_an_encoder_of_an_unknown_class_is_read_as_its_tensors_show(folder, weights, caplog):
    """`class Contriever(BertModel)` is saved under its own name, and without a pooler."""
    edit_config(folder, architectures=["Contriever"])
    assert read_checkpoint(folder).task == "encoder"
    lose(folder, "pooler")
    checkpoint, tensors = read_tensors(folder)
    same_weights(tensors, {name: weights[name] for name in weights if not name.startswith("pooler")})
    assert checkpoint.task == "encoder" and checkpoint.missing == ("pooler/dense/kernel", "pooler/dense/bias")
    sentence = "Contriever, a class that kbert does not know; its tensors are those of BertModel"
    assert f"{folder}: config.json names {sentence}; what its code does beside them" in caplog.text
    assert sentence in str(checkpoint.report)


def test_the_code_of_an_unknown_class_with_a_head_may_answer_otherwise(tmp_path):
    folder = tmp_path / "m"
    shutil.copytree(STORED / "BertForTokenClassification", folder)
    edit_config(folder, architectures=["Tagger"])
    with pytest.raises(ValueError, match='write "architectures": .*"BertForToken.*allow_unmatched=arch'):
        read_checkpoint(folder)
    assert read_checkpoint(folder, allow_unmatched="architectures").task == "token_classification"


def test_labels_come_from_the_config(tmp_path):
    assert read_checkpoint(STORED / "BertForTokenClassification").labels == ("red", "green", "blue")
    folder = tmp_path / "m"
    shutil.copytree(STORED / "BertForSequenceClassification", folder)
    edit_config(folder, id2label={"0": "only", "1": "two"})
    with pytest.raises(ValueError, match=r"names 2 labels \(id2label\), but the classifier has 3 outputs"):
        read_checkpoint(folder)
    edit_config(folder, id2label=None)
    assert read_checkpoint(folder).labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    for names in ({"1": "a", "2": "b", "5": "c"}, {"0": "", "1": "b", "2": "c"}):
        edit_config(folder, id2label=names)
        with pytest.raises(ValueError, match="id2label should map the ids 0, 1, 2 ... to names"):
            read_checkpoint(folder)
    edit_config(folder, id2label=None, problem_type="multi_label_classification")
    checkpoint = read_checkpoint(folder)
    assert checkpoint.problem_type == "multi_label_classification"


# ------------------------------------------------------------------------- what is refused


def lose(folder, name):
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    foreign_files.write_safetensors(
        folder / "model.safetensors", {key: value for key, value in tensors.items() if name not in key}
    )


def exchange(folder, first, second):
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    first, second = f"encoder.layer.0.{first}", f"encoder.layer.0.{second}"
    tensors[first], tensors[second] = tensors[second], tensors[first]
    foreign_files.write_safetensors(folder / "model.safetensors", tensors)


def add(folder, name, value):
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    foreign_files.write_safetensors(folder / "model.safetensors", tensors | {name: value})


def truncate(folder, name, share=0.7):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(len(data) * share)])


def write_tokenizer_model(folder, **model):
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json() | {"model": model}))


WRONG = {
    "truncated": (
        lambda folder: truncate(folder, "model.safetensors"),
        r"model.safetensors is not a whole safetensors file \(.*\); download it again\.",
    ),
    "no weights": (
        lambda folder: (folder / "model.safetensors").rename(folder / "other.safetensors"),
        r"holds no weights \(model.safetensors or .*\)\.",
    ),
    "another class": (
        lambda folder: edit_config(folder, architectures=["NomicBertModel"], model_type=None),
        "config.json is of class NomicBertModel, which kbert has no model for; it reads BertModel, BertFor",
    ),
    "Stanford's ColBERT": (
        lambda folder: edit_config(folder, architectures=["HF_ColBERT"]),
        r"in Stanford's form \(HF_ColBERT\); save it with sentence-transformers 6",
    ),
    "another model type": (
        lambda folder: edit_config(folder, architectures=None, model_type="new"),
        "is of model_type 'new'; kbert lacks its rotary positions that are scaled for long texts",
    ),
    "contradicting types": (
        lambda folder: edit_config(folder, model_type="distilbert"),
        "names model_type 'distilbert' but architecture 'BertModel'",
    ),
    "decoder": (
        lambda folder: edit_config(folder, is_decoder=True),
        "is_decoder=true, but kbert's BERT is a bidirectional",
    ),
    "relative positions": (
        lambda folder: edit_config(folder, position_embedding_type="relative_key"),
        "position_embedding_type='relative_key', but kbert's positions are 'absolute'",
    ),
    "unknown activation": (
        lambda folder: edit_config(folder, hidden_act="silu"),
        "hidden_act='silu' is not known to kbert; it knows gelu, ",
    ),
    "pruned": (lambda folder: edit_config(folder, pruned_heads={"0": [1]}), "pruned_heads are set"),
    "quantized": (
        lambda folder: edit_config(folder, quantization_config={"bits": 4}),
        "the weights are quantized",
    ),
    "missing layer": (
        lambda folder: lose(folder, "encoder.layer.1."),
        r"for 16 variables of BertModel: encoder.layer.1.attention.self.query.weight, .* and 12 more; use",
    ),
    "one layer too many": (
        lambda folder: edit_config(folder, num_hidden_layers=1),
        r"holds 16 tensors that BertModel does not have: encoder.layer.1.* and 12 more; if they are not",
    ),
    "swapped shapes": (
        lambda folder: exchange(folder, "intermediate.dense.weight", "output.dense.weight"),
        r"encoder.layer.0.intermediate.dense.weight is float32 of shape \(8, 12\), not float of shape \(1",
    ),
    "wrong vocabulary size": (
        lambda folder: edit_config(folder, vocab_size=20),
        "has 21 tokens, but the config's vocab_size is 20: ids would fall outside the token table",
    ),
    "a short vocabulary": (
        lambda folder: edit_config(folder, vocab_size=50),
        "has 21 tokens, but the config's vocab_size is 50: not the vocabulary .*; to go on anyway .*, pass "
        "allow_unmatched=vocab_size.",
    ),
    "a stranger": (
        lambda folder: add(folder, "adapter.weight", np.zeros(8, np.float32)),
        "holds 1 tensors that BertModel does not have: adapter.weight; if they are not needed, pass "
        "allow_unmatched with their names",
    ),
    "another tokenizer": (
        lambda folder: write_tokenizer_model(folder, type="BPE"),
        "type BPE, but beside it are the files of type WordPiece",
    ),
    "two vocabularies": (
        lambda folder: write_tokenizer_model(
            folder, type="WordPiece", vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
        ),
        r"vocab.txt \(21 tokens\) and tokenizer.json \(5 tokens\) are not the",
    ),
    "gaps between ids": (
        lambda folder: write_tokenizer_model(folder, type="WordPiece", vocab={"[PAD]": 0, "the": 99}),
        "expected its tokens to be numbered 0, 1, 2 ... without gaps",
    ),
    "no vocabulary": (
        lambda folder: (folder / "vocab.txt").unlink(),
        "holds neither vocab.txt nor tokenizer.json",
    ),
}


@pytest.mark.parametrize("longest", [10**30, int(1e30), 1e30, 16, 16.0, None])
def test_lengths_that_mean_none_and_lengths_that_are_whole(folder, longest):
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": longest}))
    assert read_checkpoint(folder).max_seq_length == 16


@pytest.mark.parametrize(("spoil", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_sentence(folder, spoil, sentence):
    spoil(folder)
    with pytest.raises(ValueError, match=sentence) as error:
        read_checkpoint(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize(
    "wrapper", ["module.", "_orig_mod.", "model.", "bert.", "module._orig_mod.encoder.", "transformer."]
)
def test_what_a_program_put_before_all_names_is_taken_off(tmp_path, weights, prefix, wrapper):
    tensors = foreign_files.hugging_face_names(weights, prefix=prefix)
    wrapped = {f"{wrapper}{name}": value for name, value in tensors.items()}
    checkpoint, read = read_tensors(foreign_files.write_hugging_face(tmp_path / "m", wrapped))
    same_weights(read, weights)
    assert {line[0] for line in checkpoint.report.taken} == wrapped.keys()
    if (wrapper, prefix) != ("bert.", ""):  # that is how a class with a head calls it
        assert f"the names begin with {wrapper}, which is taken off" in checkpoint.report.notes


def test_a_head_beside_an_encoder_that_a_program_wrapped(tmp_path):
    weights = foreign_files.random_weights(("pooler", "classification"))
    tensors = foreign_files.hugging_face_names(weights, prefix="my_bert.")
    wrapped = {f"module.{name}": value for name, value in tensors.items()}
    folder = foreign_files.write_hugging_face(tmp_path / "m", wrapped, "BertForSequenceClassification")
    same_weights(read_tensors(folder)[1], weights)


@pytest.mark.parametrize("family", ["albert.", "model.distilbert."])
def test_tensors_of_another_family_than_that_of_the_config(tmp_path, weights, family):
    tensors = foreign_files.hugging_face_names(weights, prefix=family)
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, None)
    with pytest.raises(ValueError, match=f"begin with {family}, but those of .* with bert.; use config, w"):
        read_checkpoint(folder)


@pytest.mark.parametrize("beside", [False, True])
def test_an_adapter_of_peft_is_named(folder, beside):
    (folder / "adapter_model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    sentence = r"adapter_model.safetensors, an adapter of PEFT, .*merge it into the weights.*=adapter_model"
    if not beside:
        (folder / "model.safetensors").unlink()
        sentence = (
            "holds no weights .*; adapter_model.safetensors is an adapter of PEFT, without the model .*merge"
        )
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(folder)
    if not beside:
        (folder / "config.json").unlink()
        with pytest.raises(
            ValueError, match="adapter_model.safetensors is an adapter of PEFT.*: merge it into"
        ):
            read_checkpoint(folder)
        (folder / "adapter_model.safetensors").rename(folder / "adapter_config.json")  # as AdapterHub's
        with pytest.raises(ValueError, match="of an adapter, w.*: where it has a peft_type, .*as model_name"):
            read_checkpoint(folder)


def test_names_that_are_allowed_are_left_out_loudly(folder, weights):
    add(folder, "adapter.weight", np.zeros(8, np.float32))
    checkpoint = read_checkpoint(folder, allow_unmatched=["adapter.*"])
    assert checkpoint.report.left_over == [
        ("adapter.weight", "kbert's model has no variable for it; allowed")
    ]

    lose(folder, "pooler")  # as AutoModel(add_pooling_layer=False) saves it
    checkpoint = read_checkpoint(folder)
    assert checkpoint.missing == ("pooler/dense/kernel", "pooler/dense/bias")
    sentence = "not in this architecture; initialised if a kbert model has it"
    assert checkpoint.report.not_in_file[0] == ("pooler/dense/kernel", sentence)

    lose(folder, "encoder.layer.1.output.dense")
    names = "encoder.layer.1.output.dense.weight, encoder.layer.1.output.dense.bias"
    with pytest.raises(ValueError, match=f"for 2 variables of BertModel: {names}"):
        read_checkpoint(folder)
    checkpoint = read_checkpoint(folder, allow_unmatched="encoder.layer.1.output.*")
    assert checkpoint.missing == ("layer_1/feed_forward/output/kernel", "layer_1/feed_forward/output/bias")
    assert checkpoint.report.not_in_file[0] == (checkpoint.missing[0], "initialised; allowed")


def test_padded_tables_are_accepted(tmp_path):
    weights = foreign_files.random_weights(vocab_size=24)  # 21 pieces, rounded up to a multiple of 8
    tensors = foreign_files.hugging_face_names(weights, prefix="")
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, vocab_size=24)
    checkpoint = read_checkpoint(folder)
    assert checkpoint.encoder.vocab_size == 24 and len(checkpoint.vocabulary) == 21
    assert "3 more rows than there are tokens (21): padding" in str(checkpoint.report)


# ---------------------------------------------------------------------------- the tokenizer


def tokenizer_json(**normalizer):
    rules = {"type": "BertNormalizer", "lowercase": True, "clean_text": True, "handle_chinese_chars": True}
    return {
        "added_tokens": [{"id": 4, "content": "[MASK]"}],
        "normalizer": rules | normalizer,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: i for i, token in enumerate(foreign_files.TOKENS)},
        },
    }


def wordpiece(**settings):
    whole = tokenizer_json()
    return whole | {"model": whole["model"] | settings}


def test_the_template_that_is_berts_own_and_the_limit_of_transformers(folder):
    special, text = lambda token, at: {"SpecialToken": {"id": token, "type_id": at}}, "Sequence"
    single = [special("[CLS]", 0), {text: {"id": "A", "type_id": 0}}, special("[SEP]", 0)]
    template = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {text: {"id": "B", "type_id": 1}}, special("[SEP]", 1)],
        "special_tokens": {
            token: {"id": token, "ids": [foreign_files.TOKENS.index(token)], "tokens": [token]}
            for token in ("[CLS]", "[SEP]")
        },
    }
    several = {"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": True}, template]}
    for form in (several, template):
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json() | {"post_processor": form}))
        assert "max_input_chars_per_word=100, which google-research/bert" in str(
            read_checkpoint(folder).report
        )
    twice = {"type": "Sequence", "processors": [template, template]}
    changes = ({"single": single[:2]}, {"pair": [*single, *single]}, {"special_tokens": {}}, twice)
    for change in changes:
        with naming(change):
            other = tokenizer_json() | {"post_processor": template | change}
            (folder / "tokenizer.json").write_text(json.dumps(other))
            with pytest.raises(ValueError, match="its post_processor does not make .*=post_processor.$"):
                read_checkpoint(folder)


def test_the_vocabulary_may_lie_in_tokenizer_json_alone(folder):
    by_file = read_checkpoint(folder).vocabulary
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    (folder / "vocab.txt").unlink()
    assert read_checkpoint(folder).vocabulary.fingerprint == by_file.fingerprint


def test_numbers_that_a_tokenizer_json_leaves_free_are_placeholders(folder):
    lines = [*foreign_files.TOKENS]
    lines[6], lines[9] = lines[5], lines[5]  # the last one counts
    (folder / "vocab.txt").write_text("".join(f"{line}\n" for line in lines))
    by_lines = read_checkpoint(folder).vocabulary
    rules = wordpiece(vocab={token: index for index, token in enumerate(lines)})
    (folder / "tokenizer.json").write_text(json.dumps(rules))
    assert read_checkpoint(folder).vocabulary.fingerprint == by_lines.fingerprint
    (folder / "vocab.txt").unlink()
    checkpoint = read_checkpoint(folder)
    assert checkpoint.vocabulary.fingerprint == by_lines.fingerprint
    assert "2 numbers are free, such as 5" in str(checkpoint.report)


def test_labels_of_a_class_without_labels_are_not_read(folder):
    edit_config(folder, id2label={"0": "a", "7": None}, label2id={})
    assert read_checkpoint(folder).labels == ()


@pytest.mark.parametrize("declared", [True, False])
def test_casing_comes_from_the_files(folder, declared, tmp_path):
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(lowercase=declared)))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    if declared:
        assert read_checkpoint(folder).vocabulary.do_lower_case is True
    else:
        # No piece has an upper-case letter: a cased text would lose every capitalised word.
        with pytest.raises(ValueError, match="this looks like an uncased vocabulary.*=do_lower_case"):
            read_checkpoint(folder)
        checkpoint = read_checkpoint(folder, allow_unmatched="do_lower_case")
        assert checkpoint.vocabulary.do_lower_case is False
        assert "(allowed by allow_unmatched)" in str(checkpoint.report)
        # As of a vocabulary that was trimmed to lower-case texts: what is written is known to be meant.
        for format in ("hugging_face", "google"):
            write_checkpoint(checkpoint, tmp_path / format, format, allow_unmatched="hidden_act")
            again = read_checkpoint(tmp_path / format).vocabulary
            assert again.fingerprint == checkpoint.vocabulary.fingerprint


CASED = [*foreign_files.TOKENS[:5], *map(str.title, foreign_files.WORDS)]


def test_cased_tokens_that_are_declared_lower_cased_are_refused_without_a_flag(folder, tmp_path):
    """The flag of the other casing would contradict the file."""
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in CASED))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    with pytest.raises(ValueError, match="a cased vocabulary; correct tokenizer_config.json, unless"):
        read_checkpoint(folder)
    checkpoint = read_checkpoint(folder, allow_unmatched="do_lower_case")
    write_checkpoint(checkpoint, tmp_path / "again", "hugging_face")
    assert read_checkpoint(tmp_path / "again").vocabulary.do_lower_case is True


@pytest.mark.parametrize("architecture", ["BertModel", "BertForSequenceClassification"])
def test_a_fine_tuned_folder_with_a_cased_vocabulary_alone_may_be_lower_cased(tmp_path, caplog, architecture):
    weights = foreign_files.random_weights(("pooler", "classification"))
    tensors = foreign_files.hugging_face_names(weights)
    if architecture == "BertModel":
        tensors = {name: value for name, value in tensors.items() if name.startswith("bert.")}
    folder = foreign_files.write_hugging_face(
        tmp_path / "m", tensors, architecture, CASED, num_labels=3, id2label=dict(enumerate("abc"))
    )
    assert read_checkpoint(folder).vocabulary.do_lower_case is False
    is_fine_tuned = architecture != "BertModel"
    assert ("BertTokenizer lower-cases such a folder" in caplog.text) is is_fine_tuned
    caplog.clear()
    read = read_checkpoint(folder, do_lower_case=True, allow_unmatched="do_lower_case")
    assert read.vocabulary.do_lower_case and not caplog.text


TOKENIZERS = {
    "strip_accents": (
        {"strip_accents": False},
        tokenizer_json(strip_accents=True),
        "tokenizer_config.json says strip_accents=False, but tokenizer.json strip_accents=True",
    ),
    "tokenize_chinese_chars": (
        {"tokenize_chinese_chars": False},
        tokenizer_json(),
        "says tokenize_chinese_chars=False, but tokenizer.json handle_chinese_chars=True",
    ),
    "strip_accents of one file": (
        {"do_lower_case": True, "strip_accents": None},
        tokenizer_json(strip_accents=False),
        "says strip_accents=false, but tokenizer_config.json does not say strip_accents.* takes true then",
    ),
    "do_lower_case of one file": (
        {"do_lower_case": None},
        tokenizer_json(lowercase=False),
        "says lowercase=false, but tokenizer_config.json does not say do_lower_case, and .* takes true then",
    ),
    "tokenize_chinese_chars of one file": (
        {"tokenizer_class": "BertTokenizerFast"},
        tokenizer_json(handle_chinese_chars=False),
        "says handle_chinese_chars=false, but .*, and transformers' BertTokenizerFast takes true then",
    ),
    "clean_text": ({}, tokenizer_json(clean_text=False), "clean_text=false; kbert has true alone"),
    "wordpieces_prefix": (
        {"wordpieces_prefix": "@@"},
        {},
        "wordpieces_prefix='@@', but kbert would make other",
    ),
    "do_basic_tokenize": ({"do_basic_tokenize": False}, {}, "do_basic_tokenize=false"),
    "never_split": ({"never_split": ["x"]}, {}, r"never_split=\['x'\]"),
    "tokenizer_class": (
        {"tokenizer_class": "CamembertTokenizer"},
        {},
        r"tokenizer_class='CamembertTokenizer' is none that kbert has \(BertTokenizer, ",
    ),
    "special_tokens": ({"cls_token": "<s>"}, {}, r"cls_token is '<s>', not '\[CLS\]'"),
    "model_max_length": (
        {"model_max_length": 512},
        {},
        "model_max_length=512, but config.json max_position_embeddings=16",
    ),
    "do_lower_case": (
        {"do_lower_case": True},
        tokenizer_json(lowercase=False),
        "tokenizer_config.json says do_lower_case=True, but tokenizer.json lowercase=False",
    ),
    "normalizer": (
        {},
        tokenizer_json() | {"normalizer": {"type": "NFC"}},
        "its normalizer is 'NFC', not 'BertNormalizer'",
    ),
    "pre_tokenizer": (
        {},
        tokenizer_json() | {"pre_tokenizer": {"type": "ByteLevel"}},
        "its pre_tokenizer is 'Byte",
    ),
    "post_processor that is null": (
        {},
        tokenizer_json() | {"post_processor": None},
        r"tokenizer.json: its post_processor does not make \[CLS\] a \[SEP\] b \[SEP\]",
    ),
    "post_processor with other ids": (
        {},
        tokenizer_json() | {"post_processor": {"type": "BertProcessing", "sep": ["b", 6], "cls": ["a", 5]}},
        "tokenizer.json: its post_processor does not make ",
    ),
    "continuing_subword_prefix": (
        {},
        wordpiece(continuing_subword_prefix="@@"),
        "tokenizer.json: its continuing_subword_prefix is '@@', not '##'",
    ),
    "special_tokens of the model": ({}, wordpiece(unk_token="the"), r"its unk_token is 'the', not '\[UNK\]'"),
    "added_tokens": (
        {},
        tokenizer_json() | {"added_tokens": [{"id": 5, "content": "the"}]},
        r"has 1 added tokens \(the\), which its tokenizer never splits",
    ),
}


# tokenizer_config.json, tokenizer.json -> what differs from google-research/bert's rules, lower-casing.
FOLLOWED = {
    "no files": ({}, None, {"max_input_chars_per_word": 100}),
    "accents": ({"strip_accents": False}, None, {"strip_accents": False, "max_input_chars_per_word": 100}),
    "accents in tokenizer.json": (
        {"strip_accents": None, "tokenizer_class": "PreTrainedTokenizerFast"},
        tokenizer_json(strip_accents=False),
        {"strip_accents": False, "max_input_chars_per_word": 100},
    ),
    "accents of the class of the file": (
        {"strip_accents": False, "tokenizer_class": "PreTrainedTokenizerFast"},
        tokenizer_json(strip_accents=None),
        {"max_input_chars_per_word": 100},
    ),
    "accents as ever": ({"strip_accents": True}, None, {"max_input_chars_per_word": 100}),
    "ideographs": (
        {"tokenize_chinese_chars": False},
        tokenizer_json(handle_chinese_chars=False),
        {"tokenize_chinese_chars": False, "max_input_chars_per_word": 100},
    ),
    "limit": ({}, wordpiece(max_input_chars_per_word=50), {"max_input_chars_per_word": 50}),
    "a limit that nobody reads": ({"max_input_chars_per_word": 7}, None, {"max_input_chars_per_word": 100}),
    "google's limit": ({}, wordpiece(max_input_chars_per_word=200), {}),
    "no limit": ({}, wordpiece(max_input_chars_per_word=10**18), {"max_input_chars_per_word": 1 << 28}),
}


@pytest.mark.parametrize(("config", "whole", "rules"), FOLLOWED.values(), ids=FOLLOWED)
def test_rules_for_words_are_followed_and_written_again(folder, tmp_path, config, whole, rules):
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True} | config))
    if whole is not None:
        (folder / "tokenizer.json").write_text(json.dumps(whole))
    checkpoint = read_checkpoint(folder)
    assert checkpoint.vocabulary.rules.not_googles == rules
    for name in rules:
        assert f"{name}={rules[name]}, which google-research/bert does not have" in str(checkpoint.report)
    for format in ("hugging_face", "kbert"):
        write_checkpoint(checkpoint, tmp_path / format, format, ["hidden_act"])
        assert read_checkpoint(tmp_path / format).vocabulary.describe() == checkpoint.vocabulary.describe()
    others = [name for name in rules if name != "max_input_chars_per_word"]
    for name in others:
        with pytest.raises(ValueError, match=f"{name} is false, .* the original's code .*unmatched={name}.$"):
            write_checkpoint(checkpoint, tmp_path / "google", "google", ["hidden_act"])
    written = write_checkpoint(checkpoint, tmp_path / "google", "google", ["hidden_act", *others])
    assert not rules or "the original's code does not have" in str(written)
    # Its reader accepts any key, and kbert's follows them.
    assert read_checkpoint(tmp_path / "google").vocabulary.rules == checkpoint.vocabulary.rules


@pytest.mark.parametrize("setting", TOKENIZERS)
def test_settings_that_kbert_cannot_honour(folder, setting):
    config, whole, sentence = TOKENIZERS[setting]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    if whole:
        (folder / "tokenizer.json").write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=sentence) as error:
        read_checkpoint(folder)
    setting = setting.split()[0]
    assert str(error.value).endswith(f"where a command cannot be told so), pass allow_unmatched={setting}.")
    assert "(allowed by allow_unmatched)" in str(read_checkpoint(folder, allow_unmatched=[setting]).report)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("num_labels", 2), ("label2id", {"a": 0, "b": 2, "c": 1}), ("label2id", {"LABEL_1": 0, "LABEL_0": 1})],
)
def test_labels_that_contradict_id2label(tmp_path, setting, value):
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(("pooler", "classification")))
    names = {"id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0, "b": "1", "c": 2}}
    folder = foreign_files.write_hugging_face(
        tmp_path / "m", tensors, "BertForSequenceClassification", num_labels=3, **names
    )
    assert read_checkpoint(folder).labels == ("a", "b", "c")
    # What transformers 5.23 leaves of the config before, where the labels are named later.
    edit_config(folder, label2id={"LABEL_0": 0, "LABEL_1": 1})
    assert read_checkpoint(folder).labels == ("a", "b", "c")
    edit_config(folder, **{setting: value})
    with pytest.raises(ValueError, match=f"config.json: {setting}.*unmatched={setting}.$"):
        read_checkpoint(folder)
    assert read_checkpoint(folder, allow_unmatched=setting).labels == ("a", "b", "c")


TAGS = {str(index): tag for index, tag in enumerate(["O", "B-PER", "I-PER"])}


@pytest.mark.parametrize(("id2label", "task"), [(None, "sequence"), (TAGS, "token")])
def test_an_old_tagger_with_a_pooler_is_known_by_its_tags(tmp_path, caplog, id2label, task):
    """BertForTokenClassification had a pooler until transformers 4; configs of 2019 name no class."""
    weights = foreign_files.random_weights(("pooler", "classification"))
    tensors = foreign_files.hugging_face_names(weights)
    config = {} if id2label is None else {"id2label": id2label}
    folder = foreign_files.write_hugging_face(tmp_path / "m", tensors, None, tokenizer={}, **config)
    assert read_checkpoint(folder).task == f"{task}_classification"
    assert ("or of BertForTokenClassification" in caplog.text) is (id2label is None)
    edited = json.loads((folder / "config.json").read_text()) | {
        "architectures": ["BertForTokenClassification"]
    }
    (folder / "config.json").write_text(json.dumps(edited))
    assert read_checkpoint(folder).task == "token_classification"
