"""The examples of the tokenizer in Python run."""

import doctest

import pytest

from kbert.tokenization.core_ops import code_points
from kbert.tokenization.python import text_inputs, wordpiece_tokenizer


@pytest.mark.parametrize("module", [code_points, text_inputs, wordpiece_tokenizer])
def test_the_examples_of_its_docstrings_run(module):
    failed, tried = doctest.testmod(module)
    assert failed == 0 and tried > 0
