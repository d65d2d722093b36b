"""Reads and writes Hugging Face folders of BERT and the families after it, without torch and transformers.

They may also be folders of sentence-transformers: then the encoder comes with its pooling.
"""

import dataclasses
from pathlib import Path

from absl import logging

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.bert_config_file import PROBLEM_TYPE, SEVERAL_LABELS
from kbert.checkpoints.conversion.checks import check_sizes, require_same, require_same_masked_lm
from kbert.checkpoints.conversion.matching import match
from kbert.checkpoints.conversion.names import CLASSIFIER_POOLER, rows
from kbert.checkpoints.conversion.resizing import POSITION_TABLE, as_bert
from kbert.checkpoints.hugging_face.config import build_config, label_names, parse_config
from kbert.checkpoints.hugging_face.cross_encoder import (
    CROSS_ENCODER,
    REGRESSION,
    SIGMOID,
    find_activation,
)
from kbert.checkpoints.hugging_face.families import (
    FAMILIES,
    MPNET_BUCKETS,
    find_task,
    has_own_pooler,
    require_readable,
    stored_parts,
    written_model_type,
)
from kbert.checkpoints.hugging_face.modernbert import join_projections, split_projections
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
from kbert.checkpoints.hugging_face.sentence_writing import write_sentence_modules
from kbert.checkpoints.hugging_face.tokenizer import read_tokenizer, write_tokenizer
from kbert.checkpoints.hugging_face.weights import read_weights
from kbert.checkpoints.model_variables import (
    model_shapes,
    part_name,
    part_shapes,
    task_parts,
    with_pooler,
)
from kbert.checkpoints.report import Report, unmatched_patterns
from kbert.config import EncoderConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown, shown_name
from kbert.files.safetensors_file import write_safetensors
from kbert.files.whole_file import write_json
from kbert.heads.parts import MASKED_LM, NO_HEADS, POOLER
from kbert.tasks import TASKS
from kbert.tasks.similarity import prompts
from kbert.tasks.token_classification.tag_schemes import letters_scheme
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary import Vocabulary

CONFIG_FILE = "config.json"
_POSITION_ROWS, _SEGMENT_ROWS = (
    f"embeddings.{name}_embeddings.weight" for name in ("position", "token_type")
)
_BESIDE_CLASSIFIER = "the encoder's pooler, which this class does not use"
_FRESH = "not in this architecture; initialised if a kbert model has it"
# Tensors that a class of any family has -> the end of its name; the first that fits is taken. `{bias}` is the
# bias of the family's masked LM.
_HEADS = (
    ("{bias} cls.seq_relationship.weight", "ForPreTraining"),
    ("{bias}", "ForMaskedLM"),
    ("cls.seq_relationship.weight", "ForNextSentencePrediction"),
    ("qa_outputs.weight", "ForQuestionAnswering"),
    ("classifier.out_proj.weight", "ForSequenceClassification"),
    ("classifier.weight sequence_summary.summary.weight", "ForMultipleChoice"),
    ("classifier.weight", "ForTokenClassification"),
    ("", "Model"),
)


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
    encoder, family = config.encoder, FAMILIES[config.model_type]
    is_tied = json_value(values, "tie_word_embeddings", bool, config_file, True)
    stored = read_weights(folder, family.prefix, family.table["body"][0].outside, is_tied, report)
    name = _find_class(config, stored, needs_pooler, report)
    prompts, prompt_tokens = getattr(vectors, "prompts", {}), getattr(vectors, "prompt_tokens", ())
    vocabulary, longest = read_tokenizer(folder, do_lower_case, report, prompts, name, prompt_tokens)
    if not (values.get("model_type") or config.architecture) and vocabulary.kind != "wordpiece":
        raise ValueError(
            f"{config_file} names neither model_type nor architectures, and the tokenizer is not BERT's: a "
            "RoBERTa has the same tensors, but counts positions from another row; write the family there, "
            'such as "model_type": "roberta".'
        )
    check_sizes(vocabulary, encoder, str(folder), config.own.vocabulary_size, report)
    skipped = family.skipped_positions(vocabulary.pad_id)
    if config.skipped_positions != skipped:
        raise ValueError(
            f"{config_file}: by its pad_token_id positions begin at row {config.skipped_positions}, but the "
            f"tokenizer's {vocabulary.special_tokens.pad} has id {vocabulary.pad_id}; use config and "
            "tokenizer of one model."
        )
    _require_own_padding(family, vocabulary, folder, report)
    positions = encoder.max_position_embeddings
    if longest is not None and longest > positions + skipped:
        report.conflict(
            "model_max_length",
            f"{folder}: tokenizer_config.json says model_max_length={longest}, but config.json "
            f"max_position_embeddings={positions}",
        )

    _cut_tables(stored, config)
    split_projections(stored)
    labels = _labels(config, name, stored, folder, report)
    problem_type, own_activation = _meaning(
        config, name, labels, activation, stored, is_sentences, folder, report
    )
    task = find_task(name, problem_type)

    named_task, table = TASKS[task].from_labels(labels), family.name_table(name)
    parts = task_parts(named_task)
    own = parts
    if table["pooler"] is CLASSIFIER_POOLER and family.has_pooler:
        stored.ignored |= {f"pooler.dense.{end}": _BESIDE_CLASSIFIER for end in ("weight", "bias")}
    elif "pooler.dense.weight" in stored.tensors:
        parts = with_pooler(parts)  # part of the encoder, even if this task does not use it
    optional, shapes = {}, model_shapes(encoder, named_task, parts)
    has_none = name.endswith("Model")  # or may have none, as by AutoModel(add_pooling_layer=False)
    if POOLER.name in own and (has_none or not (needs_pooler and has_own_pooler(name))):
        optional |= dict.fromkeys(part_shapes(shapes, POOLER.name), _FRESH)
    optional |= config.own.may_be_missing()
    shapes = part_shapes(shapes, "body", *stored_parts(name, parts))
    tensors = match(stored, table, encoder, shapes, optional, name, report)
    report.note(f"architecture {name}, read as kbert's task {task!r}")
    checkpoint = BertCheckpoint(
        source=str(folder),
        encoder=encoder,
        task=task,
        labels=labels,
        vocabulary=vocabulary,
        tensors=tensors,
        max_seq_length=min(longest or positions, positions),
        report=report,
        activation=own_activation,
    )
    return checkpoint, skipped


