"""The other side of the hop `transformers` in tests/lives, run by the peers' own Python: no kbert.

A line read is {"folder", "task", "texts"}; a line written is what the model there answers, or its error.
"""

import json
import sys

import torch
import transformers
from sentence_transformers import SentenceTransformer

# Task -> (class, what its logits mean).
HEADS = {
    "sequence_classification": ("Sequence", lambda logits: logits.softmax(-1)),
    "multi_label_classification": ("Sequence", torch.sigmoid),
    "sequence_regression": ("Sequence", torch.squeeze),
}


def _word_answers(folder, words):
    """The probability of each word's label, NaN for one without a piece; nothing where words are cut off."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    inputs = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    if inputs["input_ids"].shape[1] > tokenizer.model_max_length:
        return []
    best = model(**inputs).logits[0].softmax(-1).amax(-1).tolist()
    first = {}
    for place, word in enumerate(inputs.word_ids()):
        first.setdefault(word, best[place])
    return [first.get(word, float("nan")) for word in range(len(words))]


def answer(folder, task, texts):
    """A vector of each text, or the numbers that a head gives each text, pair or word."""
    if task == "embedding":
        return SentenceTransformer(folder, device="cpu").encode(texts, batch_size=1).tolist()
    if task == "token_classification":
        return [_word_answers(folder, text.split()) for text in texts]
    name, meaning = HEADS[task]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, f"AutoModelFor{name}Classification").from_pretrained(folder).eval()
    answers = []
    for text in texts:
        parts = [text] if isinstance(text, str) else text
        inputs = tokenizer(*parts, truncation=True, return_tensors="pt")
        answers.append(meaning(model(**inputs).logits[0]).tolist())
    return answers


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    for line in sys.stdin:
        try:
            answers = answer(**json.loads(line))
        except Exception as error:
            answers = repr(error)
        print(json.dumps(answers), flush=True)
