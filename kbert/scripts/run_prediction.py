r"""Script: a run directory + texts -> answers, one JSON line a text.

  python -m kbert.scripts.run_prediction --run_dir=runs/sst2 --text='a gorgeous, witty film'
  python -m kbert.scripts.run_prediction --run_dir=runs/phase1 \
      --text='The doctor ran to the emergency room to see [MASK] patient.'

Without --text, texts are read from standard input, one a line (a tab between the two texts of a pair).
A classification run gives label and probabilities, a pretraining run the top tokens for each [MASK].
"""

import itertools
import json
import sys

from absl import flags

from kbert import command_line
from kbert.scripts.training_flags import define_checkpoint_flag

FLAGS = flags.FLAGS
_TEXTS_AT_ONCE = 32


def define_flags():
    flags.DEFINE_string("run_dir", None, "The run that answers.")
    define_checkpoint_flag()
    flags.DEFINE_multi_string("text", [], "A text; may be given several times.")
    flags.DEFINE_multi_string("text_pair", [], "The second text of each --text, for a run on pairs.")
    flags.DEFINE_integer("top_k", 5, "Tokens to show for each [MASK].", lower_bound=1)
    flags.mark_flags_as_required(["run_dir"])


def predictions(run, texts, text_pairs=None, top_k=5, checkpoint=None):
    """Yields one JSON-ready answer a text.

    Args:
      run: a `RunDirectory`.
      texts: an iterable of strings.
      text_pairs: an iterable of second texts for a run on pairs, else None.
      top_k: tokens for each [MASK] of a pretraining run.
      checkpoint: which of the run's, as in `RunDirectory.checkpoint`.
    """
    from kbert.inference.loaded_model import LoadedModel
    from kbert.inference.mask_filler import MaskFiller
    from kbert.inference.text_classifier import TextClassifier

    if run.details["task"] == "pretraining":
        if text_pairs is not None:
            raise ValueError(f"{run.path} is a pretraining run: it fills masks of single texts.")
        fill = MaskFiller(LoadedModel.from_run(run, checkpoint))
        for batch in _batched(texts):
            for text, masks in zip(batch, fill(batch, top_k), strict=True):
                yield {"text": text, "masks": masks}
        return
    classify = TextClassifier(LoadedModel.from_run(run, checkpoint))
    if text_pairs is None:
        for batch in _batched(texts):
            for text, answer in zip(batch, classify(batch), strict=True):
                yield {"text": text} | answer
        return
    for batch in _batched(zip(texts, text_pairs, strict=True)):
        firsts, seconds = map(list, zip(*batch, strict=True))
        for (text, second), answer in zip(batch, classify(firsts, seconds), strict=True):
            yield {"text": text, "text_pair": second} | answer


def _batched(items):
    items = iter(items)
    while batch := list(itertools.islice(items, _TEXTS_AT_ONCE)):
        yield batch


def lines_of_standard_input():
    """Its lines, whatever the system's encoding: UTF-8, as everywhere."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input line {number} is not UTF-8 (byte 0x{line[error.start]:02x}); convert it, "
                "for example with iconv."
            ) from None


def _pairs_from_lines(lines):
    for number, line in enumerate(lines, start=1):
        if line.count("\t") != 1:
            raise ValueError(f"standard input line {number}: expected two texts with a tab between them.")
        yield line.split("\t")


def main(argv):
    del argv
    from kbert.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.run_dir)
    takes_pairs = run.details["task"] != "pretraining" and run.config.dataset.text_pair is not None
    if FLAGS.text:
        texts, pairs = FLAGS.text, FLAGS.text_pair or None
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"{len(texts)} --text but {len(pairs)} --text_pair; give one for each.")
        if takes_pairs and pairs is None:
            raise ValueError(f"{run.path} was trained on pairs of texts; give a --text_pair for each --text.")
        if pairs and not takes_pairs:
            raise ValueError(f"{run.path} was trained on single texts; leave out --text_pair.")
    elif FLAGS.text_pair:
        raise ValueError("--text_pair without --text; give the first text of each pair as --text.")
    else:
        texts, pairs = lines_of_standard_input(), None
        if takes_pairs:
            first, second = itertools.tee(_pairs_from_lines(texts))
            texts, pairs = (a for a, _ in first), (b for _, b in second)
    for answer in predictions(run, texts, pairs, FLAGS.top_k, FLAGS.checkpoint):
        print(json.dumps(answer, ensure_ascii=False, allow_nan=False), flush=True)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
