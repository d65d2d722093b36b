"""Random models of transformers against kbert: theirs read here, ours read there, equal numbers both ways."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
from kbert.checkpoints.hugging_face.tokenizer import read_tokenizer, write_tokenizer
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.checkpoints.report import Report
from kbert.features import ENCODER_INPUTS
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.checkpoints.answers import answers, largest_difference
from tests.peers.families import (
    AFTER_ROBERTA,
    DISTIL,
    MODERN,
    OTHER_VOCABULARIES,
    SMALL,
    TOKENS,
    run_peer,
)
from tests.places import SHARED_DATA

PEER = Path(__file__).with_name("hugging_face_peer.py")
TOLERANCE = 2e-5

TEXTS = [
    "The plays, jumping.",
    "a B c w7 W59 unknown",
    "",
    "Áb playing\tthe\u3000play 漢字 [MASK] x" * 3,
]
# google-research/bert, README: the sizes of the released small models, and base.
SIZES = {"tiny": (2, 128), "mini": (4, 256), "small": (4, 512), "medium": (8, 512), "base": (12, 768)}
HEADS = {
    "BertModel": "AutoModel",
    "BertForPreTraining": "AutoModelForPreTraining",
    "BertForMaskedLM": "AutoModelForMaskedLM",
    "BertForNextSentencePrediction": "AutoModelForNextSentencePrediction",
    "BertForSequenceClassification": "AutoModelForSequenceClassification",
    "BertForTokenClassification": "AutoModelForTokenClassification",
    "BertForQuestionAnswering": "AutoModelForQuestionAnswering",
    "BertForMultipleChoice": "AutoModelForMultipleChoice",
}
DISTIL_HEADS = (
    "DistilBertModel",
    "DistilBertForMaskedLM",
    "DistilBertForTokenClassification",
    "DistilBertForQuestionAnswering",
    "DistilBertForSequenceClassification",
    "DistilBertForMultipleChoice",
)
# Of ModernBERT and of those after RoBERTa, each on the encoder's own settings.
OTHER_HEADS = (
    "Model",
    "ForMaskedLM",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForSequenceClassification",
    "ForMultipleChoice",
)
OTHER_MODERN = {
    "classifier_pooling": "mean",
    "global_attn_every_n_layers": 2,
    "rope_parameters": {
        "full_attention": {"rope_theta": 500.0, "rope_type": "default"},
        "sliding_attention": {"rope_theta": 100.0, "rope_type": "default"},
    },
    **dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), True),
    **dict.fromkeys(("hidden_activation", "classifier_activation"), "gelu_new"),
}
ELECTRA_HEADS = (
    "ElectraModel",
    "ElectraForSequenceClassification",
    "ElectraForTokenClassification",
    "ElectraForQuestionAnswering",
    "ElectraForMultipleChoice",
)


def _cases():
    def case(model_class, config, file="safetensors", **more):
        has_labels = model_class.endswith(("SequenceClassification", "TokenClassification"))
        labels = {"num_labels": 5} if has_labels else {}
        return {
            "model_class": model_class,
            "config": config | labels,
            "file": file,
            "seed": len(cases),
            "spread": 0.2,
            "rows": 4,
            "length": 17,
        } | more

    cases = {}
    for head in HEADS:
        for act in ("gelu", "gelu_new"):
            cases[f"{head} {act}"] = case(head, SMALL | {"hidden_act": act})
    for head in DISTIL_HEADS:
        cases[head] = case(head, DISTIL)
    for width in (16, 24):
        for head in ELECTRA_HEADS:
            cases[f"{head} {width}"] = case(head, SMALL | {"embedding_size": width})
    for head in OTHER_HEADS:
        cases[f"ModernBert{head}"] = case(f"ModernBert{head}", MODERN)
        cases[f"ModernBert{head} other settings"] = case(f"ModernBert{head}", MODERN | OTHER_MODERN)
    for family, vocabulary in OTHER_VOCABULARIES.items():
        if family == "ModernBert":
            continue
        config = SMALL | AFTER_ROBERTA | {"vocab_size": len(vocabulary)}
        if family != "MPNet":
            config["type_vocab_size"] = 1
        for head in OTHER_HEADS:  # no pad among the real tokens: positions count what is no pad
            cases[f"{family}{head}"] = case(f"{family}{head}", config, first_id=2)
    for file, dtype in (("shards", "float32"), ("bin", "bfloat16"), ("old bin", "float16")):
        cases[f"BertForPreTraining {file}"] = case("BertForPreTraining", SMALL, file, dtype=dtype)
    other = {"hidden_act": "relu", "layer_norm_eps": 1e-5, "type_vocab_size": 3, "tie_word_embeddings": True}
    cases["BertForPreTraining other settings"] = case("BertForPreTraining", SMALL | other)
    for size, (layers, width) in SIZES.items():
        config = {
            "vocab_size": 3000,
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": width // 64,
            "intermediate_size": 4 * width,
        }
        for act in ("gelu", "gelu_new"):
            cases[f"{size} {act}"] = case(
                "BertForPreTraining", config | {"hidden_act": act}, spread=0.02, length=40
            )
    return cases


CASES = _cases()


@pytest.fixture(scope="module")
def folders(peers_python, tmp_path_factory):
    """name of the case -> folder with a random model of transformers and its answers."""
    root = tmp_path_factory.mktemp("transformers")
    places = {name: root / name.replace(" ", "_") for name in CASES}
    for place in places.values():
        place.mkdir()
    run_peer(
        peers_python,
        PEER,
        "make",
        [case | {"folder": str(places[name])} for name, case in CASES.items()],
        root,
    )
    for name, place in places.items():
        other = OTHER_VOCABULARIES.get(re.split("Model|For", name)[0])
        if other is None:
            size = CASES[name]["config"]["vocab_size"]
            tokens = TOKENS + [f"v{index}" for index in range(size - len(TOKENS))]
            other = Vocabulary(tokens, do_lower_case=True)
        write_tokenizer(place, other, max_seq_length=40)
    return places


@pytest.mark.parametrize("name", CASES)
def test_their_model_gives_the_same_numbers_here(folders, name):
    expected = dict(np.load(folders[name] / "expected.npz"))
    checkpoint, ours = answers(folders[name], expected)
    difference = largest_difference(ours, expected)
    print(f"{name}: largest difference {difference:.2g}")
    assert difference < TOLERANCE
    for _, why in checkpoint.report.left_over:  # PyTorch's own files repeat what is tied
        assert why.startswith(("equal to", "a buffer"))


ROUND_TRIPS = [name for name in CASES if name.endswith((" gelu", " gelu_new")) and name.startswith("Bert")]
ROUND_TRIPS += ["base gelu", "BertForPreTraining other settings"]
ROUND_TRIPS += [name for name in CASES if name.startswith(("Distil", "Electra", *OTHER_VOCABULARIES))]


@pytest.fixture(scope="module")
def written(folders, peers_python, tmp_path_factory):
    """name -> (our folder, what transformers' Auto classes answer from it)."""
    root = tmp_path_factory.mktemp("kbert")
    cases, places = [], {}
    for name in ROUND_TRIPS:
        target = root / name.replace(" ", "_")
        checkpoint = read_checkpoint(folders[name])
        write_checkpoint(checkpoint, target, "hugging_face")
        places[name] = (target, root / f"{target.name}.npz")
        cases.append(
            {
                "folder": str(target),
                "auto_class": HEADS[re.sub(".*?(?=Model|For)", "Bert", CASES[name]["model_class"], count=1)],
                "texts": [] if name.startswith(tuple(OTHER_VOCABULARIES)) else TEXTS,
                "inputs": str(folders[name] / "expected.npz"),
                "answers": str(places[name][1]),
            }
        )
    run_peer(peers_python, PEER, "answer", cases, root)
    return {name: (target, dict(np.load(file))) for name, (target, file) in places.items()}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_our_folder_is_loaded_whole_and_answers_the_same_there(folders, written, name):
    _, theirs = written[name]
    expected = dict(np.load(folders[name] / "expected.npz"))
    for key, value in expected.items():
        if key not in ENCODER_INPUTS:
            real = expected["input_mask"].astype(bool)
            difference = np.abs(theirs[key] - value)
            per_token = difference.shape[:2] == real.shape
            # The same weights in the same program: any difference would be a weight that went astray.
            assert (difference[real] if per_token else difference).max() < 1e-9
    loading = {key: value for key, value in theirs.items() if key.startswith("loading/")}
    assert loading == {}


WORDPIECE = [name for name in ROUND_TRIPS if not name.startswith(tuple(OTHER_VOCABULARIES))]


@pytest.mark.parametrize("name", WORDPIECE)
def test_our_folder_gives_our_ids_there(written, name):
    target, theirs = written[name]
    vocabulary = read_checkpoint(target).vocabulary
    ids = WordPieceTokenizer(vocabulary).tokenize_with_masks(np.array(TEXTS)).to_list()
    expected = [[vocabulary.cls_id, *row, vocabulary.sep_id] for row in ids]
    assert [list(map(int, row.split())) for row in theirs["ids"]] == expected
    first, second = expected[0], expected[1]
    assert theirs["pair_ids"].tolist() == [*first, *second[1:]]
    assert theirs["pair_segments"].tolist() == [0] * len(first) + [1] * (len(second) - 1)


# What transformers' tokenizer does otherwise than the original, whatever files it is given: a capital sigma
# at a word's end, tokens like [MASK] written out in the text, and two kinds of private characters.
OTHERWISE = {"uncased": 4, "cased": 3}


@pytest.mark.parametrize("casing", OTHERWISE)
def test_our_tokenizer_files_give_the_originals_ids_there(peers_python, tmp_path, casing):
    rows = golden_rows(f"tokenization/{casing}.jsonl.gz")
    vocab_file = SHARED_DATA / "vocab" / f"bert_{casing}" / "vocab.txt"
    vocabulary = Vocabulary.from_file(vocab_file, do_lower_case=casing == "uncased")
    assert count_others(peers_python, tmp_path, vocabulary, rows) == OTHERWISE[casing]


def test_mpnets_tokenizer_files_give_the_originals_ids_there_four_higher(peers_python, tmp_path):
    rows = golden_rows("tokenization/uncased.jsonl.gz")
    pieces = Vocabulary.from_file(SHARED_DATA / "vocab" / "bert_uncased" / "vocab.txt", True).tokens
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces, "<mask>"]
    vocabulary = Vocabulary(tokens, True, special_tokens=MPNET_TOKENS)
    rows = [row | {"ids": [index + 4 for index in row["ids"]]} for row in rows]
    assert count_others(peers_python, tmp_path, vocabulary, rows) == OTHERWISE["uncased"]


