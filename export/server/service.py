"""What both APIs ask: named tensors, vectors of texts, tokens of a text."""

import threading
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from kbert.cli.warn_once import warn_once
from kbert.config.vectors_config import warn_of_written_prompts
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.texts import BYTES_OF_TOKEN
from kbert.tasks.late_interaction.late_serving import MASK, VECTORS
from kbert.tasks.signatures.signature import TRUNCATED
from kbert.tasks.sparse_embedding.sparse_serving import INDICES, WEIGHTS

from ..gate.saved_model_session import RequestError
from .batch_queue import BatchQueue, has_rows, joined
from .json_tensors import text_bytes
from .limits import Limits
from .prompts import NO_PROMPT, Prompt, prompt_for
from .request import Request, invalid, require_whole
from .served_model import ServedModel
from .tensors import check_size, check_texts

# A setting like `top_k` is one number for the whole request, and answers grow with it.
_MAX_TOP_K = 1000
_PART_BYTES = 1 << 20  # of pairs that are tokenized together
_NameText = Callable[[int], str]  # what an error calls the text of an index
_NAME_TEXT: _NameText = "texts[{}]".format


class Service:
    """One model, its queue and its limits.

    Args:
      model: the `ServedModel`.
      limits: what is accepted.
    """

    def __init__(self, model: ServedModel, limits: Limits):
        self.model, self.limits = model, limits
        self.queue = BatchQueue(model.session, limits.max_batch_tokens, limits.max_answer_bytes)
        self.is_stopping = False
        self._pairs_lock = threading.Lock()

    def predict(self, request: Request, name: str, inputs: dict, outputs: tuple[str, ...] = ()) -> dict:
        """Runs a signature: input name -> array, to output name -> array; see `SavedModelSession.run`."""
        name, definition = self.model.signature(name)
        if set(inputs) != set(definition.inputs):
            expected = ", ".join(sorted(definition.inputs))
            received = ", ".join(sorted(inputs))[:200] or "nothing"
            raise invalid(f"received inputs {received}; the signature {name} takes {expected}.")
        for setting, array in inputs.items():
            _check_tensor(setting, array, definition.inputs[setting])
        rows = {name: len(array) for name, array in inputs.items() if has_rows(definition.inputs[name])}
        if len({*rows.values()}) > 1:
            counted = ", ".join(f"{number} of {name}" for name, number in rows.items())
            raise invalid(f"received {counted}; give as many of each.")
        tokens = _estimated_tokens(inputs, definition)
        request.count(max(len(tokens), 1), sum(tokens), estimated=True)
        answer = self._complete(self.queue.run(request, name, inputs, tokens, outputs))
        request.cut += int(np.sum(answer.get(TRUNCATED, 0)))
        return answer

    def embed(
        self,
        request: Request,
        texts: list[str],
        truncate: bool = True,
        max_tokens: int | None = None,
        prompt: Prompt = NO_PROMPT,
        name_text: _NameText = _NAME_TEXT,
    ) -> np.ndarray:
        """One vector for each text, float32 (texts, width).

        Args:
          request: is told how many tokens there were.
          texts: one or more.
          truncate: whether a text may be cut; otherwise one that is too long is refused.
          max_tokens: cut at fewer tokens than the model takes.
          prompt: comes before each text.
          name_text: what an error calls a text, by its index.
        """
        signature = self.model.signature_behind(prompt.name)
        if signature is None:
            raise RequestError(
                "NOT_FOUND",
                f"{self.model.name} gives no vectors of texts; ask SPLADE by /embed_sparse, ColBERT by "
                "/embed_all, a cross-encoder by /rerank, others by :predict. For the encoder's own vectors "
                "serve what kbert convert --encoder_only makes of the model.",
            )
        if max_tokens is not None and prompt.text:
            own = int(self.tokenized(request, self.checked([prompt.text]))[0]["input_mask"].sum())
            if max_tokens <= own:
                raise invalid(
                    f"truncate_prompt_tokens={max_tokens} leaves no token of a text: the prompt before it "
                    f"and the special tokens are {own}."
                )
        rows = self._whole_rows(request, prompt.before(texts), truncate, max_tokens, name_text)
        vectors = self.run_rows(request, signature, rows, ("embedding",))["embedding"]
        return self.finite(vectors, name_text)

    def sparse_vectors(
        self,
        request: Request,
        texts: list[str],
        truncate: bool = True,
        prompt: Prompt = NO_PROMPT,
        name_text: _NameText = _NAME_TEXT,
    ) -> dict[str, np.ndarray]:
        """The words of each text and their weights, (texts, words), the largest first; 0 where there are no
        more. Arguments as for `embed`."""
        signature = self.model.ids_signature(INDICES)
        if signature is None:
            raise RequestError("NOT_FOUND", f"{self.model.name} gives no sparse vectors of texts.")
        rows = self._whole_rows(request, prompt.before(texts), truncate, None, name_text)
        words = self.run_rows(request, signature, rows, (INDICES, WEIGHTS))
        self.finite(words[WEIGHTS], name_text)
        return words

    def _whole_rows(self, request, texts, truncate, max_tokens, name_text):
        """The token ids of texts, each a row; refuses one that would be cut, unless it may be."""
        rows, truncated = self.tokenized(request, self.checked(texts))
        by_model = int(truncated.sum())
        if max_tokens is not None and max_tokens < rows["input_ids"].shape[1]:
            rows, cut = _cut(rows, max(max_tokens, 2), self.model.text_inputs.vocabulary.sep_id)
            truncated = truncated | cut
        longest = self.model.text_inputs.max_seq_length
        most = min(max_tokens or longest, longest)
        require_whole(
            truncated,
            truncate,
            lambda index: (
                f"{name_text(index)} has more than the {most} tokens that are answered; send a "
                "shorter one, or allow truncation."
            ),
        )
        request.cut += by_model
        return rows

    def token_vectors(
        self,
        request: Request,
        texts: list[str],
        task: str,
        truncate: bool = True,
        name_text: _NameText = _NAME_TEXT,
    ) -> list[np.ndarray]:
        """The vectors of the tokens of each text, float32 (tokens, width): those that are compared.

        Args:
          request: is told how many tokens there were.
          texts: one or more, without prompts.
          task: "query" or "document": which prompt, length and skip list they have.
          truncate, name_text: as for `embed`.
        """
        if not self.model.gives_token_vectors:
            raise RequestError("NOT_FOUND", f"{self.model.name} gives no vectors of tokens.")
        warn_of_written_prompts(prompt_for(self.model, input_type=task).text, texts)  # put there in the graph
        outputs = (VECTORS, MASK, TRUNCATED)
        answer = self.predict(request, task, {"text": self.checked(texts)}, outputs)
        require_whole(
            answer[TRUNCATED],
            truncate,
            lambda index: (
                f"{name_text(index)} has more tokens than are answered of a {task}; send a shorter "
                "one, or allow truncation."
            ),
        )
        rows = zip(answer[VECTORS], answer[MASK], strict=True)
        return self.finite([vectors[mask == 1] for vectors, mask in rows], name_text)

    def finite(self, values, name_text: _NameText = _NAME_TEXT):
        """The numbers of each text. `RequestError` where they are not finite: they are no JSON, rank nothing,
        and a store of vectors would keep them."""
        try:
            for index, row in enumerate(values):
                require_finite_answers([row], self.model.path, name=name_text(index))
        except ValueError as error:
            raise RequestError("INTERNAL", str(error)) from None
        return values

    def run_rows(self, request: Request, signature: str, rows: dict, outputs: tuple[str, ...]) -> dict:
        """Runs a signature that takes token ids, a row for each text or pair: output name -> array."""
        tokens = rows["input_mask"].sum(axis=1)
        request.count(len(tokens), int(tokens.sum()))
        order = np.argsort(tokens, kind="stable")  # rows of a length run together
        rows = {name: array[order] for name, array in rows.items()}
        answer = self.queue.run(request, signature, rows, tokens[order].tolist(), outputs)
        return self._complete({name: array[np.argsort(order)] for name, array in answer.items()})

    def _complete(self, outputs: dict) -> dict:
        """The outputs; with a warning, once, where they hold less than the model gives."""
        if self.model.serving and (sentence := self.model.serving.incomplete(outputs)):
            warn_once(sentence)
        return outputs

    def pieces(self, request: Request, texts: list[str], max_tokens: int | None = None) -> list[list[dict]]:
        """The tokens of each text: {"id", "text", "special", "start", "stop"}; a literal `[MASK]` is text.

        The last two are code points of the text, None for special tokens and of a model of token vectors.

        Args:
          request: the one that asks.
          texts: texts behind their prompts.
          max_tokens: for a model of token vectors: how many are read, the rest is cut. Others give all.
        """
        inputs = self.model.require_text_inputs()
        vocabulary, encoded = inputs.vocabulary, self.checked(texts)
        special = (vocabulary.cls_id, vocabulary.sep_id)

        def piece(index, start=None, stop=None):
            token = {"id": index, "text": vocabulary.tokens[index], "special": index in special}
            return token | {"start": start, "stop": stop}

        if max_tokens is not None:
            rows = self._whole_rows(request, texts, True, max_tokens, _NAME_TEXT)
            lengths = rows["input_mask"].sum(axis=1).tolist()
            whole = zip(rows["input_ids"].tolist(), lengths, strict=True)
            return [list(map(piece, ids[:length])) for ids, length in whole]
        began = time.monotonic()
        read = inputs.tokenizer.with_offsets(tf.constant(encoded.tolist()))
        request.tokenizing += time.monotonic() - began
        check_size("tokens of the texts", len(read.ids.flat_values), tf.int32, self.limits)
        parts = (part.to_list() for part in (read.ids, read.starts, read.ends))
        return [
            [piece(special[0]), *map(piece, *spans), piece(special[1])] for spans in zip(*parts, strict=True)
        ]

    def checked(self, texts: list[str]) -> np.ndarray:
        """Texts of one request, checked, as bytes."""
        if not texts:
            raise invalid("received no text; expected one or more.")
        check_size("texts", len(texts), tf.string, self.limits)
        encoded = [text_bytes("texts", text) for text in texts]
        check_texts("texts", encoded, self.limits)
        return np.array(encoded, object)

    def tokenized(self, request: Request, texts: np.ndarray, pairs: np.ndarray | None = None):
        """(features of texts or of pairs, whether each was cut), see `ServedModel.tokenize`.

        Args:
          request: is told how long it took.
          texts, pairs: as `checked` gives them. Pairs are read in parts, one at a time: the same long query
            beside each of many texts is much larger than its request.
        """
        began = time.monotonic()
        longest = max(map(len, texts), default=0) + max(map(len, () if pairs is None else pairs), default=0)
        size = len(texts) if pairs is None else max(1, _PART_BYTES // max(longest, 1))
        parts = []
        for begin in range(0, len(texts), size):
            request.remaining()
            part = slice(begin, begin + size)
            if pairs is None:
                parts.append(self.model.tokenize(texts[part]))
            else:
                with self._pairs_lock:
                    parts.append(self.model.tokenize(texts[part], pairs[part]))
        request.tokenizing += time.monotonic() - began
        rows = {name: joined([features[name] for features, _ in parts]) for name in parts[0][0]}
        return rows, np.concatenate([truncated for _, truncated in parts])


def _check_tensor(name: str, array: np.ndarray, info) -> None:
    """Raises `RequestError` where an input is not what its signature declares (a `TensorInfo`)."""
    if tf.as_dtype(array.dtype) != info.dtype:
        expected = tf.as_dtype(info.dtype).name
        raise invalid(f"{name} has dtype {tf.as_dtype(array.dtype).name}; expected {expected}.")
    sizes = [dim.size for dim in info.tensor_shape.dim]
    received = f"{name} has shape {list(array.shape)}; expected"
    if not info.tensor_shape.unknown_rank:
        if array.ndim != len(sizes):
            advice = "" if array.ndim else " Give a list, with one entry for each example."
            raise invalid(f"{received} {len(sizes)} dimensions.{advice}")
        if any(size not in (-1, length) for size, length in zip(sizes, array.shape, strict=True)):
            raise invalid(f"{received} [{', '.join('any' if size < 0 else str(size) for size in sizes)}].")
        if has_rows(info) and not len(array):
            raise invalid(f"{received} one row or more.")
    if name == "top_k" and array.ndim == 0 and array.dtype.kind == "i" and not 1 <= array <= _MAX_TOP_K:
        raise invalid(f"{name}={array}; expected a number from 1 to {_MAX_TOP_K}.")


def _cut(rows, max_tokens: int, sep_id: int):
    """(rows cut at `max_tokens`, the last of them [SEP]; which of them were cut)."""
    cut = rows["input_mask"].sum(axis=1) > max_tokens
    rows = {name: values[:, :max_tokens].copy() for name, values in rows.items()}
    rows["input_ids"][cut, -1] = sep_id
    return rows, cut


def _estimated_tokens(inputs: dict[str, np.ndarray], definition) -> list[int]:
    """Of each row: a third of the bytes of its texts, or as many as it has numbers."""
    rows = [array for name, array in inputs.items() if has_rows(definition.inputs[name])]
    if not rows:
        return [sum(array.size for array in inputs.values())]
    tokens = np.zeros(len(rows[0]), np.int64)
    widest = np.zeros(len(rows[0]), np.int64)
    for array in rows:
        flat = array.reshape(len(array), -1)
        if array.dtype == object:
            lengths = np.array([len(text) for text in flat.ravel()], np.int64).reshape(flat.shape)
            tokens += (lengths // BYTES_OF_TOKEN + 2).sum(axis=1)
        else:
            widest = np.maximum(widest, flat.shape[1])
    return (tokens + widest).tolist()
