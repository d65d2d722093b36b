"""The table of keys: what transformers and sentence-transformers write is in it, and it holds."""

import json
import logging

import pytest

from kbert.checkpoints import HUGGING_FACE
from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.hugging_face.families import FAMILIES
from kbert.checkpoints.hugging_face.folder_keys import check_keys, config_keys
from kbert.checkpoints.hugging_face.key_table import FOLDER_KEYS, Use
from kbert.checkpoints.hugging_face.sentence_transformers import LENGTH_FILES
from kbert.checkpoints.report import Report
from kbert.config import FinetuningConfig, to_dict
from kbert.files.whole_file import write_json
from tests.kbert.checkpoints import foreign_files
from tests.kbert.checkpoints.foreign_files import edit
from tests.kbert.checkpoints.hugging_face.test_folder import tokenizer_json
from tests.places import SHARED_DATA

GOLDEN = SHARED_DATA / "golden"
# What `to_dict()` of transformers 5.23's configs has.
EVERY = """transformers_version architectures output_hidden_states return_dict dtype chunk_size_feed_forward
is_encoder_decoder id2label label2id problem_type vocab_size max_position_embeddings initializer_range
pad_token_id bos_token_id eos_token_id tie_word_embeddings _name_or_path model_type output_attentions"""
BERT = """hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act hidden_dropout_prob
attention_probs_dropout_prob layer_norm_eps"""
MOST = f"{BERT} type_vocab_size use_cache classifier_dropout is_decoder add_cross_attention"
WRITTEN = {
    "bert": MOST,
    "roberta": MOST,
    "xlm-roberta": MOST,
    "electra": f"""{MOST} embedding_size summary_type summary_use_proj summary_activation
    summary_last_dropout""",
    "mpnet": f"{BERT} relative_attention_num_buckets",
    "distilbert": """sinusoidal_pos_embds n_layers n_heads dim hidden_dim dropout attention_dropout activation
    qa_dropout seq_classif_dropout""",
    "modernbert": """hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_activation
    initializer_cutoff_factor norm_eps norm_bias cls_token_id sep_token_id attention_bias attention_dropout
    layer_types rope_parameters local_attention embedding_dropout mlp_bias mlp_dropout decoder_bias
    classifier_pooling classifier_dropout classifier_bias classifier_activation deterministic_flash_attn
    sparse_prediction sparse_pred_ignore_index""",
}
# `config_keys` of sentence-transformers 6.2's modules, and what its older versions wrote.
SENTENCES = {
    "sentence_bert_config.json": """transformer_task modality_config module_output_name processing_kwargs
    unpad_inputs query_length document_length query_expansion max_seq_length do_lower_case""",
    "config_sentence_transformers.json": """model_type __version__ prompts default_prompt_name
    similarity_fn_name truncate_dim activation_fn keep_in_fp32_modules requirements""",
    "Pooling/config.json": """embedding_dimension pooling_mode include_prompt word_embedding_dimension
    pooling_mode_cls_token pooling_mode_max_tokens pooling_mode_mean_tokens pooling_mode_mean_sqrt_len_tokens
    pooling_mode_weightedmean_tokens pooling_mode_lasttoken""",
    "Normalize/config.json": "module_input_name module_output_name",
    "modules.json": "idx name path type kwargs",
}


@pytest.mark.parametrize("model_type", WRITTEN)
def test_every_key_of_a_config_of_transformers_is_known(model_type):
    assert WRITTEN.keys() == FAMILIES.keys()
    keys = FOLDER_KEYS["config.json"] | config_keys(model_type)
    assert set(f"{EVERY} {WRITTEN[model_type]}".split()) - keys.keys() == set()


# What well-known models on the hub have beside these, from older versions and other programs.
ON_THE_HUB = {
    "bert": """directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers
    pooler_size_per_head pooler_type gradient_checkpointing position_embedding_type _num_labels
    finetuning_task output_past torch_dtype sbert_ce_default_activation_function sentence_transformers
    language name eos_token_ids function_to_apply transformers.js_config""",
    "xlm-roberta": "output_past gradient_checkpointing torch_dtype",
    "distilbert": "tie_weights_ output_past finetuning_task",
    "modernbert": """global_attn_every_n_layers global_rope_theta local_rope_theta reference_compile
    repad_logits_with_grad layer_norm_eps position_embedding_type gradient_checkpointing""",
}


@pytest.mark.parametrize("model_type", ON_THE_HUB)
def test_keys_of_well_known_models_are_known(model_type):
    keys = FOLDER_KEYS["config.json"] | config_keys(model_type)
    assert set(ON_THE_HUB[model_type].split()) - keys.keys() == set()


