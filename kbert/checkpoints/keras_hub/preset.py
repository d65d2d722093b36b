"""Reads and writes KerasHub presets.

KerasHub's tokenizer differs from the original: it folds compatibility characters and case by NFKC, and treats
control characters as spaces, where the original drops them. kbert tokenizes as the original does, so ids
differ in such places (docs/checkpoints.md counts them).
"""

from pathlib import Path

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.checks import (
    check_sizes,
    decide_casing,
    require_bert,
    require_berts_vocabulary,
    require_same,
    require_same_masked_lm,
)
from kbert.checkpoints.conversion.matching import Stored, join_attention_heads, match
from kbert.checkpoints.conversion.names import KERAS_HUB, rows
from kbert.checkpoints.conversion.resizing import as_bert
from kbert.checkpoints.keras_hub.config import (
    CLASSIFICATION,
    CONFIG_FILE,
    FIXED,
    MASKED_LM_SETTINGS,
    KerasHubConfig,
    add_own_keys,
    backbone_arguments,
    class_and_settings,
    parse_preset,
)
from kbert.checkpoints.keras_hub.weights import build, load_variables, save
from kbert.checkpoints.model_variables import (
    fresh_value,
    model_shapes,
    part_shapes,
    task_parts,
    with_pooler,
)
from kbert.checkpoints.report import Report, one_line
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value, shown
from kbert.files.stored_tensor import StoredTensor
from kbert.files.text_file import read_lines
from kbert.files.whole_file import write_json
from kbert.heads.parts import MASKED_LM
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary, last_lines_count
from kbert.tokenization.wordpiece_rules import MOST_CHARACTERS

# The rules of BertTokenizer that kbert's has too.
_RULES = {
    "split": True,
    "suffix_indicator": "##",
    "oov_token": "[UNK]",
    "special_tokens": None,
    "special_tokens_in_strings": False,
    "sequence_length": None,
}
TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"
PRESET_SCHEME, KAGGLE_SCHEME = "keras_hub://", "kaggle://"
# The head -> the class that is written for it. Heads that no class has are errors, unless allowed by name.
_CLASSES = {CLASSIFICATION: "BertTextClassifier", MASKED_LM.name: "BertMaskedLM"}


def is_preset(path) -> bool:
    """Whether the folder's config.json is that of a KerasHub preset (Keras's, with a registered name)."""
    file = Path(path) / CONFIG_FILE
    return file.is_file() and "registered_name" in read_json_object(file)


def read_keras_hub(path: Path, do_lower_case: bool | None, report: Report) -> BertCheckpoint:
    """Reads a preset folder of a BertBackbone, BertTextClassifier, BertMaskedLM or BertTextEmbedder.

    Args:
      path: the folder, as `save_to_preset` writes it, with the tokenizer.
      do_lower_case: may be given, but must agree with the preset.
      report: takes every name.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before
        keras_hub is imported and any tensor is read.
    """
    preset = parse_preset(path, report)
    encoder, own = preset.encoder, preset.own
    vocabulary = _read_tokenizer(path, do_lower_case, preset, report)
    check_sizes(vocabulary, encoder, str(path), own.vocabulary_size, report)

    task = TASKS[preset.task].from_labels(preset.labels)
    parts = with_pooler(task_parts(task))  # a backbone always has its pooler
    shapes = model_shapes(encoder, task, parts)
    untrained = {
        row.outside: "initialised at a conversion, never trained"
        for row in rows(KERAS_HUB, parts, encoder.num_hidden_layers)
        if row.kbert in own.untrained
    }
    stored = Stored(_read_tensors(path, preset, shapes), ignored=untrained)
    tensors = match(stored, KERAS_HUB, encoder, shapes, own.may_be_missing(), preset.class_name, report)
    report.note(f"class {preset.class_name}, read as kbert's task {preset.task!r}")
    return BertCheckpoint(
        source=str(path),
        encoder=encoder,
        task=preset.task,
        labels=preset.labels,
        vocabulary=vocabulary,
        tensors=tensors,
        max_seq_length=preset.max_seq_length,
        report=report,
        pooling=preset.pooling,
        activation=preset.activation,
    )


