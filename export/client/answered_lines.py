"""Examples to lines of answers, in order, with the number of the line or row that fails."""

import dataclasses
import json
from collections.abc import Iterable, Iterator

import numpy as np

from .serving_client import ServingClient

_KEPT = "id"  # not an input of any model: answers give it back


@dataclasses.dataclass(frozen=True)
class LineAnswers:
    """Answers examples, with a line for each.

    Args:
        client: who is asked.
        settings, signature_name, batch_size, num_parallel: see `ServingClient.answer`.
        place: where the examples are from, for messages; None for a single one that needs no number.
        counted: what `place` has of them, for messages: "line"; or "row" of a file with columns, whose header
            takes a line, whose cells may take several, or which is a table and has none.
        keep_going: an example that is refused gives a line with its inputs and `error`; the others are
            answered.
    """

    client: ServingClient
    settings: dict
    signature_name: str | None = None
    batch_size: int = 32
    num_parallel: int = 2
    place: str | None = None
    counted: str = "line"
    keep_going: bool = False

    def __call__(self, examples: Iterable[dict]) -> Iterator[str]:
        """Yields a line of JSON for each example: its inputs, then every output by name. See `pairs`."""
        return (answer_line(*pair) for pair in self.pairs(examples))

    def pairs(self, examples: Iterable[dict]) -> Iterator[tuple[dict, dict]]:
        """Yields each example with its answer: every output by name, ready for JSON.

        Raises:
            ValueError: an example is refused; the message names its line or row.
            ConnectionError, TimeoutError: nobody answers; the message names the first without an answer.
        """
        done = 0
        for some in _chunks(examples, self.batch_size * self.num_parallel):
            for example, answer in zip(some, self._answers(some, done), strict=True):
                yield example, {name: _plain(value) for name, value in answer.items()}
            done += len(some)

    def _answers(self, examples: list[dict], done: int) -> Iterator[dict]:
        try:
            yield from list(self._ask(examples))
        except ValueError as error:
            if len(examples) == 1 and not self.keep_going:
                raise ValueError(self._where(done) + str(error)) from error
            # One bad example refuses a whole request: each alone tells which it is.
            for number, example in enumerate(examples):
                yield self._alone(example, done + number)
        except OSError as error:
            raise type(error)(self._where(done) + str(error)) from error

    def _alone(self, example: dict, index: int) -> dict:
        try:
            return next(self._ask([example]))
        except ValueError as error:
            if self.keep_going:
                return {"error": str(error)}
            raise ValueError(self._where(index) + str(error)) from error
        except OSError as error:
            raise type(error)(self._where(index) + str(error)) from error

    def _ask(self, examples: list[dict]) -> Iterator[dict]:
        return self.client.answer(
            [{name: value for name, value in example.items() if name != _KEPT} for example in examples],
            self.settings,
            self.signature_name,
            batch_size=self.batch_size,
            num_parallel=self.num_parallel,
        )

    def _where(self, index: int) -> str:
        return "" if self.place is None else f"{self.place} {self.counted} {index + 1}: "


def answer_line(example: dict, outputs: dict) -> str:
    """Returns the line of JSON for one example."""
    answers = {name: _plain(value) for name, value in outputs.items()}
    line = json.dumps({**example, **answers}, ensure_ascii=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which no file in UTF-8 can hold
        return json.dumps({**example, **answers})
    return line


def _chunks(examples: Iterable[dict], size: int) -> Iterator[list[dict]]:
    chunk: list[dict] = []
    for example in examples:
        chunk.append(example)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _plain(value):
    """An output as JSON: text for strings, short decimals for float32."""
    if isinstance(value, np.ndarray):
        return [_plain(element) for element in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.float32 | np.float16):
        # The shortest decimal that reads back as the same: 0.2, not 0.20000000298.
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value
