"""`kbert.load` of a .tflite file: its predictions in the form that every other model gives them.

Nothing here imports TensorFlow.
"""

import zlib
from pathlib import Path

import numpy as np

from kbert.checks import with_checked_values
from kbert.config.pooling_config import require_dimensions
from kbert.config.vectors_config import warn_of_written_prompts
from kbert.files.json_file import read_json_object
from kbert.files.json_values import json_value
from kbert.inference.text_answers import TextAnswers
from kbert.inference.texts import text_batch
from kbert.layers.unit_length import unit_rows
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary_files import read_vocabulary

from ..folder_names import ABOUT_FILE, MEDIAPIPE, TEXT
from .litert_model import LiteRTModel


class LoadedFile(TextAnswers):
    """A file of `kbert export-litert` with its task and vocabulary, which lie beside it.

    One short text takes a fraction of the time that TensorFlow needs (docs/serving_speed.md); many texts are
    answered one by one.

    Args:
      path: model_<quantization>.tflite in the folder that `kbert export-litert` wrote.
      num_threads: threads of LiteRT.

    Attributes:
      source: the path.
      task: the `Task`.
      vocabulary: its `Vocabulary`.
      max_seq_length: tokens of a text; longer ones are cut.

    Raises:
      ValueError: for a file without its folder's `kbert.json` and vocabulary, one of another size than it
        says, and a task that does not answer a text by one row of tokens.
    """

    unit = staticmethod(unit_rows)  # in NumPy: the last bit of a cosine may be another one

    def __init__(self, path, num_threads: int = 1):
        path = Path(path)
        about = _read_about(path)
        self.source, self.task = str(path), TASKS.recorded(about)
        self.vocabulary = read_vocabulary(path.parent, about["vocabulary"])
        if not self.task.serving.row_texts:
            raise ValueError(
                f"{path} is a file of {self.task.name}, where a text may take several rows; load the run "
                "or the checkpoint that it was made of."
            )
        self._model = LiteRTModel(path, self.vocabulary, num_threads)
        # After LiteRT, which says of a damaged file that it is one.
        _require_described(path, self._model.content, about)
        self.max_seq_length = self._model.lengths[-1]

    def __repr__(self):
        return f"<LoadedFile {self.source}: {self.task.name}, up to {self.max_seq_length} tokens>"

    @property
    def text_inputs(self):
        """The `TextInputs` in Python that tokenize for it."""
        return self._model.text_inputs

    def predictor(self, signature: str) -> "_Predictor":
        """What answers the texts of a signature; see `LoadedModel.predictor`."""
        serving = self.task.serving
        known = serving.by_signature
        if signature not in known:
            raise ValueError(f"{self.source} answers by {', '.join(known)}, not by {signature!r}.")
        inputs = known[signature]
        if len(inputs) > 1 and serving.one_text_output == "embedding":
            raise ValueError(
                f"{self.source} turns single texts into vectors; ask it by embed(texts), rank(query, texts)."
            )
        return _Predictor(self, inputs)

    def outputs(self, texts, text_pairs=None, **named) -> tuple[dict, np.ndarray]:
        """(the file's outputs for lists of texts or of pairs, bool (texts,): whether each was cut).

        `named` are `positions` and `name`, as for `require_finite_answers`.
        """
        rows, cut = self.text_inputs.rows(texts, text_pairs)
        return self._model.answer_ids(rows, **named), cut

    @with_checked_values
    def embed(
        self,
        texts,
        pooling: str | None = None,
        normalize: bool | None = None,
        prompt_name: str | None = None,
        task: str | None = None,
        dimensions: int | None = None,
    ) -> np.ndarray:
        """One vector for each text, as the file was exported: float32 (texts, width); (width,) for one text.

        Args:
          texts: a text, or an iterable of texts.
          pooling, normalize: None; the file has its own.
          prompt_name, task, dimensions: as for `LoadedModel.embed`.

        Raises:
          ValueError: when the file gives no vectors of texts, for an input that is not a text, an unknown
            prompt, and one whose tokens do not count, unless it is the default: the file says how many do
            not.
        """
        output = self.task.serving.one_text_output
        if output != "embedding":
            raise ValueError(f"{self.source} has the task {self.task.name} and gives no vectors of texts.")
        batch, own = text_batch(texts), self.task.pooling
        if (pooling, normalize) != (None, None):
            raise ValueError(
                f"pooling and normalize are those of {self.source}; leave them out, or load the run or the "
                "checkpoint that it was made of."
            )
        if task is None and prompt_name is None:
            own.warn_of_named_prompts()
        prompt_name = own.prompt_name(task, prompt_name)
        prompt = own.prompt(prompt_name)
        skipped, in_file = own.skipped_tokens(prompt_name), own.skipped_tokens()
        if skipped != in_file:
            raise ValueError(
                f"prompt_name={prompt_name!r}: in {self.source} {in_file} tokens of each text do not count, "
                f"and behind this prompt it is {skipped}; load the run or the checkpoint that it was made of."
            )
        warn_of_written_prompts(prompt, batch.texts)
        self.warn_of_unknown_tokens(batch.texts)
        outputs, cut = self.outputs([prompt + text for text in batch.texts])
        self.warn_of_cut_text(cut, batch.texts)
        vectors = outputs[output]
        if dimensions is not None:
            require_dimensions("dimensions", dimensions, vectors.shape[1])
            vectors = vectors[:, :dimensions]
            vectors = unit_rows(vectors) if own.normalize else vectors
        return batch.answer(vectors)


