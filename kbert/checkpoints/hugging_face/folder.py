"""Reads Hugging Face folders of BERT and the families after it, without torch and transformers.

They may also be folders of sentence-transformers: then the encoder comes with its pooling.
"""

import dataclasses
from pathlib import Path

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.checks import check_sizes
from kbert.checkpoints.conversion.matching import match
from kbert.checkpoints.conversion.names import CLASSIFIER_POOLER
from kbert.checkpoints.hugging_face.architecture import find_class
from kbert.checkpoints.hugging_face.classifier_outputs import find_labels, find_meaning
from kbert.checkpoints.hugging_face.config import CONFIG_FILE, parse_config
from kbert.checkpoints.hugging_face.families import (
    FAMILIES,
    find_task,
    has_own_pooler,
    require_own_padding,
    stored_parts,
)
from kbert.checkpoints.hugging_face.modernbert import split_projections
from kbert.checkpoints.hugging_face.sentence_models import CROSS_ENCODER as CROSS_ENCODER_MODEL
from kbert.checkpoints.hugging_face.sentence_models import MODULES_FILE
from kbert.checkpoints.hugging_face.sentence_transformers import (
    SENTENCE_FILE,
    is_sentence_transformers,
    read_encoder_alone,
    read_sentence_modules,
    read_sentence_settings,
    refuse_default_prompt,
    with_casing,
)
from kbert.checkpoints.hugging_face.tokenizer import read_tokenizer
from kbert.checkpoints.hugging_face.weights import read_weights
from kbert.checkpoints.model_variables import (
    model_shapes,
    part_shapes,
    task_parts,
    with_pooler,
)
from kbert.checkpoints.report import Report, unmatched_patterns
from kbert.config.pooling_config import PoolingConfig
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown
from kbert.heads.parts import MASKED_LM, NO_HEADS, POOLER
from kbert.tasks import TASKS
from kbert.tasks.similarity import prompts

_POSITION_ROWS, _SEGMENT_ROWS = (
    f"embeddings.{name}_embeddings.weight" for name in ("position", "token_type")
)
_BESIDE_CLASSIFIER = "the encoder's pooler, which this class does not use"
_FRESH = "not in this architecture; initialised if a kbert model has it"


def read_hugging_face(path: Path, do_lower_case: bool | None, report: Report) -> BertCheckpoint:
    """Reads a folder as transformers writes it; of one of sentence-transformers also pooling and length.

    Args:
      path: the folder: config.json, the vocabulary, and weights in safetensors, in PyTorch's format or in
        Keras's HDF5 (`tf_model.h5`), in one file or in shards.
      do_lower_case: the casing, needed only if the folder does not say it.
      report: takes every name. Where `modules.json` is allowed, by its name, the encoder is read alone,
        whatever modules stand behind it.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before any
        tensor is read.
    """
    is_alone = MODULES_FILE in unmatched_patterns(report.allow_unmatched)
    if is_alone:  # a glob leaves nothing out that kbert can follow
        modules = read_encoder_alone(path, report)
    elif is_sentence_transformers(path):
        modules = read_sentence_modules(path, report)
    else:
        return _read_plain(path, do_lower_case, report)
    report.path = str(modules.encoder_folder)
    vectors = modules.vectors
    # Pooling reads the last layer, so such folders may come without BERT's own pooler.
    checkpoint, skipped = _read_model(
        modules.encoder_folder,
        do_lower_case,
        report,
        vectors is None,
        modules.activation,
        is_sentences=not is_alone,
        vectors=vectors,
    )
    longest = _longest(checkpoint, skipped, modules, path, report)
    vocabulary = with_casing(checkpoint.vocabulary, modules, report)
    checkpoint = dataclasses.replace(
        checkpoint, source=str(path), vocabulary=vocabulary, max_seq_length=longest
    )
    if vectors is None:
        return checkpoint
    return _with_vectors(checkpoint, modules, path, report)


