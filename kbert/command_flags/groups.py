"""In which groups, and in which order, `--help` shows the flags of a script. Standard library only."""

import difflib
from collections.abc import Iterable

# Group -> flags of all scripts, the important ones first. A flag means the same in every script.
GROUPS = {
    "data": (
        "train_file dev_file other_dev_file train_dir dev_dir eval_file split glue_dir tasks input_files "
        "text text_pair choice candidate question context input_file input_dir eval_input_dir "
        "labelled_files heldout_files vocab_file record num_records shard recount json_lines text_field "
        "split_sentences deduplicate shuffle errors do_lower_case"
    ),
    "model": (
        "config run_dir init_checkpoint from teacher_checkpoint checkpoint override from_scratch "
        "finetuned_run_dir config_dir encoder_only takes_pairs layers heads pooling combine "
        "max_position_embeddings max_seq_length allow_unmatched"
    ),
    "training": "learning_rates seeds reads seed",
    "vocabulary": (
        "vocab_size min_frequency min_count merge_into merge_slots user_defined_tokens num_unused_tokens "
        "alphabet_limit ascii_alphabet max_words_in_memory"
    ),
    "examples": (
        "pairing max_predictions_per_seq dupe_factor masked_lm_prob short_seq_prob masking "
        "do_whole_word_mask max_ngram_size"
    ),
    "server": (
        "model_base_path model_name server api version model_config_file signature_name "
        "setting host allowed_hosts port rest_api_port min_server_version file_system_poll_wait_seconds "
        "grace_seconds"
    ),
    "requests": (
        "keep_going num_parallel timeout_seconds max_attempts enable_batching max_batch_size "
        "batch_timeout_micros num_parallel_runs rest_api_timeout_in_ms max_message_bytes max_text_bytes "
        "max_elements max_connections max_pending max_pending_bytes"
    ),
    "answers": "top_k whole_words keep_chosen batch_size",
    "output": (
        "output_dir output_file to directory predictions_dir submission_dir html_file html_examples title "
        "format stored compression num_shards quantization min_agreement mediapipe tokenizer_inside "
        "attention measure overwrite json"
    ),
    "devices": "strategy num_devices precision jit cluster tpu runner beam_options num_workers",
}
_ORDER = {name: place for place, name in enumerate(" ".join(GROUPS.values()).split())}
_FEW = 6  # so many flags are shown in one list


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """The flags of one script under their headings, in the order of GROUPS.

    Args:
      names: the flags. Those that GROUPS does not have come last, as "other".

    Returns:
      heading -> names, without empty headings; the only heading is "flags" where there are few.
    """
    names = sorted(names, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
    if len(names) <= _FEW:
        return {"flags": names} if names else {}
    found = {heading: [name for name in names if name in group.split()] for heading, group in GROUPS.items()}
    found["other"] = [name for name in names if name not in _ORDER]
    return {heading: group for heading, group in found.items() if group}


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be; None where none is near."""
    near = difflib.get_close_matches(name[:100], list(known), n=1)
    return near[0] if near else None
