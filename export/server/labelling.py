"""Labels with their scores, as text-embeddings-inference's `/predict` gives them."""

from ..gate.saved_model_session import RequestError
from .json_body import shown
from .request import Request, invalid, require_whole
from .service import Service

_TEXT, _PAIR = ("text",), ("text", "text_pair")
Example = tuple[str, ...]  # a text, or the two of a pair


def label(service: Service, request: Request, examples: list[Example], truncate: bool, raw: bool) -> list:
    """For each example, in its order, [(label, score), ...] with the highest score first; before it the label
    that the model gives, where a threshold chose another one.

    Args:
      service: has the model: one that gives probabilities of labels, or a number.
      request: is told the tokens.
      examples: one or more.
      truncate: whether they may be cut.
      raw: logits in the place of probabilities.

    Raises:
      RequestError: the model gives no labels for such examples, or one is too long.
    """
    if not examples:
        raise invalid("received no text; expected one or more.")
    answers: list = [None] * len(examples)
    for inputs in sorted({_PAIR[: len(example)] for example in examples}):
        rows = [index for index, example in enumerate(examples) if len(example) == len(inputs)]
        scored = _scores(service, request, inputs, [examples[index] for index in rows], truncate, raw)
        labels = _labels(service.model, scored[0].shape[1])
        for index, row, order, first in zip(rows, *scored, strict=True):
            named = zip(labels, row, order, strict=True)
            best = sorted(named, key=lambda each: (each[0] != first, -each[2]))
            answers[index] = [(name, score) for name, score, _ in best]
    return answers


def gives_labels(model) -> bool:
    """Whether a model can be asked so."""
    return any(_signature(model, inputs) for inputs in (_TEXT, _PAIR))


def function_applied(model) -> str:
    """What makes its scores of raw ones: "softmax" for one label, "sigmoid" for several or for a number with
    an activation, else "none"."""
    known = next(filter(None, (_signature(model, inputs) for inputs in (_TEXT, _PAIR))), None)
    outputs = model.signatures[known[0]].outputs if known else {}
    return "softmax" if "label" in outputs else "sigmoid" if "logits" in outputs else "none"


def read_examples(inputs) -> tuple[list[Example], bool]:
    """The examples of a request, and whether it is one alone.

    A text is one; two texts in a list are a pair, as are "text" and "text_pair" in an object; a list of
    lists of one text or two, or of such objects, is a batch.
    """
    if isinstance(inputs, str):
        return [(inputs,)], True
    if _is_example(inputs):
        return [_texts(inputs)], True
    if not isinstance(inputs, list):
        raise invalid(f"inputs: received {shown(inputs)}; expected a text, or a list.")
    for index, example in enumerate(inputs):
        if not _is_example(example):
            hint = ' Several texts are [["one"], ["two"]].' if isinstance(example, str) else ""
            raise invalid(
                f"inputs[{index}]: received {shown(example)}; expected a list of one text, or of the two of "
                f"a pair, or an object of text and text_pair.{hint}"
            )
    return [_texts(example) for example in inputs], False


def several_texts(model, inputs):
    """What `read_examples` takes for a list of texts that are no pair: so many texts, as in transformers'
    pipelines; other inputs as they are.

    Two texts are a pair to text-embeddings-inference. A model of pairs alone, or of texts alone, leaves no
    doubt.

    Raises:
      RequestError: two texts may be either.
    """
    are_texts = isinstance(inputs, list) and all(isinstance(text, str) for text in inputs)
    if not are_texts or (len(inputs) == 2 and not _signature(model, _TEXT)):
        return inputs
    if len(inputs) == 2 and _signature(model, _PAIR):
        raise invalid(
            'inputs: two texts in a list may be a pair or two texts; send [["one", "two"]] or [["one"], '
            '["two"]].'
        )
    return [[text] for text in inputs]


def is_object_of_texts(value) -> bool:
    """Whether an object holds a text, or the two of a pair, as transformers' pipelines take them."""
    if not isinstance(value, dict) or not value.keys() <= {*_PAIR}:
        return False
    second = value.get("text_pair")  # `null` is as left out
    return isinstance(value.get("text"), str) and (second is None or isinstance(second, str))


def _is_example(value) -> bool:
    is_list = isinstance(value, list) and len(value) in (1, 2)
    return is_object_of_texts(value) or (is_list and all(isinstance(text, str) for text in value))


def _texts(example) -> Example:
    """Those of what `_is_example`."""
    texts = example if isinstance(example, list) else [example["text"], example.get("text_pair")]
    return tuple(text for text in texts if text is not None)


def _signature(model, inputs: Example) -> tuple[str, str, str] | None:
    """(signature, output of scores, output of raw ones)."""
    for name, signature in model.signatures.items():
        ranks = {output: len(info.tensor_shape.dim) for output, info in signature.outputs.items()}
        if set(signature.inputs) != set(inputs):
            continue
        if ranks.get("probabilities") == 2 and "logits" in ranks and {"label", "labels"} & set(ranks):
            return name, "probabilities", "logits"
        if ranks.get("prediction") == 1:
            return name, "prediction", "logits" if "logits" in ranks else "prediction"
    return None


def _scores(service, request, inputs, examples, truncate, raw):
    """The scores of each example, (examples, labels); the raw ones, whose order they have; the one label
    that each gets, else None."""
    outputs = _signature(service.model, inputs)
    if outputs is None:
        what = "pairs of texts" if inputs == _PAIR else "texts alone"
        raise RequestError("NOT_FOUND", f"{service.model.name} gives no labels for {what}.")
    name, output, raw_output = outputs
    columns = dict(zip(inputs, map(list, zip(*examples, strict=True)), strict=True))
    arrays = {column: service.checked(texts) for column, texts in columns.items()}
    others = {"truncated", "label"} & set(service.model.signatures[name].outputs)
    answer = service.predict(request, name, arrays, (*{output, raw_output}, *others))
    if "truncated" in others:
        require_whole(
            answer["truncated"],
            truncate,
            lambda index: f"{shown(examples[index][0])} is too long; allow truncation.",
        )
    own = [label.decode() for label in answer["label"]] if "label" in others else [None] * len(examples)
    scores, raw_scores = (answer[name].reshape(len(examples), -1) for name in (output, raw_output))
    service.finite(raw_scores, "inputs[{}]".format)
    return raw_scores if raw else scores, raw_scores, own


def _labels(model, number: int) -> list[str]:
    labels = model.about.get("labels") or []
    return labels if len(labels) == number else [f"LABEL_{index}" for index in range(number)]
