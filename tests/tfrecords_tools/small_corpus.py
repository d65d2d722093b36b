"""A vocabulary of a few words and a corpus written with it, small enough to work out by hand."""

import random
from pathlib import Path

from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary

STEMS = ("play", "walk", "talk", "jump", "look", "call", "help", "open", "turn", "ask", "the", "a", "and")
TOKENS = (*BERT_TOKENS, *STEMS, "##s", "##ed", "##ing", ".")


def vocabulary(do_lower_case: bool = True) -> Vocabulary:
    return Vocabulary(TOKENS, do_lower_case)


def sentences(number: int, rng: random.Random) -> list[str]:
    """Sentences of 1 to 12 words; about every second word has an ending, so two pieces."""
    return [
        " ".join(rng.choice(STEMS) + rng.choice(("", "", "s", "ed")) for _ in range(rng.randint(1, 12))) + "."
        for _ in range(number)
    ]


def write_corpus(folder: Path, num_documents: int = 10, seed: int = 1) -> tuple[Path, Path]:
    """Writes corpus.txt and vocab.txt into the folder; returns both paths."""
    rng = random.Random(seed)
    documents = ["\n".join(sentences(rng.randint(1, 20), rng)) for _ in range(num_documents)]
    corpus, vocab_file = folder / "corpus.txt", folder / "vocab.txt"
    corpus.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    vocabulary().write(vocab_file)
    return corpus, vocab_file
