"""Every key that the files of a checkpoint's folder may hold, and what kbert does about it: `FOLDER_KEYS`.

The keys are those that transformers up to 5.23, sentence-transformers up to 6.2 and tokenizers write.
"""

from enum import StrEnum
from typing import NamedTuple

from kbert.checkpoints.conversion.checks import MASKED_LM_KEYS
from kbert.checkpoints.conversion.own_keys import CASING, UNTRAINED, VOCABULARY_SIZE


class Use(StrEnum):
    """What kbert does about a key."""

    FOLLOWED = "followed"
    NO_EFFECT = "changes no answer"
    REFUSED = "refused"


class Key(NamedTuple):
    """A key of a file.

    Args:
      use: what kbert does about it.
      about: why, or what it means; of a refused key the rest of the sentence "..., but ".
      harmless: the values of a refused key that change nothing, beside null and what is empty.
      always: whether a refused key is refused whatever is allowed.
    """

    use: Use
    about: str
    harmless: tuple = ()
    always: bool = False


def followed(names: str, about: str) -> dict[str, Key]:
    return {name: Key(Use.FOLLOWED, about) for name in names.split()}


def _no_effect(about: str, names: str) -> dict[str, Key]:
    return {name: Key(Use.NO_EFFECT, about) for name in names.split()}


def _refused(names: str, about: str, *harmless, always: bool = False) -> dict[str, Key]:
    return {name: Key(Use.REFUSED, about, harmless, always) for name in names.split()}


_WHERE_FROM = "says where the files come from"
_NO_ENCODER = "is for models that write text"
_TRAINING = "is for training"
_SPEED = "changes speed and memory"
_OUTPUTS = "says which outputs Python gets"
_OWN_CODE = "kbert runs no code of a folder; give a model whose class transformers has"

