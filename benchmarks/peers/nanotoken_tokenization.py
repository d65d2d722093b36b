"""The package nanotoken as a worker of benchmarks/tokenization.py."""

import importlib.metadata
import os
from pathlib import Path

from turns import Turns

turns = Turns()
settings = turns.settings
# The library sizes its pool of threads once, so this comes before it is imported.
os.environ["RAYON_NUM_THREADS"] = str(settings["threads"])
import nanotoken  # noqa: E402

bert = nanotoken.Tokenizer.from_vocab(settings["vocab_file"], lowercase=True)
lines = Path(settings["lines_file"]).read_text(encoding="utf-8").split("\n")
is_cold = "cold" in settings["options"]


def encode(texts):
    if is_cold:
        bert.backend.clear_cache()
    return bert.encode_batch(texts, add_special_tokens=False, parallel=settings["threads"] > 1)


turns.ready(nanotoken=importlib.metadata.version("nanotoken"))
turns.repeat(
    lambda: encode(lines),
    lambda: {"lines": encode(lines).to_list(), "adversarial": encode(settings["adversarial"]).to_list()},
)
