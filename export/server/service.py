"""What both APIs ask: named tensors, vectors of texts, texts ranked by a query, tokens of a text."""

import time

import numpy as np
import tensorflow as tf

from ..gate.saved_model_session import RequestError
from .batch_queue import BatchQueue, has_rows
from .limits import Limits
from .request import Request, invalid
from .served_model import ServedModel
from .tensors import check_size, check_texts

# A setting like `top_k` is one number for the whole request, and answers grow with it.
_MAX_SETTING = 1000
# Bytes of a token, with room: the queue estimates how many tokens a text has that the graph tokenizes.
_BYTES_OF_A_TOKEN = 3


class Service:
    """One model, its queue and its limits.

    Args:
      model: the `ServedModel`.
      limits: what is accepted.
    """

    def __init__(self, model: ServedModel, limits: Limits):
        self.model, self.limits = model, limits
        self.queue = BatchQueue(model.session, limits.max_batch_tokens)
        self.is_stopping = False

    def predict(self, request: Request, name: str, inputs: dict, outputs: tuple[str, ...] = ()) -> dict:
        """Runs a signature: input name -> array, to output name -> array; see `SavedModelSession.run`."""
        name, definition = self.model.signature(name)
        if set(inputs) != set(definition.inputs):
            expected = ", ".join(sorted(definition.inputs))
            received = ", ".join(sorted(inputs))[:200] or "nothing"
            raise invalid(f"received inputs {received}; the signature {name} takes {expected}.")
        for setting, array in inputs.items():
            shape = definition.inputs[setting].tensor_shape
            if not shape.unknown_rank and array.ndim != len(shape.dim):
                raise invalid(
                    f"{setting} has shape {list(array.shape)}; expected {len(shape.dim)} dimensions."
                )
            if array.ndim == 0 and array.dtype.kind == "i" and not 0 <= array <= _MAX_SETTING:
                raise invalid(f"{setting}={array}; expected a number from 0 to {_MAX_SETTING}.")
        tokens = _estimated_tokens(inputs, definition)
        request.texts += max(len(tokens), 1)
        request.tokens += sum(tokens)
        return self.queue.run(request, name, inputs, tokens, outputs, self.limits.max_answer_bytes)

    def embed(
        self,
        request: Request,
        texts: list[str],
        truncate: bool = True,
        max_tokens: int | None = None,
        prompt_name: str | None = None,
    ) -> np.ndarray:
        """One vector for each text, float32 (texts, width).

        Args:
          request: is told how many tokens there were.
          texts: one or more.
          truncate: whether a text may be cut; otherwise one that is too long is refused.
          max_tokens: cut at fewer tokens than the model takes.
          prompt_name: which of the model's prompts comes before each text.
        """
        signature = self.model.embedding_signature
        if signature is None:
            raise RequestError(
                "NOT_FOUND", f"{self.model.name} gives no vectors of texts; ask it by :predict."
            )
        prompt = self._prompt(prompt_name)
        rows, truncated = self._tokenized(request, [prompt + text for text in texts])
        if max_tokens is not None and max_tokens < rows["input_ids"].shape[1]:
            rows, cut = _cut(rows, max(max_tokens, 2), self.model.text_inputs.vocabulary.sep_id)
            truncated = truncated | cut
        if not truncate and truncated.any():
            most = max_tokens or self.model.text_inputs.max_seq_length
            raise invalid(
                f"texts[{int(truncated.argmax())}] has more than the {most} tokens that are answered; send a "
                "shorter one, or allow truncation."
            )
        tokens = rows["input_mask"].sum(axis=1)
        request.texts, request.tokens = len(texts), int(tokens.sum())
        order = np.argsort(tokens, kind="stable")  # texts of a length run together
        rows = {name: array[order] for name, array in rows.items()}
        answer = self.queue.run(request, signature, rows, tokens[order].tolist(), ("embedding",))
        return answer["embedding"][np.argsort(order)]

    def rank(self, request: Request, query: str, texts: list[str], truncate: bool = True) -> np.ndarray:
        """How well each text fits the query, float32 (texts,), by a model that gives pairs one number."""
        if self.model.pair_number is None:
            raise RequestError("NOT_FOUND", f"{self.model.name} gives no number for pairs of texts.")
        signature, output = self.model.pair_number
        definition = self.model.signatures[signature]
        inputs = {"text_pair": self._texts(texts), "text": self._texts([query]).repeat(len(texts))}
        wanted = [output, *({"truncated"} & set(definition.outputs))]
        answer = self.predict(request, signature, inputs, tuple(wanted))
        if not truncate and answer.get("truncated", np.zeros(1)).any():
            index = int(answer["truncated"].argmax())
            raise invalid(f"texts[{index}] and the query are too long together; allow truncation.")
        return answer[output]

    def pieces(self, request: Request, texts: list[str]) -> list[list[dict]]:
        """The tokens of each text: {"id", "text", "special"}; a literal `[MASK]` is text like any other."""
        rows, _ = self._tokenized(request, texts)
        vocabulary = self.model.text_inputs.vocabulary
        special = {vocabulary.cls_id, vocabulary.sep_id}
        return [
            [{"id": i, "text": vocabulary.tokens[i], "special": i in special} for i in ids[: int(mask.sum())]]
            for ids, mask in zip(rows["input_ids"].tolist(), rows["input_mask"], strict=True)
        ]

    def _prompt(self, name: str | None) -> str:
        prompts = self.model.prompts
        if name is None:
            return prompts.get(str(self.model.about.get("default_prompt_name")), "")
        if name not in prompts:
            raise invalid(f"prompt_name={name[:60]!r}; the model has {', '.join(prompts) or 'no prompts'}.")
        return prompts[name]

    def _texts(self, texts: list[str]) -> np.ndarray:
        """Texts of one request, checked, as bytes."""
        if not texts:
            raise invalid("received no text; expected one or more.")
        check_size("texts", len(texts), tf.string, self.limits)
        array = np.empty(len(texts), object)
        try:
            for index, text in enumerate(texts):
                array[index] = text.encode()
                check_texts("texts", array[index : index + 1], self.limits)
        except UnicodeEncodeError:
            raise invalid("a text has half of a surrogate pair; expected UTF-8.") from None
        return array

    def _tokenized(self, request: Request, texts: list[str]):
        array = self._texts(texts)
        began = time.monotonic()
        rows, truncated = self.model.tokenize(list(array))
        request.tokenizing += time.monotonic() - began
        return rows, truncated


def _cut(rows, max_tokens: int, sep_id: int):
    """(rows cut at `max_tokens`, the last of them [SEP]; which of them were cut)."""
    cut = rows["input_mask"].sum(axis=1) > max_tokens
    rows = {name: values[:, :max_tokens].copy() for name, values in rows.items()}
    rows["input_ids"][cut, -1] = sep_id
    return rows, cut


def _estimated_tokens(inputs: dict[str, np.ndarray], definition) -> list[int]:
    """Of each row: a third of the bytes of its texts, or as many as it has numbers."""
    rows = [array for name, array in inputs.items() if has_rows(definition.inputs[name]) and array.ndim]
    if not rows or len({len(array) for array in rows}) > 1:
        return [sum(array.size for array in inputs.values())]
    tokens = np.zeros(len(rows[0]), np.int64)
    widest = np.zeros(len(rows[0]), np.int64)
    for array in rows:
        flat = array.reshape(len(array), -1)
        if array.dtype == object:
            lengths = np.array([len(text) for text in flat.ravel()], np.int64).reshape(flat.shape)
            tokens += (lengths // _BYTES_OF_A_TOKEN + 2).sum(axis=1)
        else:
            widest = np.maximum(widest, flat.shape[1])
    return (tokens + widest).tolist()
