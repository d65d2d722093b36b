"""What --quantization, --max_seq_length and --min_agreement refuse, each in one sentence."""

import pytest

from export.litert import requests
from export.litert.litert_source import source_of


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "--quantization is empty; give one or more of float32, float16, dynamic_int8."),
        (["int3"], "--quantization=int3 is not known; choose from float32, float16, dynamic_int8."),
        (
            ["float32", "int8"],
            "--quantization=int8 is not offered: attention scores and the padding mask would share one "
            "scale, and probabilities come out wrong by up to 0.6; "
            "choose from float32, float16, dynamic_int8.",
        ),
        (["float32", "float32"], "--quantization=float32,float32 names one twice; give each once."),
    ],
)
def test_quantizations(names, sentence):
    with pytest.raises(ValueError) as error:
        requests.check_quantizations(names)
    assert str(error.value) == sentence


@pytest.mark.parametrize("texts", [[], ["12", "x"], ["-3"], ["1.5"], ["١٢"]])
def test_lengths_that_are_no_numbers(texts):
    with pytest.raises(ValueError, match="--max_seq_length.* for example 16,32,64"):
        requests.parse_lengths(texts)
    assert requests.parse_lengths(["64", "16"]) == (64, 16)


def test_lengths(finetuned_run):
    source = source_of(finetuned_run)
    assert requests.checked_lengths((16, 8), source) == (8, 16)
    assert requests.checked_lengths(None, source) == (finetuned_run.config.max_seq_length,)
    for lengths, sentence in (
        ((), r"max_seq_length=\[\] must be 1 to 8 different lengths"),
        ((8, 8), "must be 1 to 8 different lengths"),
        (range(4, 13), "must be 1 to 8 different lengths"),
        ((3, 8), "max_seq_length=3 has no room for a text; give at least 4"),
        ((8, 99), "max_seq_length=99 is more than the encoder's max_position_embeddings=32"),
    ):
        with pytest.raises(ValueError, match=sentence):
            requests.checked_lengths(lengths, source)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), 99])
def test_a_share_is_from_0_to_1(share):
    with pytest.raises(ValueError, match="must be a share from 0 to 1"):
        requests.check_agreement(share)
    requests.check_agreement(0.99)
