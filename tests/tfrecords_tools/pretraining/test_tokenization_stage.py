import numpy as np

from tfrecords_tools.pretraining.tokenization_stage import occurred_before, text_digest


def test_duplicates_are_those_of_the_text_whatever_its_case_and_white_space():
    documents = [
        ["One two three.", "Four."],
        ["Another text."],
        ["one  two", "THREE.\u3000four."],
        ["One two three, four."],
        ["another text."],
        ["One two three. Four."],
    ]
    digests = np.stack([text_digest([line.encode() for line in document]) for document in documents])
    assert occurred_before(digests).tolist() == [False, False, True, False, True, True]
    assert occurred_before(digests[:0]).tolist() == []