def _meaning(config, name, labels, activation, stored, is_sentences, folder, report):
    """(problem type, activation): what the outputs of a classifier mean, and what makes a score of them."""
    # A cross-encoder's only output is a number, whatever the config says.
    is_number = len(labels) == 1 and (is_sentences or not config.problem_type)
    problem_type = "regression" if is_number else config.problem_type
    if not name.endswith("ForSequenceClassification"):
        return problem_type, None
    if problem_type == "regression" and len(labels) > 1:
        raise ValueError(
            f"{folder / CONFIG_FILE}: problem_type is 'regression' with {len(labels)} outputs; kbert's "
            "regression has one."
        )
    # TensorFlow's classes did not write what they had learnt.
    is_regression = config.problem_type == "regression" or stored.as_in_keras
    kind = CROSS_ENCODER if is_sentences else REGRESSION if is_regression else None
    if problem_type == SEVERAL_LABELS and (activation or config.activation) is None:
        return problem_type, None  # each has its sigmoid
    activation = find_activation(activation or config.activation, len(labels), kind, folder, report)
    # transformers writes a problem_type at a training, and keeps the keys that others wrote before it.
    is_later = config.problem_type == "regression" if len(labels) == 1 else config.is_one_label
    if activation == SIGMOID and is_later and not is_sentences:
        report.conflict(
            "activation_fn",
            f"{folder}: its score goes through a sigmoid by its activation, but not by problem_type in "
            f"{CONFIG_FILE}, which transformers writes where it trains a model; remove the activation there "
            f'(activation_fn, sbert_ce_default_activation_function), or write "{PROBLEM_TYPE}": null for the '
            "sigmoid",
        )
        activation = None
    if len(labels) > 1 and activation == SIGMOID and problem_type is None:
        report.note("each output goes through a sigmoid: read as several labels")
        problem_type = SEVERAL_LABELS
    return problem_type, activation if problem_type == "regression" else None


def _cut_tables(stored, config):
    """Removes the rows of tables that no token reads."""
    if not config.skipped_positions:
        return
    rows_read = {_POSITION_ROWS: (config.skipped_positions, None), _SEGMENT_ROWS: (0, 1)}
    for name in rows_read.keys() & stored.tensors.keys():
        if stored.tensors[name].shape:
            stored.tensors[name] = stored.tensors[name].rows(*rows_read[name])


def _find_class(config, stored, needs_head, report):
    """The class: that of config.json, but for heads that the file has or lacks against it."""
    family = FAMILIES[config.model_type]
    name = config.architecture
    if name is None or config.is_unknown:
        name = _guess_architecture(stored, family, config, needs_head, report)
    if not needs_head and name.endswith("ForMaskedLM") and _masked_lm_bias(family) not in stored.tensors:
        report.note(f"config.json says {name}, but there is no such head: the encoder alone is read")
        name = f"{family.name}Model"
    if name == "BertForMaskedLM" and "cls.seq_relationship.weight" in stored.tensors:
        report.note("config.json says BertForMaskedLM, but there is a next-sentence head: it is read too")
        name = "BertForPreTraining"
    return name