def _read_tokenizer(
    folder: Path, do_lower_case: bool | None, preset: KerasHubConfig, report: Report
) -> Vocabulary:
    """The vocabulary with its rules."""
    path, file = folder / TOKENIZER_FILE, folder / VOCABULARY_FILE
    if not path.is_file() or not file.is_file():
        raise ValueError(
            f"{folder} has no tokenizer ({TOKENIZER_FILE} and {VOCABULARY_FILE}); save it beside the model: "
            "tokenizer.save_to_preset(folder)."
        )
    _, settings = class_and_settings(read_json_object(path), path, ("BertTokenizer",))
    for setting, ours in _RULES.items():
        theirs = settings.get(setting, ours)
        if theirs not in (ours, []):
            report.conflict(setting, f"{path}: {setting} is {shown(theirs)}, not {ours!r}")
    lowercase = json_value(settings, "lowercase", bool, path, False)
    # KerasHub strips white space at the ends of lines, and counts empty lines.
    tokens = last_lines_count([line.rstrip() for line in read_lines(file)], file)
    vocabulary = decide_casing(
        tokens,
        str(file),
        lowercase,
        TOKENIZER_FILE,
        do_lower_case,
        report,
        is_known=preset.is_casing_known,
        strip_accents=json_value(settings, "strip_accents", bool, path, False),
        tokenize_chinese_chars=json_value(settings, "split_on_cjk", bool, path, True),
        max_input_chars_per_word=min(preset.longest_word, MOST_CHARACTERS),
    )
    report.note(
        "words are split as in the original; KerasHub's tokenizer splits some otherwise, see "
        "docs/checkpoints.md"
    )
    return vocabulary


def _read_tensors(folder, preset, shapes):
    """KerasHub's path -> tensor."""
    backbone = part_shapes(shapes, "body", "pooler")
    encoder, heads = backbone.values(), [shape for name, shape in shapes.items() if name not in backbone]
    arguments = backbone_arguments(preset.encoder)
    variables = load_variables(folder, preset.class_name, arguments, len(preset.labels), encoder, heads)
    return {
        path: join_attention_heads(path, StoredTensor(tuple(variable.shape), "float32", variable.numpy))
        for path, variable in variables.items()
    }