@pytest.mark.parametrize("file", SENTENCES)
def test_every_key_of_sentence_transformers_is_known(file):
    assert set(SENTENCES[file].split()) <= FOLDER_KEYS[file].keys()


def _table(path):
    parent = path.parent.name
    if path.name in LENGTH_FILES:
        return LENGTH_FILES[0]
    return f"{parent}/{path.name}" if parent[:1].isdigit() else path.name


def test_every_key_of_the_golden_folders_is_known():
    files = [path for path in GOLDEN.rglob("*.json") if _table(path) in FOLDER_KEYS]
    if not files:
        pytest.skip(
            f"KEYS NOT CHECKED: {GOLDEN} is not here (folders of transformers and sentence-transformers)"
        )
    for path in files:
        content = json.loads(path.read_text())
        for values in content if isinstance(content, list) else [content]:
            report = Report(HUGGING_FACE, str(path), allow_unmatched="*")
            model_type = values.get("model_type") if _table(path) == "config.json" else None
            check_keys(_table(path), values, path, report, model_type)
            assert not [note for note in report.notes if "does not know" in note], path
    assert len(files) > 100


def test_the_limit_of_a_word_is_that_of_tokenizer_json():
    key = "max_input_chars_per_word"
    assert FOLDER_KEYS["tokenizer_config.json"][key].use is Use.NO_EFFECT
    assert FOLDER_KEYS["tokenizer.json: model"][key].use is Use.FOLLOWED


def written(folder):
    weights = foreign_files.random_weights()
    tokenizer = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    return foreign_files.write_hugging_face(
        folder, foreign_files.hugging_face_names(weights, prefix=""), tokenizer=tokenizer
    )


REFUSED = [
    ("config.json", {"auto_map": {"AutoModel": "modeling.MyBert"}}, "kbert runs no code of a folder"),
    ("config.json", {"adapters": {"adapters": {"ner": "x"}}}, "kbert reads no adapters; merge them"),
    ("tokenizer_config.json", {"truncation_side": "left"}, "kbert cuts a long text at its end"),
    ("tokenizer_config.json", {"wordpieces_prefix": "@@"}, "kbert would make other pieces"),
    ("tokenizer_config.json", {"word_tokenizer_type": "mecab"}, "no program that finds words in Japanese"),
    ("tokenizer_config.json", {"subword_tokenizer_type": "character"}, "kbert would make other pieces"),
    ("tokenizer_config.json", {"sp_model_kwargs": {"enable_sampling": True}}, "takes the best pieces"),
    ("tokenizer_config.json", {"bos_token": "<start>"}, "kbert begins a text with cls_token"),
    (
        "tokenizer_config.json",
        {"additional_special_tokens": ["<e1>", "[MASK]"]},
        r"additional_special_tokens has \['<e1>'\], which its tokenizer never splits.*=added_tokens",
    ),
    (
        "tokenizer_config.json",
        {"extra_special_tokens": {"x": {"content": "<e1>"}}},
        "extra_special_tokens has",
    ),
    ("special_tokens_map.json", {"additional_special_tokens": ["<e1>"]}, "map.json: additional_special_t"),
    ("special_tokens_map.json", {"extra_special_tokens": ["<e1>"]}, "map.json: extra_special_tokens has"),
]


@pytest.mark.parametrize(("file", "values", "sentence"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_value_that_changes_answers_is_refused_by_name(tmp_path, file, values, sentence):
    folder = written(tmp_path / "m")
    read_checkpoint(folder)
    edit(folder / file, **values)
    with pytest.raises(ValueError, match=sentence) as error:
        read_checkpoint(folder)
    (key,) = values
    allowed = str(error.value).rstrip(".").rsplit("allow_unmatched=", 1)[1]
    assert key in str(error.value) and str(folder / file) in str(error.value)
    report = read_checkpoint(folder, allow_unmatched=allowed).report
    assert [note for note in report.notes if key in note and "(allowed by allow_unmatched)" in note]


def test_the_config_of_a_run_alone_is_no_model(tmp_path):
    """As of a run on the hub: no other file of it lies where those of models do."""
    write_json(to_dict(FinetuningConfig()), tmp_path / "config.json")
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    with pytest.raises(ValueError, match="config of a run of kbert has it: .*`hf download org/name"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_an_unknown_key_is_named(tmp_path, file, caplog):
    folder = written(tmp_path / "m")
    edit(folder / file, my_trainers_key=3, another_one=None)
    with caplog.at_level(logging.WARNING):
        report = read_checkpoint(folder).report
    sentence = f"{folder / file}: kbert does not know another_one, my_trainers_key, and does not follow it"
    assert sentence in report.notes and sentence in caplog.text


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("config.json", "is_decoder", False),
        ("config.json", "auto_map", {}),
        (
            "config.json",
            "adapters",
            {"adapters": {}, "config_map": {}, "fusion_config_map": {}, "fusions": {}},
        ),
        ("config.json", "quantization_config", None),
        ("tokenizer_config.json", "truncation_side", "right"),
        ("tokenizer_config.json", "bos_token", {"content": "[CLS]", "lstrip": False}),
        ("tokenizer_config.json", "additional_special_tokens", ["[MASK]"]),
        ("tokenizer_config.json", "padding_side", "left"),
    ],
)
def test_values_that_change_nothing_load_without_a_word(tmp_path, file, key, value):
    folder = written(tmp_path / "m")
    expected = read_checkpoint(folder).report.notes
    edit(folder / file, **{key: value})
    assert read_checkpoint(folder).report.notes == expected


WITHOUT_SEGMENTS = {"model_input_names": ["input_ids", "attention_mask"]}
WITH_SEGMENTS = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}