# config.json of every family, beside the settings of the encoder, which `FAMILIES` names.
_CONFIG = {
    **followed("model_type architectures", "the family and its class"),
    **followed("id2label label2id num_labels", "the labels; they must agree"),
    **followed("problem_type", "what the logits mean"),
    **followed("pad_token_id", "from where on RoBERTa and those after it count positions"),
    **followed("tokenizer_class", "the kind of the tokenizer, where tokenizer_config.json does not say it"),
    **followed("tie_word_embeddings", "the masked-LM head's table must be the encoder's, or stands for it"),
    **followed("sentence_transformers", "a cross-encoder's activation"),
    **followed("sbert_ce_default_activation_function", "the same, as older files say it"),
    **followed("pooler_hidden_act", "kbert's own, for what the file has no key for"),
    **followed(" ".join((*MASKED_LM_KEYS, VOCABULARY_SIZE, UNTRAINED)), "kbert's own"),
    **_no_effect(
        _WHERE_FROM,
        "_name_or_path name_or_path _commit_hash transformers_version _attn_implementation_autoset "
        "model_name "
        "finetuning_task task_specific_params base_model_name_or_path language name "
        "vocab_size_or_config_json_file",
    ),
    **_no_effect("is the type in the file; kbert computes in float32", "dtype torch_dtype"),
    **_no_effect(
        _OUTPUTS,
        "output_hidden_states output_attentions output_past output_scores return_dict use_return_dict "
        "return_dict_in_generate",
    ),
    **_no_effect(
        _SPEED,
        "chunk_size_feed_forward use_cache gradient_checkpointing torchscript use_bfloat16 xla_device "
        "_attn_implementation attn_implementation attention_implementation use_flash_attn unpad_inputs "
        "use_memory_efficient_attention use_flash_attention_2",
    ),
    **_no_effect(
        _TRAINING,
        "initializer_factor initializer_cutoff_factor classifier_dropout tf_legacy_loss loss_type",
    ),
    **_no_effect(
        _NO_ENCODER,
        "bos_token_id eos_token_id cls_token_id sep_token_id mask_token_id decoder_start_token_id max_length "
        "min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k "
        "top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size "
        "bad_words_ids num_return_sequences forced_bos_token_id forced_eos_token_id remove_invalid_values "
        "exponential_decay_length_penalty suppress_tokens begin_suppress_tokens prefix "
        "cross_attention_hidden_size tie_encoder_decoder is_composition eos_token_ids",
    ),
    **_no_effect(
        "transformers never comes to it: the number of outputs and problem_type decide before",
        "function_to_apply",
    ),
    **_no_effect("is left by old versions; id2label counts", "_num_labels"),
    **_no_effect("is for transformers.js", "transformers.js_config transformers_js_config"),
    **_no_effect("is left by TinyBERT's training", "cell emb_size structure pre_trained training"),
    **_no_effect(
        "belongs to a pooler that no class of transformers has",
        "directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers "
        "pooler_size_per_head pooler_type",
    ),
    **_refused(
        "position_embedding_type",
        "kbert's positions are 'absolute' and would give other results",
        "absolute",
        always=True,
    ),
    **_refused(
        "is_decoder add_cross_attention is_encoder_decoder",
        "kbert's BERT is a bidirectional encoder",
        False,
        always=True,
    ),
    **_refused("pruned_heads", "kbert has no layers where pruned_heads are set", always=True),
    **_refused("quantization_config", "with it the weights are quantized; take float weights", always=True),
    **_refused("adapters adapter_config", "kbert reads no adapters; merge them into the weights"),
    **_refused("auto_map", _OWN_CODE),
    **_refused(
        "steps_per_execution",
        "only the config of a run of kbert has it: get all files of the run (those of hf://org/name by `hf "
        "download org/name --local-dir=FOLDER`), and give their folder",
        always=True,
    ),
    **_refused("alibi_starting_size", "kbert's positions are 'absolute' and would give other results"),
}
_POSITIONS = _no_effect("is not read by the family's class", "position_embedding_type")
KEYS_OF_FAMILIES = {
    "distilbert": {
        **_POSITIONS,
        **_no_effect(_TRAINING, "qa_dropout seq_classif_dropout"),
        **_no_effect("is in the weights", "sinusoidal_pos_embds"),
        **_no_effect("is 1e-12 in DistilBERT's code, whatever is set", "layer_norm_eps"),
        **_no_effect("DistilBERT has no segments", "type_vocab_size"),
        **_no_effect("says what is so in every DistilBERT", "tie_weights_"),
    },
    "electra": {
        **followed(
            "summary_activation summary_type summary_use_proj",
            "of multiple choice; must be what transformers has by default",
        ),
        **_no_effect(_TRAINING, "summary_first_dropout summary_last_dropout"),
        **_no_effect("is what the weights show", "summary_hidden_size summary_proj_to_labels"),
    },
    "mpnet": _no_effect("MPNet has no segments", "type_vocab_size") | _POSITIONS,
    "modernbert": {
        **_POSITIONS,  # which are rotary; Ettin and mmBERT say "sans_pos"
        **_refused("causal_mask is_causal", "kbert's ModernBERT sees both sides of a token", False),
        **followed(
            "global_attn_every_n_layers layer_types local_attention global_rope_theta local_rope_theta "
            "rope_parameters",
            "which layers see the whole text, and the bases of their rotary positions",
        ),
        **followed("classifier_activation", "must be hidden_activation"),
        **followed("decoder_bias", "must be true"),
        **_refused(
            "rope_scaling", "its rotary positions are scaled; kbert has those of type 'default'", always=True
        ),
        **_no_effect(_TRAINING, "embedding_dropout sparse_prediction sparse_pred_ignore_index"),
        **_no_effect(_SPEED, "deterministic_flash_attn reference_compile repad_logits_with_grad"),
        **_no_effect("norm_eps is what counts", "layer_norm_eps"),
        **_refused("sliding_window", "kbert reads local_attention, which is twice as much; write it there"),
    },
}

