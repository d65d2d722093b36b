"""The other side of test_offsets.py, run by the peers' own Python: no kbert.

python offsets_peer.py REQUEST.json ANSWER.json     REQUEST: {"vocab_file", "do_lower_case", "texts"}
"""

import json
import sys
from pathlib import Path

from tokenizers import BertWordPieceTokenizer


def answer(request):
    """Ids and [start, end) of the pieces of each text, by Hugging Face's tokenizer of BERT."""
    tokenizer = BertWordPieceTokenizer(request["vocab_file"], lowercase=request["do_lower_case"])
    encodings = [tokenizer.encode(text, add_special_tokens=False) for text in request["texts"]]
    return [{"ids": encoding.ids, "offsets": encoding.offsets} for encoding in encodings]


if __name__ == "__main__":
    answers = answer(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    Path(sys.argv[2]).write_text(json.dumps(answers))
