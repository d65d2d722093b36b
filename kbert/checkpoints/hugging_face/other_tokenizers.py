"""The vocabularies of Hugging Face folders whose tokenizer is not BERT's: RoBERTa's, XLM-R's and MPNet's."""

from pathlib import Path

from kbert.files.json_values import json_value
from kbert.files.whole_file import write_json
from kbert.tokenization import bpe_vocabulary, sentencepiece_vocabulary
from kbert.tokenization.base_vocabulary import ROBERTA_TOKENS, BaseVocabulary
from kbert.tokenization.bpe_vocabulary import BytePairVocabulary
from kbert.tokenization.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import VOCABULARY_FILE, Vocabulary

MPNET_TOKENS = ROBERTA_TOKENS._replace(unk="[UNK]")
_MPNET = "MPNetTokenizer"
_CLASSES = {"bpe": "RobertaTokenizer", "sentencepiece": "XLMRobertaTokenizer", "wordpiece": _MPNET}


def read_other_vocabulary(folder: Path, settings: dict, path: Path) -> BaseVocabulary | None:
    """The vocabulary of a folder with a tokenizer of `_CLASSES`, from its plain files; None for BERT's.

    Args:
      folder: holds `vocab.json` and `merges.txt`, or `sentencepiece.bpe.model`, or an MPNet's `vocab.txt`.
      settings: the content of `tokenizer_config.json`.
      path: its path.

    Raises:
      ValueError: for files that make no vocabulary.
    """
    name = json_value(settings, "tokenizer_class", str, path)
    if (folder / bpe_vocabulary.MERGES_FILE).is_file():
        tokens, merges = bpe_vocabulary.VOCABULARY_FILE, bpe_vocabulary.MERGES_FILE
        return BytePairVocabulary.from_files(folder / tokens, folder / merges)
    if (folder / sentencepiece_vocabulary.MODEL_FILE).is_file():
        return SentencePieceVocabulary.from_file(folder / sentencepiece_vocabulary.MODEL_FILE)
    if name is None or name.removesuffix("Fast") != _MPNET:
        return None
    lower = json_value(settings, "do_lower_case", bool, path, True)
    return Vocabulary.from_file(folder / VOCABULARY_FILE, lower, MPNET_TOKENS)


def write_other_tokenizer(folder: Path, vocabulary: BaseVocabulary, max_seq_length: int):
    """The files that `read_other_vocabulary` reads."""
    vocabulary.write_files(folder)
    settings = {"tokenizer_class": _CLASSES[vocabulary.kind], "model_max_length": max_seq_length}
    settings |= {f"{role}_token": token for role, token in vocabulary.special_tokens._asdict().items()}
    if vocabulary.do_lower_case is not None:
        settings["do_lower_case"] = vocabulary.do_lower_case
    write_json(settings, folder / "tokenizer_config.json")
