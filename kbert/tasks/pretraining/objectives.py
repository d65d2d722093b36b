"""The pretraining objectives: masked LM alone, with next sentence, or with sentence order."""

import numpy as np

from kbert.config import PretrainingConfig
from kbert.features import NEXT_SENTENCE_LABELS, pretraining_features
from kbert.heads import masked_lm_head as masked_lm_heads
from kbert.heads.parts import MASKED_LM, POOLER, Part
from kbert.late_tensorflow import ops
from kbert.tasks import task_model
from kbert.tasks.file_columns import signature_inputs
from kbert.tasks.losses import correct, cross_entropies, example_weights
from kbert.tasks.pretraining.filled_masks import best_tokens, candidate_probabilities
from kbert.tasks.pretraining.next_sentence import NextSentence, follow_signatures, next_sentence_head
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import TRUNCATED, Signature, ids_inputs, ids_reader
from kbert.tasks.task import CheckpointKind, SoftTarget, Task
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS

_MASKS = f"{BERT_TOKENS.mask} or {ROBERTA_TOKENS.mask}"  # as the model's vocabulary has it

# Prevents a division by 0 in a batch without predictions; run_pretraining.py, `get_masked_lm_output`.
_MASKED_LM_EPSILON = 1e-5


class MaskedLMServing(Serving):
    """Texts with `[MASK]`s -> words for them."""

    inputs, other_inputs = signature_inputs("masked_lm")
    settings = {"top_k": 5, "whole_words": False}
    answers = ("masks",)
    reads_masks = ("serving_default", "candidates")

    def signatures(self, model, text_inputs):
        """Signatures for texts with `[MASK]`s.

        - `serving_default`: `text` (string [batch]), `top_k` (int32 scalar), `whole_words` (bool scalar) ->
          best tokens for every mask, see `filled_masks.best_tokens`.
        - `candidates`: `text` (string [batch]), each with one mask, and `candidates` (string [batch,
          candidates]) -> how probable each candidate is, see `filled_masks.candidate_probabilities`.
        - `ids`: encoder inputs with the mask's id, int32 [batch, length], `top_k` and `whole_words` -> best
          tokens.
        """
        vocabulary, read = text_inputs.vocabulary, ids_reader(model, text_inputs)

        def fill(text, top_k, whole_words):
            rows, truncated = text_inputs.rows(text, with_masks=True)
            return best_tokens(model, vocabulary, rows, top_k, whole_words) | {TRUNCATED: truncated}

        def fill_ids(input_ids, input_mask, segment_ids, top_k, whole_words):
            inputs = read(input_ids, input_mask, segment_ids)
            return best_tokens(model, vocabulary, inputs, top_k, whole_words)

        def weigh(text, candidates):
            return candidate_probabilities(model, text_inputs, text, candidates)

        texts, settings = {"text": ("string", (None,))}, {"top_k": ("int32", ()), "whole_words": ("bool", ())}
        return {
            "serving_default": Signature(texts | settings, fill),
            "candidates": Signature(texts | {"candidates": ("string", (None, None))}, weigh),
            "ids": Signature(ids_inputs() | settings, fill_ids),
        }

    def check_inputs(self, inputs):
        count = _count_masks(inputs["text"])
        if not count:
            raise ValueError(
                f"no {_MASKS} in {inputs['text'][:60]!r}; write one where the model should fill in a token."
            )
        if "candidates" in inputs and count > 1:
            raise ValueError(
                f"{count} masks in {inputs['text'][:60]!r}; candidates fill a single mask: give one "
                "text for each."
            )

    def answer(self, outputs, inputs):
        """`masks`: for each mask, in order, a list of `{"token": str, "probability": float}`. With candidates
        they are the tokens, all of them, for the one mask; the most probable first."""
        if "candidates" in inputs:
            return {"masks": [_weighed(outputs, inputs)]}
        if outputs["num_masks"] < _count_masks(inputs["text"]):
            raise _cut(inputs)
        rows = zip(outputs["tokens"], outputs["probabilities"], strict=True)
        return {
            "masks": [
                [
                    {"token": token.decode("utf-8"), "probability": float(probability)}
                    for token, probability in zip(tokens, probabilities, strict=True)
                ]
                for tokens, probabilities in list(rows)[: outputs["num_masks"]]
            ]
        }