def _masked_lm_bias(family):
    return family.table[MASKED_LM.name][-1].outside


def _guess_architecture(stored, family, config, needs_head, report):
    """The class according to the heads in the file, where config.json names none or an unknown one.

    transformers writes the name of any class, such as `class Contriever(BertModel)`, and reads by model_type.
    """
    names, bias = stored.tensors.keys(), _masked_lm_bias(family)
    end = next(end for heads, end in _HEADS if set(heads.format(bias=bias).split()) <= names)
    other = None
    if end == "ForTokenClassification" and family.table["pooler"][0].outside in names:
        end, other = _pooled_heads(stored, family, config.id2label)
    name = family.name + end
    unknown = config.architecture and f"{shown_name(config.architecture)}, a class that kbert does not know"
    sentence = f"config.json names {unknown or 'no architecture'}; its tensors are those of {name}"
    report.note(sentence)
    if config.is_unknown and needs_head:  # sentence-transformers' modules need none
        if end == "Model":
            logging.warning("%s: %s; what its code does beside them is not done.", report.path, sentence)
        else:
            report.conflict(
                "architectures",
                f"{report.path}: {sentence}, but its code may make other answers of them; if it does not, "
                f'write "architectures": ["{name}"] there',
            )
    if other:
        other = family.name + other
        logging.warning(
            '%s: %s, or of %s: then write "architectures": ["%s"] there.', report.path, sentence, other, other
        )
    require_readable(name, report.path)
    return name


def _pooled_heads(stored, family, id2label):
    """(end of the class, that of another with the same tensors or None) of a plain classifier on a pooler.

    Multiple choice has one output. Taggers of families with a pooler had it until transformers 4.
    """
    tags, choices, texts = "ForTokenClassification", "ForMultipleChoice", "ForSequenceClassification"
    other = choices if _num_outputs(stored) == 1 else tags
    if texts in family.own_poolers:  # its classifier of texts has other tensors
        return other, None
    taggers = {row.outside for row in family.table[find_task(family.name + tags)]}
    if not (family.has_pooler or family.table["pooler"][0].outside in taggers):
        return texts, None if other == tags else other
    has_tags = letters_scheme([str(label) for label in (id2label or {}).values()])
    return (tags, None) if has_tags else (texts, other)


def _num_outputs(stored):
    names = ("classifier.weight", "classifier.out_proj.weight")
    head = next((stored.tensors[name] for name in names if name in stored.tensors), None)
    return head.shape[-1 if stored.as_in_keras else 0] if head is not None and head.shape else None


def _labels(config, architecture, stored, folder, report):
    """The names of the outputs. What config.json says of them must agree, also with the weights."""
    if not TASKS[find_task(architecture)].checkpoint.has_labels:
        return ()
    num_outputs, path = _num_outputs(stored), folder / CONFIG_FILE
    if config.id2label is None:
        count = num_outputs or 2
        report.note(f"config.json names no labels; the {count} outputs are called LABEL_0, LABEL_1 ...")
        labels = tuple(_numbered_ids(count))
    else:
        labels = label_names(config.id2label, path)
    if num_outputs not in (None, len(labels)):
        raise ValueError(
            f"{folder}: config.json names {len(labels)} labels (id2label), but the classifier has "
            f"{num_outputs} outputs; use config and weights of one model."
        )
    if config.num_labels not in (None, len(labels)):
        report.conflict(
            "num_labels",
            f"{path}: num_labels={config.num_labels}, but there are {len(labels)} labels, {shown(labels)}",
        )
    ids = {name: str(id_) for name, id_ in (config.label2id or {}).items()}
    # transformers writes its numbered names beside an id2label that was set later, and answers by the latter.
    if ids not in (_numbered_ids(len(ids)), {name: str(index) for index, name in enumerate(labels)}):
        report.conflict(
            "label2id", f"{path}: label2id is {shown(config.label2id)}, but the labels are {shown(labels)}"
        )
    return labels


def _numbered_ids(count) -> dict[str, str]:
    """What transformers has for label2id where nobody names the labels."""
    return {f"LABEL_{index}": str(index) for index in range(count)}


# --------------------------------------------------------------------------------------- writing


def _require_own_padding(family, vocabulary, source, report):
    """Refuses an MPNet whose padding is not token 1: transformers gives token 1 no position of its own."""
    if family.name == "MPNet" and vocabulary.pad_id != 1:
        report.conflict(
            "pad_token_id",
            f"{source}: {vocabulary.special_tokens.pad} is token {vocabulary.pad_id}, but transformers' "
            f"MPNet takes token 1 ({vocabulary.tokens[1]}) for padding and gives texts with it other numbers",
        )


