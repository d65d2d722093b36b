"""Small models of every family, as data, and how the other side is run."""

import json
import subprocess

from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, sentencepiece_model

WORDS = "the play jump ##ing ##s a b c , .".split()
TOKENS = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
TOKENS += [f"w{index}" for index in range(60 - len(TOKENS))]
SMALL = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 40,
}
DISTIL = {
    "vocab_size": 60,
    "dim": 24,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 40,
    "max_position_embeddings": 40,
}
PAIRS_OF_BYTES = [("a", "b"), ("c", "d")]
MODERN_TOKENS = [*BERT_TOKENS, *BYTE_CHARACTERS, "ab", "cd", "  ", "   "]
OTHER_VOCABULARIES = {
    "Roberta": bpe_vocabulary(PAIRS_OF_BYTES),
    "XLMRoberta": SentencePieceVocabulary(sentencepiece_model()),
    "MPNet": Vocabulary(["<s>", "<pad>", "</s>", "<unk>", *TOKENS, "<mask>"], True, "MPNet", MPNET_TOKENS),
    "ModernBert": BytePairVocabulary(MODERN_TOKENS, PAIRS_OF_BYTES, BERT_TOKENS),
}
MODERN = SMALL | {
    "vocab_size": len(MODERN_TOKENS),
    "local_attention": 6,
    "cls_token_id": 2,
    "pad_token_id": 0,
}
# Of RoBERTa and those after it; the positions begin at row 2.
AFTER_ROBERTA = {
    "max_position_embeddings": 42,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


def run_peer(python, peer, command, cases, folder):
    """Runs a file of this folder by the peers' Python: `peer.py command CASES.json`."""
    file = folder / f"{command}.json"
    file.write_text(json.dumps(cases))
    result = subprocess.run([python, peer, command, file], capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr[-4000:]