_ROLES = "pad_token unk_token cls_token sep_token mask_token"
_OTHER_PIECES = "kbert would make other pieces"
_JAPANESE = "kbert has no program that finds words in Japanese"
_TOKENIZER_CONFIG = {
    **followed("tokenizer_class", "the kind of the tokenizer"),
    **followed(_ROLES, "the special tokens"),
    **followed("model_max_length max_len", "the longest input"),
    **followed("do_lower_case strip_accents tokenize_chinese_chars", "how words are made"),
    **followed(CASING, "kbert's own"),
    **_no_effect("is read from tokenizer.json alone", "max_input_chars_per_word unk_id"),
    **followed("do_basic_tokenize never_split", "must split texts into words, and exempt none"),
    **followed("add_prefix_space", "must be that of its kind"),
    **followed("added_tokens_decoder", "added tokens, with their ids"),
    **followed(
        "additional_special_tokens extra_special_tokens model_specific_special_tokens",
        "added tokens; the text of one, written out, is never split",
    ),
    **followed("model_input_names", "whether a BERT is told the second text of a pair"),
    **_refused("truncation_side", "kbert cuts a long text at its end", "right"),
    **_refused("auto_map", _OWN_CODE),
    **_refused("sp_model_kwargs", "kbert always takes the best pieces"),
    **_refused("wordpieces_prefix", _OTHER_PIECES, "##"),
    **_refused("word_tokenizer_type mecab_kwargs sudachi_kwargs jumanpp_kwargs", _JAPANESE, "basic"),
    **_refused("subword_tokenizer_type", _OTHER_PIECES, "wordpiece"),
    **_refused("do_word_tokenize do_subword_tokenize", _OTHER_PIECES, True),
    **_refused("bos_token", "kbert begins a text with cls_token", "<s>", "[CLS]", "<cls>"),
    **_refused("eos_token", "kbert ends a text with sep_token", "</s>", "[SEP]", "<sep>"),
    **_refused(
        "add_bos_token add_eos_token", "kbert always begins and ends a text with special tokens", True
    ),
    **_refused("normalization", _OTHER_PIECES, False),
    **_no_effect(
        _WHERE_FROM,
        "name_or_path tokenizer_file vocab_file merges_file special_tokens_map_file full_tokenizer_file "
        "init_inputs "
        "processor_class backend is_local local_files_only from_slow use_fast legacy _commit_hash "
        "transformers_version spm_file return_tensors trust_remote_code use_auth_token cache_dir revision "
        "subfolder force_download device_map",
    ),
    **_no_effect(
        "is for ids that become text again", "clean_up_tokenization_spaces decode_with_prefix_space errors"
    ),
    **_no_effect("moves offsets, not ids", "trim_offsets"),
    **_no_effect(
        "padding changes no answer of kbert's",
        "padding_side pad_to_multiple_of pad_token_type_id pad_token_id padding",
    ),
    **_no_effect(
        "is a setting of a call; kbert cuts at model_max_length, the longer text of a pair first",
        "max_length stride truncation_strategy truncation",
    ),
    **_no_effect(
        "special tokens written out in a text are ordinary text in kbert", "split_special_tokens verbose"
    ),
    **_no_effect(_NO_ENCODER, "chat_template"),
}
_SPECIAL_TOKENS = {
    name: _TOKENIZER_CONFIG[name]
    for name in (
        *_ROLES.split(),
        *("bos_token", "eos_token", "additional_special_tokens", "extra_special_tokens"),
        "model_specific_special_tokens",
    )
}
_TOKENIZER = {
    **followed("model", "the pieces and how they are made"),
    **followed("normalizer pre_tokenizer post_processor", "must be those of its kind"),
    **followed("added_tokens", "the special tokens; others are refused, for they would be ordinary text"),
    **followed("truncation", "must cut a text at its end, where tokenizer_config.json does not say it"),
    **_no_effect("padding changes no answer of kbert's", "padding"),
    **_no_effect("is for ids that become text again", "decoder"),
    **_no_effect("is the version of the format", "version"),
}
_TOKENIZER_MODEL = {
    **followed("type vocab merges unk_id", "the pieces"),
    **followed("unk_token continuing_subword_prefix max_input_chars_per_word", "how WordPieces are made"),
    **followed("dropout end_of_word_suffix byte_fallback ignore_merges", "must be those of its kind"),
    **_no_effect("bytes are never unknown, and SentencePiece always joins what is", "fuse_unk"),
}
_NORMALIZER = {
    **followed("type normalizers precompiled_charsmap", "must be that of its kind"),
    **followed("clean_text", "must be true"),
    **followed("handle_chinese_chars strip_accents lowercase", "how words are made"),
    **followed("pattern content strip_left strip_right", "must be those of a step that changes nothing more"),
}
_PRE_TOKENIZER = {
    **followed("type pretokenizers", "must be that of its kind"),
    **followed("add_prefix_space prepend_scheme replacement use_regex", "must be those of its kind"),
    **_no_effect("moves offsets, not ids", "trim_offsets"),
    **_no_effect("one piece never reaches over a space", "split str_rep"),
}
# Files that no reader opens, as patterns; a refused one is refused where weights are read.
OTHER_FILES = {
    "README.md, LICENSE, .gitattributes": Key(Use.NO_EFFECT, "is for people and the hub"),
    "generation_config.json, chat_template.jinja": Key(Use.NO_EFFECT, _NO_ENCODER),
    "training_args.bin, trainer_state.json, optimizer.pt, scheduler.pt, rng_state.pth": Key(
        Use.NO_EFFECT, _TRAINING
    ),
    "preprocessor_config.json, processor_config.json": Key(Use.NO_EFFECT, "is for pictures and sound"),
    "onnx/, openvino/, flax_model.msgpack, rust_model.ot, *.tflite, coreml/": Key(
        Use.NO_EFFECT, "is the same model for other programs"
    ),
    "adapter_model.safetensors, adapter_model.bin, adapter_config.json": Key(
        Use.REFUSED, "kbert reads no adapters; merge them into the weights"
    ),
    "model_head.pkl, model_head.joblib": Key(
        Use.REFUSED, "SetFit's classifier is a program of scikit-learn's or torch's, which kbert does not run"
    ),
}

