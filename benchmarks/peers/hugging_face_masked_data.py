"""The peer of benchmarks/pretraining_data.py: text to masked arrays with Hugging Face.

Runs in its own environment with its settings as JSON, and imports nothing of kbert. As in
transformers' run_mlm.py: tokenize every line, join, cut into blocks, mask with the collator, `dupe_factor`
times over; the arrays are saved as .npy. No sentence pairs: the library makes none.
"""

import glob
import json
import os
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "true"
import numpy as np  # noqa: E402
from transformers import BertTokenizerFast, DataCollatorForLanguageModeling  # noqa: E402

settings = json.loads(sys.argv[1])

fast = BertTokenizerFast(vocab_file=settings["vocab_file"])
tokenizer = fast.backend_tokenizer
room = settings["max_seq_length"] - 2
ids = []
for path in sorted(glob.glob(settings["input_files"])):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in map(str.strip, file) if line]
    for encoding in tokenizer.encode_batch_fast(lines, add_special_tokens=False):
        ids.extend(encoding.ids)
cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
blocks = [[cls_id, *ids[start : start + room], sep_id] for start in range(0, len(ids) - room, room)]

collator = DataCollatorForLanguageModeling(fast, mlm_probability=0.15, return_tensors="np")
order = np.random.default_rng(0).permutation(len(blocks))
for number in range(settings["dupe_factor"]):
    masked = [
        collator([{"input_ids": blocks[row]} for row in order[start : start + 1024]])
        for start in range(0, len(order), 1024)
    ]
    for name in ("input_ids", "labels"):
        array = np.concatenate([batch[name] for batch in masked]).astype(np.int32)
        np.save(f"{settings['output']}-{name}-{number}.npy", array)
print(f"{len(blocks) * settings['dupe_factor']} examples")