def _read_plain(path, do_lower_case, report):
    """A folder without modules.json; what stands in sentence-transformers' other file is read or noted."""
    settings = read_sentence_settings(path, report)
    if settings["model_type"] == CROSS_ENCODER_MODEL or settings["activation_fn"] is not None:
        refuse_default_prompt(path, settings, report)
    if (path / SENTENCE_FILE).is_file() and settings["activation_fn"] is None:
        report.warn(
            f"{path} holds {SENTENCE_FILE} without {MODULES_FILE}: neither pooling nor prompts are followed",
            "; copy all files of the folder",
        )
    return _read_model(path, do_lower_case, report, activation=settings["activation_fn"])[0]


def _with_vectors(checkpoint, modules, path, report):
    """The checkpoint with what stands behind its encoder."""
    vectors, encoder = modules.vectors, checkpoint.encoder
    task = TASKS.find_by_vectors(type(vectors))
    reads_words = MASKED_LM.name in task_parts(TASKS[task].from_labels(()))
    if reads_words and MASKED_LM.name not in checkpoint.parts:
        raise ValueError(
            f"{path} weighs words by the masked-LM head, but its encoder has none "
            f"({checkpoint.task}); use the files of one model."
        )
    expected = encoder.vocab_size if reads_words else encoder.hidden_size
    if modules.width not in (None, expected):
        raise ValueError(
            f"{path} makes vectors of {modules.width} numbers of each token's, but its encoder gives "
            f"{expected}; use the files of one model."
        )
    if isinstance(vectors, PoolingConfig) and not vectors.include_prompt:
        lengths = prompts.prompt_lengths(vectors, checkpoint.vocabulary, checkpoint.max_seq_length)
        vectors = dataclasses.replace(vectors, prompt_lengths=lengths)
    if not reads_words and checkpoint.parts.keys() - NO_HEADS:
        report.note(
            f"the head of {checkpoint.task} is left out: {MODULES_FILE} makes vectors of the encoder alone; "
            f"allow_unmatched={MODULES_FILE} reads the head, without the vectors"
        )
        checkpoint = checkpoint.encoder_alone()
    report = checkpoint.report
    report.note(
        ", ".join([MODULES_FILE, *(f"{name} {shown(value)}" for name, value in vectors.changes.items())])
    )
    report.taken.extend((outside, name, "transposed") for name, outside in modules.outsides.items())
    if isinstance(vectors, PoolingConfig) and not vectors.dense:
        return dataclasses.replace(checkpoint, pooling=vectors)
    return dataclasses.replace(
        checkpoint, task=task, pooling=vectors, tensors=checkpoint.tensors | modules.tensors
    )


def _longest(checkpoint, skipped, modules, path, report):
    """The longest sequence. Of RoBERTa and those after it folders also count the rows that no token reads."""
    longest, positions = modules.max_seq_length, checkpoint.encoder.max_position_embeddings
    if longest is not None and positions < longest <= positions + skipped:
        report.note(f"max_seq_length={longest} counts rows that no token reads; kbert takes {positions}")
        longest = positions
    if longest is not None and longest > positions:
        raise ValueError(f"{path}: max_seq_length={longest}, but the encoder has only {positions} positions.")
    return longest or checkpoint.max_seq_length


