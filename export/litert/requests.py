"""What an export to LiteRT may be asked for; everything is refused here, before TensorFlow is loaded."""

from kbert.checks import require_length
from kbert.cli.warn_once import warn_once
from kbert.tasks.file_columns import takes_either
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import require_wordpiece

from ..folder_names import broken_label

QUANTIZATIONS = ("float32", "float16", "dynamic_int8")
MOST_LENGTHS = 8  # in one file; each is a graph of its own
# Without --max_seq_length those below the model's own: a short text does not pay for a long row.
_SHORTER_LENGTHS = (16, 32, 64, 128, 256, 512)


def check_quantizations(names):
    """Raises ValueError unless `names` has one or more of QUANTIZATIONS, each once."""
    choices = ", ".join(QUANTIZATIONS)
    if not names:
        raise ValueError(f"--quantization is empty; give one or more of {choices}.")
    for name in names:
        if name not in QUANTIZATIONS:
            raise ValueError(
                f"--quantization={name} is not offered; choose from {choices}. "
                "docs/notes/litert.md says what others would cost."
            )
    if len(set(names)) < len(names):
        raise ValueError(f"--quantization={','.join(names)} names one twice; give each once.")


def checked_lengths(lengths, source, several: bool = True) -> tuple[int, ...]:
    """The lengths in ascending order; a warning where texts may be longer than those that trained the model.

    Args:
      lengths: those of the user; None takes the model's own and 16, 32, 64, ..., 512 below it.
      source: the `LiteRTSource`.
      several: False for kinds of files that have a single length; None then takes the model's own alone.

    Raises:
      ValueError: for no or too many lengths, one that comes twice, one that leaves no room for a text, or
        one beyond the encoder's positions.
    """
    if lengths is None:
        shorter = [length for length in _SHORTER_LENGTHS if several and length < source.loaded.max_seq_length]
        lengths = (*shorter, source.loaded.max_seq_length)
    lengths = tuple(sorted(lengths))
    if not 1 <= len(lengths) <= MOST_LENGTHS or len(set(lengths)) < len(lengths):
        raise ValueError(
            f"max_seq_length={list(lengths)} must be 1 to {MOST_LENGTHS} different lengths; each is a graph "
            "of its own in the file."
        )
    require_length(lengths[0], source.loaded.vocabulary)
    source.loaded.with_max_seq_length(lengths[-1])  # refuses missing positions, warns of untrained ones
    return lengths


def check_task(source):
    """Raises ValueError unless a LiteRT file can answer as the model of a `LiteRTSource` does.

    Its examples must come from labelled files, or it must answer a text by itself; and its task must say
    which answers are the same.
    """
    task, serving = source.task, source.task.serving
    if task.files is None and (serving is None or serving.one_text_output is None):
        raise ValueError(
            f"{source.path} has the task {task.name}; LiteRT files are for models that were "
            "fine-tuned on labelled files, and for encoders with a pooling, as in "
            "sentence-transformers folders."
        )
    if serving is None or serving.same_answers is None:
        if task.text_vectors is not None:
            raise ValueError(
                f"{source.path} has the task {task.name}, whose vectors no LiteRT file gives; use a "
                "SavedModel (kbert export)."
            )
        raise ValueError(
            f"{source.path} has the task {task.name}, which does not say which answers are the same, so that "
            "there are no LiteRT files of it; export a SavedModel (for a task of your own see `same_answers` "
            "in docs/add_a_task.md)."
        )
    features = task.features(source.loaded.max_seq_length) if task.files else {}
    if any(-1 in feature.shape for feature in features.values()):
        raise ValueError(
            f"{source.path} does not say how many choices an example has, and a LiteRT file has one number "
            "of them; give --config, a fine-tuning config whose dataset.choices lists them."
        )