def write_keras_hub(checkpoint: BertCheckpoint, folder: Path, report: Report):
    """Writes a preset that `keras_hub.models.Bert...from_preset(folder)` loads as it is, tokenizer included.

    A classifier is written as BertTextClassifier, a masked LM as BertMaskedLM, all else as BertBackbone.

    Args:
      checkpoint: the model. Missing variables get fresh initial values; metadata.json lists their names.
      folder: an empty folder.
      report: takes every name. What KerasHub does not have and the user may allow: `hidden_act`,
        `layer_norm_eps`, `masked_lm_settings`, `pooler_hidden_act`, for which it then uses its own values;
        and kbert's names of variables.

    Raises:
      ValueError: for a model whose numbers KerasHub would not reproduce.
    """
    checkpoint, library = as_bert(checkpoint), "KerasHub's BertBackbone"
    encoder = checkpoint.encoder
    require_bert(encoder, library)
    vocabulary = require_berts_vocabulary(checkpoint.vocabulary, library)
    head = next((part for part in _CLASSES if part in checkpoint.parts), None)
    class_name = _CLASSES[head] if head else "BertBackbone"
    parts = with_pooler({name: part for name, part in checkpoint.parts.items() if name == head})
    shapes = model_shapes(encoder, checkpoint.model_task, parts)
    for name in ("hidden_act", "layer_norm_eps", "pooler_hidden_act"):
        require_same(checkpoint, name, FIXED[name], library, report)
    require_same_masked_lm(checkpoint, "KerasHub's BertMaskedLM", report, *MASKED_LM_SETTINGS)
    for name in [name for name in checkpoint.tensors if name not in shapes]:
        report.conflict(name, f"KerasHub has no variable for {name}")
        report.left_over.append((name, "KerasHub has no variable for it; allowed"))

    preprocessor = _preprocessor(checkpoint, vocabulary, class_name)
    extra = {"preprocessor": preprocessor} if head else {}
    model = build(class_name, backbone_arguments(encoder), len(checkpoint.labels), **extra)
    variables = {variable.path: variable for variable in model.weights}
    untrained = []
    for row in rows(KERAS_HUB, parts, encoder.num_hidden_layers):
        tensor = checkpoint.tensors.get(row.kbert)
        if tensor is None:
            untrained.append(row.kbert)
            report.not_in_file.append((row.kbert, "initialised, listed in metadata.json"))
            numbers = fresh_value(row.kbert, shapes[row.kbert], encoder.initializer_range)
        else:
            report.taken.append((row.outside, row.kbert, "as it is"))
            numbers = tensor.as_float32().read()
        variables[row.outside].assign(numbers.reshape(variables[row.outside].shape))
    save([model] if head else [model, preprocessor], variables.values(), folder)
    # KerasHub writes an empty line for U+2028, a token of the Chinese vocabulary.
    vocabulary.write(folder / VOCABULARY_FILE)
    if not vocabulary.rules.tokenize_chinese_chars:
        _add_split_on_cjk(folder / TOKENIZER_FILE)
    add_own_keys(folder, checkpoint, vocabulary, untrained)
    report.note(f"class {class_name}; what KerasHub has no key for is in metadata.json, for kbert alone")
    report.note("KerasHub's tokenizer gives other ids than kbert's for some texts, see docs/checkpoints.md")


def _add_split_on_cjk(path):
    """KerasHub reads this setting, but does not write it (0.32)."""
    values = read_json_object(path)
    values["config"]["split_on_cjk"] = False
    write_json(values, path)


def _preprocessor(checkpoint, vocabulary, class_name):
    from keras_hub import models  # late: it takes seconds

    tokenizer = models.BertTokenizer(
        vocabulary=list(vocabulary.tokens),
        lowercase=vocabulary.rules.do_lower_case,
        strip_accents=vocabulary.rules.strip_accents,
    )
    # A bare backbone gets a classifier's preprocessor: without one KerasHub would take a length of 512.
    owner = "BertTextClassifier" if class_name == "BertBackbone" else class_name
    preprocessor_class = getattr(models, f"{owner}Preprocessor")
    return preprocessor_class(tokenizer, sequence_length=checkpoint.max_seq_length)


def download_preset(name: str) -> Path:
    """Downloads a preset through kagglehub, or finds it in its cache (KAGGLEHUB_CACHE).

    Args:
      name: "keras_hub://bert_tiny_en_uncased", any name of `keras_hub.models.BertBackbone.presets`; or
        "kaggle://org/model/keras/variant", with or without a version at the end.

    Returns:
      The preset's folder.

    Raises:
      ValueError: for an unknown name, or when it can neither be downloaded nor found.
    """
    import kagglehub
    from keras_hub.models import BertBackbone

    handle = name
    if name.startswith(PRESET_SCHEME):
        preset = BertBackbone.presets.get(name.removeprefix(PRESET_SCHEME))
        if preset is None:
            known = ", ".join(sorted(BertBackbone.presets))
            raise ValueError(f"{name} is not a BERT preset of KerasHub; it has {known}.")
        handle = preset["kaggle_handle"]
    try:
        return Path(kagglehub.model_download(handle.removeprefix(KAGGLE_SCHEME)))
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} could not be downloaded and is not in kagglehub's cache ({one_line(error)}); check the "
            "name and the network, or give the path of a downloaded preset."
        ) from None
