"""Which vocabulary a command cuts texts with: a vocab.txt, or the tokenizer of a folder."""

from collections.abc import Sequence
from pathlib import Path

from kbert.checkpoints import HUGGING_FACE, KERAS_HUB, MODEL_GARDEN, formats, google_vocabulary
from kbert.checkpoints.hugging_face import sentence_transformers
from kbert.checkpoints.hugging_face import tokenizer as tokenizer_files
from kbert.checkpoints.report import Report, unmatched_patterns
from kbert.checks import require_single
from kbert.files.json_file import read_json_object
from kbert.files.version_folders import version_folder
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary

# Where a run, records, a LiteRT export and a SavedModel describe the vocabulary that lies beside.
_DESCRIPTIONS = ("run.json", "manifest.json", "kbert.json", "assets.extra/kbert.json")
# Formats of checkpoints with the vocabulary in a folder inside: KerasHub's presets, TF Hub's SavedModels.
_INSIDE = (KERAS_HUB, MODEL_GARDEN)


def read_source(
    vocab_file: str | Path | None,
    tokenizer: str | Path | None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
) -> BaseVocabulary:
    """The vocabulary.

    Args:
      vocab_file: the vocab.txt of a WordPiece vocabulary.
      tokenizer: instead of `vocab_file`: a folder with tokenizer files (WordPiece, byte-level BPE,
        SentencePiece), as Hugging Face, sentence-transformers and kbert vocab write them, or of Google's
        TF1, Model Garden, TF Hub or KerasHub; or a run, an export, a folder of records; or a model's name,
        such as hf://org/name or bert-base-uncased.
      do_lower_case: with `vocab_file`: lower-case texts and drop accents, umlauts, vowel signs and all other
        combining marks; true by default. In Python, None is refused where the tokens prove that they are
        cased.
      allow_unmatched: settings that may differ in `tokenizer`, as in kbert finetune.

    Raises:
      ValueError: for both or neither, what belongs to the other one (`do_lower_case`, `allow_unmatched`),
        and whatever makes no vocabulary.
    """
    require_single({"vocab_file": vocab_file, "tokenizer": tokenizer})
    if vocab_file and allow_unmatched:
        raise ValueError(
            "allow_unmatched has no effect on a vocab_file, which has no settings; leave it out."
        )
    if vocab_file and Path(vocab_file).suffix in (".json", ".model"):
        raise ValueError(
            f"vocab_file={vocab_file} is no vocab.txt, but a file of a tokenizer; give its folder instead: "
            f"tokenizer={Path(vocab_file).parent}."
        )
    if vocab_file:
        return google_vocabulary.read_vocab_file(vocab_file, do_lower_case)
    if do_lower_case is not None:
        raise ValueError(
            "do_lower_case has no effect on a tokenizer, whose files say it; leave it out, or write it into "
            "the tokenizer_config.json of a folder that kbert did not write."
        )
    return read_folder(formats.local_path(tokenizer), allow_unmatched)


def read_folder(folder: Path, allow_unmatched: Sequence[str] | str = ()) -> BaseVocabulary:
    """The vocabulary in a folder. Of several versions of an export, the newest counts.

    Raises:
      ValueError: for a folder without one, or with files that are broken or contradict each other.
    """
    if not folder.is_dir():
        raise ValueError(
            f"tokenizer={folder} is no folder; give the one of the tokenizer's files, or hf://org/name."
        )
    for parent in filter(None, (folder, version_folder(folder))):
        for file in (parent / name for name in _DESCRIPTIONS):
            description = read_json_object(file).get("vocabulary") if file.is_file() else None
            if isinstance(description, dict) and {"fingerprint", "do_lower_case"} <= description.keys():
                return read_vocabulary(file.parent, description)
    report = Report(HUGGING_FACE, str(folder), allow_unmatched=unmatched_patterns(allow_unmatched))
    if google_vocabulary.is_googles(folder):
        return google_vocabulary.read_google_vocabulary(folder, None, report)
    if formats.holds_model(folder) and formats.detect_format(folder) in _INSIDE:
        return formats.read_checkpoint(folder, allow_unmatched=allow_unmatched).vocabulary
    modules = sentence_transformers.read_encoder_alone(folder, report)
    prompt_tokens = sentence_transformers.read_prompt_tokens(folder, modules.encoder_folder)
    vocabulary, _ = tokenizer_files.read_tokenizer(
        modules.encoder_folder, None, report, prompt_tokens=prompt_tokens
    )
    return sentence_transformers.with_casing(vocabulary, modules, report)
