"""A folder that kbert wrote -> its vocabulary, of any kind."""

from collections.abc import Callable
from pathlib import Path

from kbert.tokenization import vocabulary
from kbert.tokenization.base_vocabulary import BERT_TOKENS, BaseVocabulary, SpecialTokens
from kbert.tokenization.bpe import bpe_vocabulary
from kbert.tokenization.sentencepiece import sentencepiece_vocabulary
from kbert.tokenization.wordpiece_rules import WrongRules, recorded_rules

# All that `write_files` may write.
VOCABULARY_FILES = (
    vocabulary.VOCABULARY_FILE,
    bpe_vocabulary.VOCABULARY_FILE,
    bpe_vocabulary.MERGES_FILE,
    sentencepiece_vocabulary.MODEL_FILE,
)
_Reader = Callable[[Path, dict, SpecialTokens], BaseVocabulary]
_READERS: dict[str, _Reader] = {
    "wordpiece": lambda folder, description, special: vocabulary.Vocabulary.from_file(
        folder / vocabulary.VOCABULARY_FILE,
        description["do_lower_case"],
        special,
        **recorded_rules(description),
    ),
    "bpe": lambda folder, _, special: bpe_vocabulary.BytePairVocabulary.from_files(
        folder / bpe_vocabulary.VOCABULARY_FILE, folder / bpe_vocabulary.MERGES_FILE, special
    ),
    "sentencepiece": lambda folder, _, special: sentencepiece_vocabulary.SentencePieceVocabulary.from_file(
        folder / sentencepiece_vocabulary.MODEL_FILE, special
    ),
}


def read_vocabulary(folder: str | Path, description: dict) -> BaseVocabulary:
    """The vocabulary that `write_files` wrote into a folder.

    Args:
      folder: where the files are.
      description: its `describe()`, as manifests and run.json record it.

    Raises:
      ValueError: for a kind that kbert does not have, a description that is damaged, and for files that are
        not those that were written.
    """
    kind, special = description.get("kind", "wordpiece"), description.get("special_tokens", list(BERT_TOKENS))
    if not isinstance(kind, str) or kind not in _READERS:
        raise ValueError(f"{folder}: its tokenizer is {kind!r}; expected one of {', '.join(_READERS)}.")
    are_texts = isinstance(special, list) and all(isinstance(token, str) for token in special)
    missing = {"do_lower_case", "fingerprint"} - description.keys()
    if missing or not are_texts or len(special) != len(BERT_TOKENS):
        raise ValueError(
            f"{folder}: the description of its vocabulary should have do_lower_case, fingerprint and "
            f"{len(BERT_TOKENS)} special_tokens, received {str(description)[:200]}; restore the original."
        )
    try:
        read = _READERS[kind](Path(folder), description, SpecialTokens(*special))
    except WrongRules as error:
        raise ValueError(f"{folder}: the description of its vocabulary: {error}") from None
    if read.fingerprint != description["fingerprint"]:
        raise ValueError(
            f"{folder}: {' and '.join(read.files())} (fingerprint {read.fingerprint}) is not the vocabulary "
            f"that was written there (fingerprint {description['fingerprint']}); restore the original, or "
            "make the folder again."
        )
    return read
