"""Questions on texts that a tiny model can learn to answer: the answer is the word that was "played"."""

import json
import random

from tests.tfrecords_tools import small_corpus

WORDS = [stem for stem in small_corpus.STEMS if stem != "play"]


def questions(number, seed=3, impossible=False, most_words=40):
    """Paragraphs of one question each; with `impossible`, every third has no answer."""
    rng = random.Random(seed)
    for index in range(number):
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, most_words))]
        answers = []
        if not (impossible and index % 3 == 2):
            place = rng.randrange(len(words) + 1)
            words.insert(place, "Played")
            answers = [{"text": "Played", "answer_start": len(" ".join([*words[:place], ""]))}]
        question = {"id": f"q{index}", "question": f"{rng.choice(WORDS)} a?", "answers": answers}
        if impossible:
            question["is_impossible"] = not answers
        yield {"context": f"{' '.join(words)}.", "qas": [question]}


def write_squad(path, number, **options):
    """Writes a file in SQuAD's form."""
    content = {"version": "small", "data": [{"title": "T", "paragraphs": list(questions(number, **options))}]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