class _Predictor:
    """Answers texts by a file; it has what `answered` asks of a `Predictor`."""

    settings = ()

    def __init__(self, loaded: LoadedFile, inputs: tuple[str, ...]):
        self.inputs = inputs
        self._loaded = loaded

    def answers(self, inputs: dict, positions=None, name="texts[{}]", raw_scores=False) -> list[dict]:
        loaded, serving = self._loaded, self._loaded.task.serving
        prompted = [[loaded.task.default_prompt + text for text in texts] for texts in inputs.values()]
        outputs, cut = loaded.outputs(*prompted, positions=positions, name=name)
        loaded.warn_of_cut_text(cut, positions, name)
        served = {key: np.asarray(values) for key, values in serving.served(outputs).items()}
        examples = [dict(zip(inputs, row, strict=True)) for row in zip(*inputs.values(), strict=True)]
        return loaded.answer_rows(served, examples, positions, name, raw_scores)


def _read_about(path: Path) -> dict:
    about = path.parent / ABOUT_FILE
    if not (path.is_file() and about.is_file()):
        raise ValueError(
            f"{path} with {ABOUT_FILE} beside it does not exist; expected model_<quantization>.tflite in a "
            "folder that kbert export-litert wrote."
        )
    if path.name.startswith((f"{MEDIAPIPE}_", f"{TEXT}_")):
        raise ValueError(
            f"{path} is asked with texts, by MediaPipe or with TF-Text's ops (docs/mobile.md); here give the "
            "file beside it that takes token ids, model_<quantization>.tflite."
        )
    content = read_json_object(about)
    missing = {"task", "task_config", "vocabulary"} - content.keys()
    if missing or not isinstance(content["vocabulary"], dict):
        wrong = ", ".join(sorted(missing)) or "description of a vocabulary"
        raise ValueError(f"{about} has no {wrong}; export the file again.")
    return content


def _require_described(path: Path, content: bytes, about: dict):
    files = json_value(about, "files", dict, path.parent / ABOUT_FILE, {}).values()
    described = [file for file in files if isinstance(file, dict)]
    sums = {file["crc32"] for file in described if "crc32" in file}
    sizes = {file.get("bytes") for file in described}  # all that earlier versions wrote
    if described and not (f"{zlib.crc32(content):08x}" in sums if sums else len(content) in sizes):
        raise ValueError(
            f"{path} is none of the files that {ABOUT_FILE} describes: it is of another export; copy the "
            "whole folder of an export."
        )
