"""Makes tests/kbert/checkpoints/stored: tiny models of transformers with their answers.

  PEERS_PYTHON tests/peers/make_stored_references.py

`make test` checks kbert against them without torch; run this again only to add a model.
"""

import shutil
from pathlib import Path

import transformers
from hugging_face_peer import make

FOLDER = Path(__file__).resolve().parents[1] / "kbert" / "checkpoints" / "stored"
WORDS = "the play jump ##ing ##s a b c , . d e f g h i".split()
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
BERT = {
    "vocab_size": len(TOKENS),
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
}
DISTIL = {
    "vocab_size": len(TOKENS),
    "dim": 8,
    "n_layers": 2,
    "n_heads": 2,
    "hidden_dim": 12,
    "max_position_embeddings": 16,
}
LABELS = {"id2label": {0: "red", 1: "green", 2: "blue"}}
CASES = {
    "BertModel": (BERT, "safetensors"),
    "BertModel_old_bin": (BERT, "old bin"),
    "BertForPreTraining": (BERT | {"hidden_act": "gelu_new"}, "safetensors"),
    "BertForMaskedLM_bin": (BERT, "bin"),
    "BertForNextSentencePrediction": (BERT, "safetensors"),
    "BertForSequenceClassification": (BERT | LABELS, "safetensors"),
    "BertForTokenClassification": (BERT | LABELS, "safetensors"),
    "BertForQuestionAnswering_shards": (BERT | {"hidden_act": "gelu_pytorch_tanh"}, "shards"),
    "BertForMultipleChoice": (BERT, "safetensors"),
    "DistilBertModel": (DISTIL, "safetensors"),
    "DistilBertForMaskedLM": (DISTIL | {"activation": "gelu"}, "safetensors"),
}

if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    shutil.rmtree(FOLDER, ignore_errors=True)
    for seed, (name, (config, file)) in enumerate(CASES.items()):
        (FOLDER / name).mkdir(parents=True)
        case = {"model_class": name.split("_")[0], "config": config, "file": file, "tokens": TOKENS}
        case |= {"folder": FOLDER / name, "seed": seed, "spread": 0.3, "rows": 4, "length": 9}
        make(case | ({"shard_size": "3KB"} if file == "shards" else {}))
