"""The packages tokenizers and sentencepiece, which kbert installs, as a worker of tokenization.py."""

import os
from pathlib import Path

from benchmarks.peers.turns import Turns


def run_worker():
    turns = Turns()
    settings = turns.settings
    # tokenizers sizes its pool of threads once, so this comes before it is imported.
    os.environ["RAYON_NUM_THREADS"] = str(settings["threads"])
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if settings["threads"] > 1 else "false"
    encode, version = (_bpe if settings["precision"] == "bpe" else _sentencepiece)(settings)
    lines = Path(settings["lines_file"]).read_text(encoding="utf-8").split("\n")
    size = int(settings["options"][0])

    def lists(texts):
        return [ids for start in range(0, len(texts), size) for ids in encode(texts[start : start + size])]

    turns.ready(**version)
    turns.repeat(
        lambda: lists(lines), lambda: {"lines": lists(lines), "adversarial": lists(settings["adversarial"])}
    )


def _bpe(settings):
    import tokenizers

    folder = Path(settings["bpe_folder"])
    bpe = tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    return lambda texts: [row.ids for row in bpe.encode_batch(texts)], {"tokenizers": tokenizers.__version__}


def _sentencepiece(settings):
    import sentencepiece

    model = Path(settings["sentencepiece_model"]).read_bytes()
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def encode(texts):  # fairseq's numbering, as XLM-R's
        rows = processor.encode(texts, num_threads=settings["threads"])
        return [[index + 1 if index else 3 for index in row] for row in rows]

    return encode, {"sentencepiece": sentencepiece.__version__}


if __name__ == "__main__":
    run_worker()