# XLM-R's tokenizer in transformers normalizes a letter with its marks as a whole; SentencePiece does not.
@pytest.mark.parametrize(
    ("name", "others"), [("byte_level_bpe", 0), ("byte_level_bpe_small", 0), ("sentencepiece_xlmr", 77)]
)
def test_our_tokenizer_files_of_other_kinds_give_the_golden_ids_there(peers_python, tmp_path, name, others):
    rows = golden_rows(f"tokenizers/{name}/ids.jsonl.gz")
    vocabulary, _ = read_tokenizer(SHARED_DATA / "golden" / "tokenizers" / name, None, Report("", name))
    assert count_others(peers_python, tmp_path, vocabulary, rows) == others


def golden_rows(name):
    golden = SHARED_DATA / "golden" / name
    if not golden.is_file():
        pytest.skip(f"PEERS NOT COMPARED: {golden} is not here (ids of the original tokenizer)")
    with gzip.open(golden, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def count_others(peers_python, folder, vocabulary, rows):
    """How many texts get other ids from AutoTokenizer with the files that we write."""
    write_tokenizer(folder, vocabulary, max_seq_length=512)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    case = {"folder": str(folder), "texts": [row["text"] for row in rows], "answers": str(folder / "ids")}
    run_peer(peers_python, PEER, "tokenize", [case], folder)
    ids = json.loads((folder / "ids").read_text())
    other = [row["text"] for row, theirs in zip(rows, ids, strict=True) if theirs != row["ids"]]
    print(f"{len(other)} of {len(rows)} texts differ: {[text[:30] for text in other]}")
    assert len(rows) > 2000
    return len(other)