_MODULES = {
    **followed("idx path type", "the modules in their order"),
    **_no_effect("is a name", "name"),
    **_refused("kwargs", "kbert gives modules no arguments"),
}
_TRANSFORMER = {
    **followed("max_seq_length", "the longest input; without it the tokenizer's, or the positions"),
    **followed("do_lower_case", "whether texts are lower-cased before they are tokenized"),
    **followed(
        "transformer_task modality_config module_output_name", "must be text to its tokens' vectors or logits"
    ),
    **_no_effect(_SPEED, "unpad_inputs"),
    **followed(
        "query_length document_length query_expansion", "of late interaction; refused in other models"
    ),
    **_refused(
        "processing_kwargs model_args model_kwargs tokenizer_args processor_kwargs config_args config_kwargs",
        "kbert gives transformers' classes no arguments",
    ),
    **_refused("tokenizer_name_or_path", "kbert takes the tokenizer of the folder"),
}
_SENTENCE_CONFIG = {
    **followed("model_type", "SentenceTransformer, CrossEncoder, SparseEncoder or MultiVectorEncoder"),
    **followed("prompts", "what may stand before a text"),
    **followed("default_prompt_name", "the prompt that stands before a text where none is named"),
    **followed("similarity_fn_name", "how vectors are compared"),
    **followed("truncate_dim", "how many numbers of a vector are given"),
    **followed("max_active_dims", "how many weights of a sparse vector are given"),
    **_refused(
        "query_prefix document_prefix skiplist_words do_query_expansion attend_to_expansion_tokens "
        "attend_to_mask_tokens query_length document_length query_expansion",
        "it is PyLate's; save the model with sentence-transformers 6",
    ),
    **followed("activation_fn", "a cross-encoder's activation"),
    **_no_effect(_WHERE_FROM, "__version__"),
    **_no_effect("says which packages Python needs", "requirements"),
    **_no_effect("kbert computes in float32", "keep_in_fp32_modules"),
}
_POOLING = {
    **followed("pooling_mode", "one mode, or several whose vectors stand behind each other"),
    **followed(
        "pooling_mode_cls_token pooling_mode_max_tokens pooling_mode_mean_tokens "
        "pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens pooling_mode_lasttoken",
        "the same, as older files say it",
    ),
    **followed("include_prompt", "whether the tokens of a prompt count"),
    **followed("embedding_dimension word_embedding_dimension", "must be the encoder's width"),
}
_NORMALIZE = followed("module_input_name module_output_name", "must be what stands there, of text or token")
_DENSE = {
    **followed(
        "in_features out_features bias use_residual", "the shape of the layer; it must fit its weights"
    ),
    **followed("activation_function", "one of torch's that has no weights and keeps the width"),
    **_NORMALIZE,
}
_SPLADE = {
    **followed("pooling_strategy activation_function", "how the words of a text are weighed"),
    **followed("embedding_dimension word_embedding_dimension", "must be the number of words"),
    **_no_effect(_SPEED, "chunk_size"),
}
_MASK = followed("skiplist_words skiplist_tasks keep_only_token_ids", "which tokens are not scored")

# File -> key -> `Key`. The seven files of the Transformer module have one entry.
FOLDER_KEYS = {
    "config.json": _CONFIG,
    "tokenizer_config.json": _TOKENIZER_CONFIG,
    "special_tokens_map.json": _SPECIAL_TOKENS,
    "tokenizer.json": _TOKENIZER,
    "tokenizer.json: model": _TOKENIZER_MODEL,
    "tokenizer.json: normalizer": _NORMALIZER,
    "tokenizer.json: pre_tokenizer": _PRE_TOKENIZER,
    "config.json: sentence_transformers": {
        **followed("activation_fn", "a cross-encoder's activation"),
        **_no_effect(_WHERE_FROM, "version"),
    },
    "modules.json": _MODULES,
    "sentence_bert_config.json": _TRANSFORMER,
    "config_sentence_transformers.json": _SENTENCE_CONFIG,
    "Pooling/config.json": _POOLING,
    "Dense/config.json": _DENSE,
    "Normalize/config.json": _NORMALIZE,
    "SpladePooling/config.json": _SPLADE,
    "MultiVectorMask/config.json": _MASK,
}