def _read_model(
    folder,
    do_lower_case,
    report,
    needs_pooler=True,
    activation=None,
    is_sentences=False,
    vectors=None,
) -> tuple[BertCheckpoint, int]:
    """A folder of transformers, and how many rows of its positions no token reads.

    Args:
      folder, do_lower_case, report: as for `read_hugging_face`.
      needs_pooler: whether an encoder without its pooler is an error.
      activation: the class by which a cross-encoder makes a score, where a file beside config.json says it.
      is_sentences: whether it is a part of a folder of sentence-transformers.
      vectors: how texts become vectors there, with its prompts.
    """
    config_file = folder / CONFIG_FILE
    values = read_json_object(config_file)
    config = parse_config(values, config_file, report)
    family, positions = FAMILIES[config.model_type], config.encoder.max_position_embeddings
    is_tied = json_value(values, "tie_word_embeddings", bool, config_file, True)
    stored = read_weights(folder, family.prefix, family.table["body"][0].outside, is_tied, report)
    name = find_class(config, stored, needs_pooler, report)
    prompts, prompt_tokens = getattr(vectors, "prompts", {}), getattr(vectors, "prompt_tokens", ())
    vocabulary, longest = read_tokenizer(folder, do_lower_case, report, prompts, name, prompt_tokens)
    _require_own_tokenizer(values, config, vocabulary, longest, folder, report)
    _cut_tables(stored, config)
    split_projections(stored)
    labels = find_labels(config, name, stored, folder, report)
    problem_type, own_activation = find_meaning(
        config, name, labels, activation, stored, is_sentences, folder, report
    )
    task = find_task(name, problem_type)
    tensors = _match_tensors(config, name, TASKS[task].from_labels(labels), stored, needs_pooler, report)
    report.note(f"architecture {name}, read as kbert's task {task!r}")
    checkpoint = BertCheckpoint(
        source=str(folder),
        encoder=config.encoder,
        task=task,
        labels=labels,
        vocabulary=vocabulary,
        tensors=tensors,
        max_seq_length=min(longest or positions, positions),
        report=report,
        activation=own_activation,
    )
    return checkpoint, family.skipped_positions(vocabulary.pad_id)


def _require_own_tokenizer(values, config, vocabulary, longest, folder, report):
    """Refuses a tokenizer, and its longest sequence or None, that cannot be that of the config."""
    config_file = folder / CONFIG_FILE
    if not (values.get("model_type") or config.architecture) and vocabulary.kind != "wordpiece":
        raise ValueError(
            f"{config_file} names neither model_type nor architectures, and the tokenizer is not BERT's: a "
            "RoBERTa has the same tensors, but counts positions from another row; write the family there, "
            'such as "model_type": "roberta".'
        )
    check_sizes(vocabulary, config.encoder, str(folder), config.own.vocabulary_size, report)
    family = FAMILIES[config.model_type]
    skipped = family.skipped_positions(vocabulary.pad_id)
    if config.skipped_positions != skipped:
        raise ValueError(
            f"{config_file}: by its pad_token_id positions begin at row {config.skipped_positions}, but the "
            f"tokenizer's {vocabulary.special_tokens.pad} has id {vocabulary.pad_id}; use config and "
            "tokenizer of one model."
        )
    require_own_padding(family, vocabulary, folder, report)
    positions = config.encoder.max_position_embeddings
    if longest is not None and longest > positions + skipped:
        report.conflict(
            "model_max_length",
            f"{folder}: tokenizer_config.json says model_max_length={longest}, but config.json "
            f"max_position_embeddings={positions}",
        )


def _match_tensors(config, name, task, stored, needs_pooler, report):
    """kbert's variable -> its tensor, of the class of a name read as a task."""
    family = FAMILIES[config.model_type]
    table, parts = family.name_table(name), task_parts(task)
    own = parts
    if table["pooler"] is CLASSIFIER_POOLER and family.has_pooler:
        stored.ignored |= {f"pooler.dense.{end}": _BESIDE_CLASSIFIER for end in ("weight", "bias")}
    elif "pooler.dense.weight" in stored.tensors:
        parts = with_pooler(parts)  # part of the encoder, even if this task does not use it
    optional, shapes = {}, model_shapes(config.encoder, task, parts)
    has_none = name.endswith("Model")  # or may have none, as by AutoModel(add_pooling_layer=False)
    if POOLER.name in own and (has_none or not (needs_pooler and has_own_pooler(name))):
        optional |= dict.fromkeys(part_shapes(shapes, POOLER.name), _FRESH)
    optional |= config.own.may_be_missing()
    shapes = part_shapes(shapes, "body", *stored_parts(name, parts))
    return match(stored, table, config.encoder, shapes, optional, name, report)


def _cut_tables(stored, config):
    """Removes the rows of tables that no token reads."""
    if not config.skipped_positions:
        return
    rows_read = {_POSITION_ROWS: (config.skipped_positions, None), _SEGMENT_ROWS: (0, 1)}
    for name in rows_read.keys() & stored.tensors.keys():
        if stored.tensors[name].shape:
            stored.tensors[name] = stored.tensors[name].rows(*rows_read[name])