def classifier(folder, architecture, tokenizer):
    """A folder of a classifier; `tokenizer` stands in its tokenizer_config.json."""
    weights = foreign_files.random_weights(("pooler", "classification"))
    return foreign_files.write_hugging_face(
        folder,
        foreign_files.hugging_face_names(weights),
        architecture,
        tokenizer={"do_lower_case": True} | tokenizer,
    )


@pytest.mark.parametrize(
    ("tokenizer", "refused"),
    [
        (WITHOUT_SEGMENTS, True),
        (WITHOUT_SEGMENTS | {"cls_token": {"content": "[CLS]"}}, True),
        ({"tokenizer_class": "BertTokenizer"}, False),
        ({"tokenizer_class": "ElectraTokenizerFast"}, False),
        ({"tokenizer_class": "DistilBertTokenizer"}, True),
        ({"tokenizer_class": "DistilBertTokenizerFast"}, True),
        ({"tokenizer_class": "DistilBertTokenizer"} | WITH_SEGMENTS, False),
        ({"tokenizer_class": "TokenizersBackend"}, True),
        ({"tokenizer_class": "TokenizersBackend"} | WITH_SEGMENTS, False),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, False),
    ],
    ids=str,
)
def test_segments_that_a_tokenizer_does_not_give_are_refused_for_pairs(tmp_path, tokenizer, refused):
    folder = written(tmp_path / "m")
    edit(folder / "tokenizer_config.json", **tokenizer)
    read_checkpoint(folder)  # an encoder: single texts are segment 0 anyway
    folder = classifier(tmp_path / "pairs", "BertForSequenceClassification", tokenizer)
    if refused:
        for gone in ({}, {"model_type": None}, {"architectures": None}):  # configs of 2019 have neither
            edit(folder / "config.json", **gone)
            with pytest.raises(ValueError, match="no token_type_ids, so both texts of a pair are segment 0"):
                read_checkpoint(folder)
    else:
        notes = str(read_checkpoint(folder).report)
        depends = tokenizer == {"tokenizer_class": "PreTrainedTokenizerFast"}
        assert ("in transformers 5 it is segment 0" in notes) == depends


def test_words_are_labelled_in_a_single_text_which_needs_no_segments(tmp_path):
    folder = classifier(tmp_path / "words", "BertForTokenClassification", WITHOUT_SEGMENTS)
    assert read_checkpoint(folder).task == "token_classification"


def test_parts_of_a_tokenizer_json_are_looked_at(tmp_path):
    folder, rules = written(tmp_path / "m"), tokenizer_json()
    cut = {"direction": "Left", "max_length": 16, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps(rules | {"truncation": cut}))
    with pytest.raises(ValueError, match="direction='Left', but kbert cuts .*=truncation_side"):
        read_checkpoint(folder)
    edit(folder / "tokenizer_config.json", truncation_side="right")  # it comes first
    read_checkpoint(folder)
    rules["normalizer"]["my_own"] = rules["model"]["my_own"] = True
    (folder / "tokenizer.json").write_text(json.dumps(rules))
    notes = [note for note in read_checkpoint(folder).report.notes if "kbert does not know my_own" in note]
    assert [note.split(": ")[1] for note in notes] == ["model", "normalizer"]


def test_the_older_key_of_the_longest_input(tmp_path):
    folder = written(tmp_path / "m")
    edit(folder / "tokenizer_config.json", max_len=9)
    assert read_checkpoint(folder).max_seq_length == 9