def check_mediapipe(source, lengths):
    """Raises ValueError unless MediaPipe's TextClassifier or TextEmbedder can answer as the model does."""
    task, serving = source.task, source.task.serving
    if serving.one_text_output is None:
        raise ValueError(
            f"--mediapipe: {source.path} has the task {task.name}, without labels or an embedding for a "
            "single text; MediaPipe's TextClassifier and TextEmbedder do nothing else (no pairs, numbers, "
            "words, spans or choices). Use the file whose inputs are token ids."
        )
    if len(lengths) > 1:
        raise ValueError(
            f"--mediapipe: MediaPipe runs a single graph, received max_seq_length={list(lengths)}; give one."
        )
    if not serving.cuts_long_texts:
        raise ValueError(
            f"--mediapipe: {source.path} reads long texts as its task_settings.long_texts says, and "
            "MediaPipe cuts them; use the file whose inputs are token ids, and make the rows yourself."
        )
    if (label := broken_label(getattr(task, "labels", ()))) is not None:
        raise ValueError(
            f"--mediapipe: the label {label!r} has a line break, and MediaPipe reads a label a line; use the "
            "file whose inputs are token ids, or train with another name for it."
        )
    _check_texts("--mediapipe", source)
    vocabulary = require_wordpiece(source.loaded.vocabulary, "--mediapipe")
    if vocabulary.special_tokens != BERT_TOKENS:
        raise ValueError(
            f"--mediapipe: {source.path} has the special tokens {', '.join(vocabulary.special_tokens)}, and "
            "MediaPipe puts [CLS] and [SEP] around every text; use the file whose inputs are token ids."
        )
    if not vocabulary.rules.tokenize_chinese_chars:
        raise ValueError(
            f"--mediapipe: {source.path} has tokenize_chinese_chars=false, and MediaPipe makes a word of "
            "every ideograph; use the file whose inputs are token ids."
        )
    if not vocabulary.do_lower_case:
        raise ValueError(
            f"--mediapipe: {source.path} has a cased vocabulary (do_lower_case=false), and MediaPipe makes "
            "every text lower-case before it looks for tokens: words with capitals would become other words "
            "or [UNK]. Train an uncased encoder, or use the file whose inputs are token ids."
        )


def check_tokenizer_inside(source, lengths):
    """Raises ValueError unless one row, made of an example's texts, answers as the model does."""
    vocabulary = require_wordpiece(source.loaded.vocabulary, "--tokenizer_inside")
    for name in ("strip_accents", "tokenize_chinese_chars"):
        if name in vocabulary.rules.not_googles:
            value = str(getattr(vocabulary.rules, name)).lower()
            raise ValueError(
                f"--tokenizer_inside: {source.path} has {name}={value}, which TF-Text's ops for LiteRT do "
                "not have; use the file whose inputs are token ids."
            )
    _check_texts("--tokenizer_inside", source)
    task = source.task
    if not task.serving.row_texts:
        raise ValueError(
            f"--tokenizer_inside: {source.path} has the task {task.name}, whose predictions need more "
            "than one row of its texts (words, spans, choices, windows of long texts); use the file whose "
            "inputs are token ids."
        )
    if len(lengths) > 1:
        raise ValueError(
            "--tokenizer_inside: the length of a text is known only inside the file, so it has one "
            f"graph, received max_seq_length={list(lengths)}; give one length."
        )


def _check_texts(flag, source):
    """What a file that is asked with texts makes of them: no prompt stands before them, none is a pair."""
    if prompt := source.task.default_prompt:
        raise ValueError(
            f"{flag}: {source.path} puts its default prompt, {prompt!r}, before every text, which a file "
            "that is asked with texts does not do; use the file whose inputs are token ids."
        )
    if takes_either(source.task.get_config()):
        warn_once(  # of both kinds of files
            f"{source.path} does not say whether it takes pairs of texts, and the file takes single ones; "
            "for a file of pairs make a run of it first (kbert convert --takes_pairs)."
        )
