"""The stored ids of the original BERT, in every language."""

import gzip
import json

import pytest

from tests.conftest import mostly_long
from tests.export.tokenizers.languages import LANGUAGES, Language, write_export
from tests.kbert.tokenization.test_golden_ids import CASING
from tests.places import SHARED_DATA


@pytest.mark.parametrize("name", mostly_long(CASING, ("uncased", "cased")))
@pytest.mark.parametrize("language", LANGUAGES)
def test_ids_equal_the_originals(language, name, tmp_path):
    golden = SHARED_DATA / "golden" / "tokenization" / f"{name}.jsonl.gz"
    if not golden.is_file():
        pytest.skip(f"NOT COMPARED WITH THE ORIGINAL TOKENIZER: {golden} is not there.")
    with gzip.open(golden, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    vocab_txt = (SHARED_DATA / "vocab" / f"bert_{name}" / "vocab.txt").read_bytes().decode("utf-8")
    ask = Language(language, write_export(vocab_txt, CASING[name], tmp_path))
    received = ask.ids([row["text"] for row in rows])
    different = [r["text"] for r, ids in zip(rows, received, strict=True) if ids != r["ids"]]
    assert different == [] and len(rows) > 700