def _before_lower_casing(vocabulary: BaseVocabulary) -> BaseVocabulary:
    """The cased tokenizer to write where a folder of sentence-transformers lower-cases its texts before."""
    if not isinstance(vocabulary, Vocabulary) or vocabulary.rules.strip_accents:
        return vocabulary
    is_cased = vocabulary.do_lower_case and vocabulary.other_casing
    return vocabulary.with_rules(do_lower_case=False) if is_cased else vocabulary


def write_hugging_face(checkpoint: BertCheckpoint, folder: Path, report: Report):
    """Writes what `transformers` loads with `AutoModel...` and `AutoTokenizer.from_pretrained(folder)`.

    A model with a pooling becomes a folder of sentence-transformers too: `SentenceTransformer(folder).encode`
    then gives the vectors of `embed`.

    Args:
      checkpoint: the model; only the tensors that it has are written.
      folder: an empty folder.
      report: takes every name. Settings that this format cannot express, and the user may allow:
        `masked_lm_settings`, `pooler_hidden_act`; for DistilBERT also `layer_norm_eps`, for MPNet also
        `pad_token_id`.

    Raises:
      ValueError: for settings that the class of transformers does not have, and for a task that has no class.
    """
    has_none = not checkpoint.encoder.type_vocab_size
    if has_none and written_model_type(checkpoint) in ("bert", "electra"):  # whose classes have segments
        checkpoint = as_bert(checkpoint)
    values = build_config(checkpoint)
    architecture, model_type = values["architectures"][0], values["model_type"]
    family = FAMILIES[model_type]
    require_same_masked_lm(checkpoint, f"transformers' {family.name}", report, family.masked_lm_act)
    if has_own_pooler(architecture) and model_type != "modernbert":
        require_same(checkpoint, "pooler_hidden_act", family.pooler_hidden_act, architecture, report)
    if model_type == "distilbert":
        require_same(checkpoint, "layer_norm_eps", EncoderConfig.layer_norm_eps, "DistilBERT", report)
    if model_type == "mpnet":
        for name, theirs in {"relative_attention_num_buckets": MPNET_BUCKETS, "type_vocab_size": 0}.items():
            require_same(checkpoint, name, theirs, "transformers' MPNet", report)
    _require_own_padding(family, checkpoint.vocabulary, checkpoint.source, report)
    parts = stored_parts(architecture, checkpoint.parts)
    if family.has_pooler:
        parts = with_pooler(parts)
    prefix = "" if architecture.endswith("Model") else family.prefix
    tensors = {}
    for row in rows(family.name_table(architecture), parts, checkpoint.encoder.num_hidden_layers):
        outside = row.outside
        if part_name(row.kbert) == "body" or outside.startswith("pooler."):  # others' poolers are a head's
            outside = f"{prefix}{outside}"
        if row.kbert not in checkpoint.tensors:
            if row.kbert in checkpoint.shapes:
                report.not_in_file.append((row.kbert, "never trained, not written"))
            continue
        tensors[outside] = checkpoint.tensors[row.kbert].as_float32(row.transposed)
        if row.kbert == POSITION_TABLE:
            skipped = family.skipped_positions(checkpoint.vocabulary.pad_id)
            tensors[outside] = tensors[outside].after_zeros(skipped)
        report.taken.append((outside, row.kbert, "transposed" if row.transposed else "as it is"))
    write_safetensors(folder / "model.safetensors", join_projections(tensors), {"format": "pt"})
    write_json(values, folder / CONFIG_FILE)
    has_segments = checkpoint.encoder.type_vocab_size > 1
    vocabulary = checkpoint.vocabulary
    if checkpoint.pooling is not None:
        vocabulary = _before_lower_casing(vocabulary)
    prompt_tokens = getattr(checkpoint.pooling, "prompt_tokens", ())
    write_tokenizer(folder, vocabulary, checkpoint.max_seq_length, has_segments, architecture, prompt_tokens)
    hidden_act = values.get("hidden_act", values.get("activation"))
    report.note(f"architecture {architecture}; hidden_act {hidden_act!r}")
    if checkpoint.pooling is not None:
        length: dict = {
            "max_seq_length": checkpoint.max_seq_length,
            "do_lower_case": vocabulary is not checkpoint.vocabulary,
        }
        encoder = checkpoint.encoder
        weighs_words = isinstance(checkpoint.pooling, SparsePoolingConfig)
        width = encoder.vocab_size if weighs_words else encoder.hidden_size
        write_sentence_modules(folder, checkpoint.pooling, length, width, checkpoint.tensors, report)
        report.note(f"{MODULES_FILE}, for sentence-transformers")
    left_over = checkpoint.tensors.keys() - {kbert for _, kbert, _ in report.taken}
    report.left_over.extend((name, f"{architecture} has no such variable") for name in sorted(left_over))