class PretrainingServing(MaskedLMServing):
    """Also whether a text follows another."""

    inputs, other_inputs = signature_inputs("pretraining")

    def signatures(self, model, text_inputs):
        """Those for masks, and `next_sentence` and `next_sentence_ids`, see `follow_signatures`."""
        follow = follow_signatures(model, text_inputs)
        own = {"next_sentence": follow["serving_default"], "next_sentence_ids": follow["ids"]}
        return super().signatures(model, text_inputs) | own

    def check_inputs(self, inputs):
        if "text_pair" not in inputs:
            super().check_inputs(inputs)

    def answer(self, outputs, inputs):
        """As for `MaskedLMServing`; for a pair of texts `Pretraining.pair_answer`."""
        if "text_pair" in inputs:
            return {self.task.pair_answer: float(outputs["probability"])}
        return super().answer(outputs, inputs)


class MaskedLM(Task):
    """Predicts masked tokens, and nothing else (RoBERTa, arXiv 1907.11692, section 4.2).

    There is no pooler, because this loss would not train it. Records come from create_pretraining_data;
    labels of sentence pairs in them are ignored.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, MaskedLM
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = MaskedLM().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids,
      ...                  "masked_lm_positions": ids[:, :3]})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'masked_lm_logits': (2, 3, 50)}
    """

    name = "masked_lm"
    config_class = PretrainingConfig
    best_metric = "masked_lm_loss"
    checkpoint = CheckpointKind("BertForMaskedLM")
    serving_class = MaskedLMServing
    parts: tuple[Part, ...] = (MASKED_LM,)
    # The --pairing of create_pretraining_data that makes records for this task; None: any.
    pairing: str | None = None

    @property
    def next_sentence(self) -> bool:
        """Whether there is a second head, for the relation of two texts (next sentence or order)."""
        return len(self.parts) > 1

    def features(self, max_seq_length):
        """Those of records, with room for as many predictions as tokens."""
        return pretraining_features(max_seq_length, max_seq_length, with_next_sentence=self.next_sentence)

    def describe(self, row, vocabulary):
        (example,) = super().describe(row, vocabulary)
        right = row["masked_lm_ids"][row["masked_lm_weights"] > 0]
        label = ""
        if NEXT_SENTENCE_LABELS in row:
            label = f"; {NEXT_SENTENCE_LABELS} {int(row[NEXT_SENTENCE_LABELS][0])}"
        return [example, f"answers: {' '.join(vocabulary.tokens[i] for i in right)}{label}"]

    def build_model(self, encoder):
        """Features `input_ids`, `input_mask`, `segment_ids`, `masked_lm_positions` -> float32
        `masked_lm_logits` (batch, predictions, vocab_size) and, if there is a second head,
        `next_sentence_logits` (batch, 2)."""
        encoder = encoder.with_outputs("sequence_output", *["pooled_output"] * self.next_sentence)
        inputs = masked_lm_inputs(encoder)
        encoded = encoder({name: inputs[name] for name in encoder.input})
        masked_lm = masked_lm_head(encoder)
        outputs = {"masked_lm_logits": masked_lm(encoded["sequence_output"], inputs["masked_lm_positions"])}
        if self.next_sentence:
            outputs["next_sentence_logits"] = next_sentence_head(encoder)(encoded["pooled_output"])
        return task_model.TaskModel(self, encoder, inputs, outputs)

    def loss_weights(self, batch, training=False):
        return {"masked_lm_loss": ops.sum(_prediction_weights(batch)) + _MASKED_LM_EPSILON}

    def loss_sums(self, outputs, batch, training=False):
        masked_lm = cross_entropies(outputs["masked_lm_logits"], batch["masked_lm_ids"])
        return {"masked_lm_loss": ops.sum(masked_lm * _prediction_weights(batch))}

    def soft_targets(self, outputs, batch):
        return {"masked_lm_loss": (SoftTarget(outputs["masked_lm_logits"], _prediction_weights(batch)),)}

    def metric_sums(self, outputs, batch):
        predictions = _prediction_weights(batch)
        # Ties among so many pieces hardly move it, and sharing them takes 65 ms at 640 x 30,522 on two cores.
        masked_lm = correct(outputs["masked_lm_logits"], batch["masked_lm_ids"], share_ties=False)
        return {"masked_lm_accuracy": (ops.sum(masked_lm * predictions), ops.sum(predictions))}

    def label_masks(self, labels, batch):
        weights = batch.get("masked_lm_weights")
        return {} if weights is None else {"masked_lm_logits": weights > 0}

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy` of always answering the token that is masked most often; `baseline_token`."""
        counts = np.zeros(len(vocabulary))
        for batch in batches:
            np.add.at(counts, batch["masked_lm_ids"], batch["masked_lm_weights"])
        return {
            "baseline_accuracy": float(counts.max() / max(counts.sum(), 1.0)),
            "baseline_token": vocabulary.tokens[int(counts.argmax())],
        }


class Pretraining(MaskedLM):
    """Predicts masked tokens, and whether the second text is a random one (label 1) or the real next one (0).

    The training loss is the sum of both means, as in google-research/bert, run_pretraining.py.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, Pretraining
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = Pretraining().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids,
      ...                  "masked_lm_positions": ids[:, :3]})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'masked_lm_logits': (2, 3, 50), 'next_sentence_logits': (2, 2)}
    """

    name = "pretraining"
    checkpoint = CheckpointKind("BertForPreTraining")
    serving_class = PretrainingServing
    parts = (POOLER, MASKED_LM, Part("next_sentence", "pooled_output"))
    pairing = "sentence_pairs"
    # What the probability of label 0 is called in an answer.
    pair_answer = "next_sentence_probability"
    _next_sentence = NextSentence()  # the loss and the accuracy of the second head

    def loss_weights(self, batch, training=False):
        return super().loss_weights(batch) | self._next_sentence.loss_weights(batch)

    def loss_sums(self, outputs, batch, training=False):
        return super().loss_sums(outputs, batch) | self._next_sentence.loss_sums(outputs, batch)

    def soft_targets(self, outputs, batch):
        return super().soft_targets(outputs, batch) | self._next_sentence.soft_targets(outputs, batch)

    def metric_sums(self, outputs, batch):
        return super().metric_sums(outputs, batch) | self._next_sentence.metric_sums(outputs, batch)


class SentenceOrder(Pretraining):
    """Predicts masked tokens, and whether two consecutive texts were swapped (label 1) or not (0).

    This is the objective of ALBERT (arXiv 1909.11942, section 3.1). Model, losses and metrics are those of
    `Pretraining`, also their names (`next_sentence_...`); only the records differ.
    """

    name = "sentence_order"
    pairing = "sentence_order"
    pair_answer = "sentence_order_probability"


def masked_lm_inputs(encoder) -> dict:
    """The symbolic inputs of a masked LM: those of the `BertEncoder`, and `masked_lm_positions`."""
    return task_model.token_inputs((*encoder.input, "masked_lm_positions"))


def masked_lm_head(encoder) -> "masked_lm_heads.MaskedLMHead":
    """The head on the sequence output of a `BertEncoder`."""
    return masked_lm_heads.MaskedLMHead(
        encoder.config, encoder.embeddings, dtype=encoder.policy, name="masked_lm"
    )


def _weighed(outputs, inputs) -> list[dict]:
    for candidate, pieces, masks in zip(
        inputs["candidates"], outputs["num_tokens"], outputs["num_masks"], strict=True
    ):
        if not pieces:
            raise ValueError(
                f"the candidate {candidate!r:.60} is empty, has a character that the vocabulary lacks, "
                "begins with ## and is no token, or has more than 16 pieces; give another one."
            )
        if masks < pieces:
            raise _cut(inputs)
    candidates = [
        {"token": candidate, "probability": float(probability)}
        for candidate, probability in zip(inputs["candidates"], outputs["probabilities"], strict=True)
    ]
    return sorted(candidates, key=lambda candidate: -candidate["probability"])


def _count_masks(text):
    return text.count(BERT_TOKENS.mask) or text.count(ROBERTA_TOKENS.mask)


def _cut(inputs):
    return ValueError(
        f"the mask of {inputs['text'][:60]!r}... lies beyond the longest sequence of this model, or is that "
        f"of another model ({_MASKS}); shorten the text, or write the model's own."
    )


def recorded_objective(manifest) -> type[MaskedLM]:
    """The task that pretraining records were made for, by their manifest."""
    if NEXT_SENTENCE_LABELS not in manifest.features:
        return MaskedLM
    is_order = manifest.settings.get("pairing") == SentenceOrder.pairing
    return SentenceOrder if is_order else Pretraining


def evaluated_task(task, records):
    """What evaluates a model on `PretrainingRecords`: of a BERT with two heads, on records without pairs of
    texts, the masked LM alone. Raises ValueError as `require_pairing`."""
    if isinstance(task, Pretraining) and recorded_objective(records.manifest) is MaskedLM:
        return MaskedLM()
    require_pairing(task, records)
    return task


def require_pairing(task: MaskedLM, records):
    """Raises ValueError for `PretrainingRecords` whose pairs of texts are not those that a task learns."""
    own = recorded_objective(records.manifest)
    if task.pairing not in (None, own.pairing):
        raise ValueError(
            f"{records.directory} is made for the task {own.name}, but task={task.name!r} needs records made "
            f"with pairing={task.pairing}; make them again with it."
        )


def _prediction_weights(batch):
    return batch["masked_lm_weights"] * ops.expand_dims(example_weights(batch), 1)
