"""What of the sample for Android runs without its SDK: it asks the shortest signature with room."""

from tests.export.tokenizers.languages import Language, write_export
from tests.export.tokenizers.test_refusals import TOKENS, text_of


def test_kotlin_asks_the_shortest_signature_and_names_the_label(tmp_path):
    ask = Language("kotlin", write_export(text_of(TOKENS), True, tmp_path))
    texts, pairs = ["playing", "play " * 9, "play " * 40], ["play", "playing play", "play " * 40]
    assert ask.classified(texts, pairs) == [
        "length_8 8 6 2 second 0.625",
        "length_16 16 15 4 second 0.625",
        "length_32 32 32 15 second 0.625",
    ]
