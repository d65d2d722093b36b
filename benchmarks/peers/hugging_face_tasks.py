"""What Hugging Face's example scripts do with rows of each task (run_glue, run_swag, run_ner, run_qa)."""

import numpy as np
import transformers

_STRIDE, _NUM_BEST, _MAX_ANSWER_LENGTH = 128, 20, 30  # run_qa's own defaults


class Sequences:
    """A label, or without labels a number, of one or two texts.

    Attributes:
      model: the class of the model.
      num_labels: how many outputs its head has; None where the model knows.
      collator: pads a batch to its longest example.
    """

    model = transformers.AutoModelForSequenceClassification

    def __init__(self, tokenizer, config, train_rows):
        self.tokenizer, self.max_length = tokenizer, config["max_seq_length"]
        self.num_labels = len(config["dataset"].get("labels", ())) or 1
        self.collator = transformers.DataCollatorWithPadding(tokenizer)

    def examples(self, rows):
        """What the collator takes: a dict for each example."""
        texts = [[row[name] for row in rows] for name in ("text", "text_pair") if name in rows[0]]
        encoded = self.tokenizer(*texts, truncation=True, max_length=self.max_length)
        label = float if self.num_labels == 1 else int
        labels = [label(row["label"]) for row in rows]
        return [
            {name: values[index] for name, values in encoded.items()} | {"labels": labels[index]}
            for index in range(len(rows))
        ]

    def length(self, example):
        """Tokens of an example, for the sampler that groups by length."""
        return len(example["input_ids"])

    def answers(self, rows, outputs):
        """The answer to each row; `outputs` are the arrays of each example."""
        logits = np.array([output["logits"] for output in outputs])
        return (logits[:, 0] if self.num_labels == 1 else logits.argmax(-1)).tolist()


class Choices(Sequences):
    """Which of several endings a text has."""

    model = transformers.AutoModelForMultipleChoice

    def __init__(self, tokenizer, config, train_rows):
        super().__init__(tokenizer, config, train_rows)
        self.num_labels, self.choices = None, config["dataset"]["choices"]
        self.collator = transformers.data.data_collator.DataCollatorForMultipleChoice(tokenizer)

    def examples(self, rows):
        pairs = [(row["text"], row[name]) for row in rows for name in self.choices]
        encoded = self.tokenizer(*zip(*pairs, strict=True), truncation=True, max_length=self.max_length)
        size = len(self.choices)
        return [
            {name: values[index * size : (index + 1) * size] for name, values in encoded.items()}
            | {"labels": int(row["label"])}
            for index, row in enumerate(rows)
        ]

    def length(self, example):
        return max(map(len, example["input_ids"]))


class Words(Sequences):
    """A tag of each word; its first token is trained and asked."""

    model = transformers.AutoModelForTokenClassification

    def __init__(self, tokenizer, config, train_rows):
        super().__init__(tokenizer, config, train_rows)
        self.tags = sorted({tag for row in train_rows for tag in row["label"]})
        self.num_labels = len(self.tags)
        self.collator = transformers.DataCollatorForTokenClassification(tokenizer)

    def examples(self, rows):
        words = [row["text"] for row in rows]
        encoded = self.tokenizer(words, is_split_into_words=True, truncation=True, max_length=self.max_length)
        examples = []
        for index, row in enumerate(rows):
            labels, before = [], None
            for word in encoded.word_ids(index):
                is_first = word is not None and word != before
                labels.append(self.tags.index(row["label"][word]) if is_first else -100)
                before = word
            examples.append({name: values[index] for name, values in encoded.items()} | {"labels": labels})
        return examples

    def answers(self, rows, outputs):
        """Words behind `max_length` are O."""
        answers = []
        for row, output in zip(rows, outputs, strict=True):
            asked = np.flatnonzero(output["labels"] != -100)
            tags = [self.tags[label] for label in output["logits"][asked].argmax(-1)]
            answers.append(tags + ["O"] * (len(row["text"]) - len(tags)))
        return answers


class Spans(Sequences):
    """The words of a context that answer a question: windows of the context, 20 best starts and ends."""

    model = transformers.AutoModelForQuestionAnswering

    def __init__(self, tokenizer, config, train_rows):
        super().__init__(tokenizer, config, train_rows)
        self.num_labels = None

    def examples(self, rows):
        encoded = self.tokenizer(
            [row["question"].strip() for row in rows],
            [row["context"] for row in rows],
            truncation="only_second",
            max_length=self.max_length,
            stride=_STRIDE,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        owners, offsets = encoded.pop("overflow_to_sample_mapping"), encoded.pop("offset_mapping")
        self._windows, examples = [], []
        for index, (owner, places) in enumerate(zip(owners, offsets, strict=True)):
            parts = encoded.sequence_ids(index)
            places = [place if part == 1 else None for place, part in zip(places, parts, strict=True)]
            self._windows.append((owner, places))
            example = {name: values[index] for name, values in encoded.items()}
            examples.append(example | _positions(rows[owner]["answers"], places))
        return examples

    def answers(self, rows, outputs):
        """Those of the rows that `examples` took last."""
        best = [(-np.inf, "")] * len(rows)
        for (owner, places), output in zip(self._windows, outputs, strict=True):
            best[owner] = max(best[owner], _best_span(rows[owner]["context"], places, output))
        return [text for _, text in best]


def _positions(answers, places):
    """First and last token of the first right answer; [CLS] where it isn't in the window."""
    begin, text = answers["answer_start"][0], answers["text"][0]
    inside = [
        index
        for index, place in enumerate(places)
        if place and place[1] > begin and place[0] < begin + len(text)
    ]
    first, last = (place for place in places if place), (place for place in reversed(places) if place)
    is_whole = inside and next(first)[0] <= begin and next(last)[1] >= begin + len(text)
    start, end = (inside[0], inside[-1]) if is_whole else (0, 0)
    return {"start_positions": start, "end_positions": end}


def _best_span(context, places, output):
    starts, ends = (
        np.argsort(output[name][: len(places)])[: -_NUM_BEST - 1 : -1].tolist()
        for name in ("start_logits", "end_logits")
    )
    spans = [
        (float(output["start_logits"][start] + output["end_logits"][end]), start, end)
        for start in starts
        for end in ends
        if places[start] and places[end] and start <= end < start + _MAX_ANSWER_LENGTH
    ]
    if not spans:
        return -np.inf, ""
    score, start, end = max(spans)
    return score, context[places[start][0] : places[end][1]]


TASKS = {
    "sequence_classification": Sequences,
    "sequence_regression": Sequences,
    "multiple_choice": Choices,
    "token_classification": Words,
    "question_answering": Spans,
}
