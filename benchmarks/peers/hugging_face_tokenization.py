"""Hugging Face's tokenizer as a worker of benchmarks/tokenization.py."""

import os
from pathlib import Path

from turns import Turns

turns = Turns()
settings = turns.settings
# The library sizes its pool of threads once, so this comes before it is imported.
os.environ["RAYON_NUM_THREADS"] = str(settings["threads"])
os.environ["TOKENIZERS_PARALLELISM"] = "true" if settings["threads"] > 1 else "false"
import tokenizers  # noqa: E402

tokens = Path(settings["vocab_file"]).read_text(encoding="utf-8").split("\n")[:-1]
bert = tokenizers.BertWordPieceTokenizer({token: i for i, token in enumerate(tokens)}, lowercase=True)
# The class above does not show encode_batch_fast.
encode = getattr(bert._tokenizer, settings["precision"])
lines = Path(settings["lines_file"]).read_text(encoding="utf-8").split("\n")


def lists(texts):
    return [encoding.ids for encoding in encode(texts, add_special_tokens=False)]


turns.ready(tokenizers=tokenizers.__version__)
turns.repeat(
    lambda: encode(lines, add_special_tokens=False),
    lambda: {"lines": lists(lines), "adversarial": lists(settings["adversarial"])},
)
