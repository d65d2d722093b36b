r"""Script: checkpoint + texts -> the same model with only the tokens that such texts need.

  kbert trim --from=runs/sst2 --to=runs/sst2_trimmed \
      --config=configs/finetuning/sst2.toml --labelled_files=sst2/train.tsv --heldout_files=sst2/dev.tsv
  kbert trim --from=bert-base-uncased --to=reviews_bert \
      --input_files='reviews/*.txt' --vocab_size=8000

Predictions on the texts stay the same, unless --min_count or --vocab_size drops some of their tokens; a
SPLADE and a masked LM lose the words that go as answers. For other texts --heldout_files says how many get
other tokens (docs/distillation.md).
"""

import contextlib
import functools
import itertools
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from absl import logging

from kbert.bounds import NO_FLAG, Bounds
from kbert.checkpoints import KBERT, Format, formats
from kbert.checkpoints.conversion import resizing
from kbert.checkpoints.convert import convert, warn_of_chosen
from kbert.checkpoints.report import TRIMMING_FILE
from kbert.checks import require, require_single, with_checked_arguments
from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.config import DatasetConfig, FinetuningConfig, load_config
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import write_json
from kbert.input_pipelines.tables.table_paths import require_one_split, source_files
from kbert.reports.text_table import text_table
from kbert.scripts.training_flags import Checkpoint
from kbert.tasks.file_columns import check_file, require_files
from kbert.tokenization import text_words, word_splitter
from kbert.tokenization.greedy_match import GreedyMatcher
from kbert.tokenization.python import word_splitter as python_splitter
from kbert.tokenization.vocabulary import Vocabulary, require_wordpiece
from tfrecords_tools.corpus.corpus_files import input_files, input_folders
from tfrecords_tools.corpus.documents import (
    TextFormat,
    plan_units,
    read_unit_lines,
    require_text_field,
)
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.vocabulary.coverage import coverage
from tfrecords_tools.vocabulary.trimming import trim_pieces
from tfrecords_tools.vocabulary.user_defined_tokens import is_marker
from tfrecords_tools.vocabulary.word_counter import UNIT_BYTES, count_words

_CALLED = {"source": "from", "target": "to"}  # parameter -> flag
_TEXTS_AT_ONCE = 1000
# Not all of `str.split`: WordPiece deletes control characters, and joins what stands on their two sides.
_BETWEEN_SPACES = re.compile(r"[^ \t\n\r]+")


@dataclass(frozen=True)
class Texts:
    """The texts that a model is for.

    Args:
      input_files: texts: text or JSONL files, directories and globs, separated by commas.
      labelled_files: instead: labelled files and tables, each read as `kbert finetune` reads its train_file
        by this `config`.
      heldout_files: files of the same kind; the report says how many of their texts get other tokens.
      config: a fine-tuning config, whose task and [dataset] say how labelled files are read.
    """

    input_files: str | None = None
    labelled_files: Sequence[str] = ()
    heldout_files: Sequence[str] = ()
    config: str | None = None


@with_checked_arguments
def trim_vocabulary(
    source: str | Path,
    target: str | Path,
    files: Annotated[Sequence[str | Path], NO_FLAG],
    heldout: Annotated[Sequence[str | Path], NO_FLAG] = (),
    dataset: DatasetConfig | None = None,
    task: Annotated[str, NO_FLAG] = FinetuningConfig.task,
    format: Format = KBERT,
    min_count: Annotated[int, Bounds(1)] = 1,
    vocab_size: int | None = None,
    text_field: str = "text",
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
    overwrite: bool = False,
) -> dict:
    """Writes the checkpoint `source` to `target`, cut to the tokens of some texts.

    Args:
      source, target, format, do_lower_case, allow_unmatched, overwrite: as for `convert`.
      files: the texts that the model is for, as `input_files` gives them; or labelled files and tables.
      heldout: texts to count changes in.
      dataset: the `DatasetConfig` of labelled files; None for plain texts.
      task: the task that the labelled files are of, which has its own forms of them.
      min_count: drop tokens that occur less often than this.
      vocab_size: the most tokens to keep, special tokens included.
      text_field: the key of the text in JSONL files of plain texts.

    Returns:
      dict with `tokens` (before and after), `words` (how the texts are cut) and, where there are held-out
      texts, `heldout`, see `changed_texts`.

    Raises:
      ValueError, OSError: when a file cannot be read, or `target` not written; nothing is left behind then.
    """
    require(bool(files), "files=[] names no texts that the model is for; give one or more.")
    trained, judged = [Path(file) for file in files], [Path(file) for file in heldout]
    inputs = [part for path in (*trained, *judged) for part in source_files(path)]
    formats.require_free(target, overwrite, inputs=[source, *inputs])
    require_text_field(text_field, [] if dataset else inputs)
    if dataset:
        require_files(task)
        for path in (*trained, *judged):
            require_one_split(path)
            check_file(task, path, dataset)
    # TensorFlow loads here, after all checks that do not need it.
    checkpoint = formats.read_checkpoint(source, do_lower_case, allow_unmatched)
    before = require_wordpiece(checkpoint.vocabulary, "kbert trim")
    prompts = _open_prompts(checkpoint, before.rules)
    serving = checkpoint.model_task.serving
    reads_words = serving is not None and "words" in serving.answers
    with plain_texts(trained, dataset, task, text_field, prompts, reads_words) as texts:
        words = _words(texts, before.rules)
    tokens = trim_pieces(before.tokens, _own_tokens(checkpoint, before), words, min_count, vocab_size)
    after = before.with_tokens(tokens)
    if (other := after.other_casing) and not before.other_casing:
        logging.warning("%s: the texts leave a vocabulary in which %s.", target, other.what)
    report = {
        "tokens": {"before": len(before), "after": len(after)},
        "words": _changed_words(words, before, after),
    }
    if judged:
        with plain_texts(judged, dataset, task, text_field, reads_words=reads_words) as texts:
            report["heldout"] = changed_texts(_lines(texts), before, after)
    if report["words"]["before"] != report["words"]["after"]:
        warn_of_chosen(checkpoint, format, "another vocabulary")
    formats.write_checkpoint(
        resizing.with_vocabulary(checkpoint, after), target, format, allow_unmatched, overwrite
    )
    write_json(report, Path(target) / TRIMMING_FILE)
    return report


def define_flags():
    declare_flags(Texts)
    declare_flags(trim_vocabulary, convert, Checkpoint, called=_CALLED)
    define_json_flag()


def main():
    texts, arguments = Texts(**flag_values(Texts)), flag_values(trim_vocabulary, _CALLED)
    files, heldout = _files(texts)
    check_output_folder(arguments["target"], [*files, *heldout, *input_folders(texts.input_files or "")])
    if texts.config:
        config = load_config(FinetuningConfig, texts.config)
        arguments |= {"dataset": config.dataset, "task": config.task}
    report = trim_vocabulary(**arguments, files=files, heldout=heldout)
    print_result(report, _closing(report, arguments["target"]), _before_and_after(report))


def _before_and_after(report) -> str:
    words = report["words"]
    rows = [
        ["", "before", "after"],
        ["tokens", *(f"{report['tokens'][way]:,}" for way in ("before", "after"))],
        ["tokens per word", *(f"{words[way]['tokens_per_word']:.4f}" for way in ("before", "after"))],
        ["unknown words", *(f"{words[way]['unknown']:,}" for way in ("before", "after"))],
    ]
    return text_table(rows)


def _closing(report, target) -> dict:
    words, heldout = report["words"], report.get("heldout")
    values = {"words of the texts": f"{words['running']:,}, {words['different']:,} different"}
    if heldout:
        share, number = heldout["changed_texts"], heldout["texts"]
        changed = f"{round(share * number):,} of {number:,} ({100 * share:.3g}%)"
        values["held-out texts cut differently"] = changed
    return values | {"checkpoint": target, "the same as JSON": Path(target) / TRIMMING_FILE}


def _files(texts: Texts):
    """(the files of the corpus, those held out)."""
    labelled = "--labelled_files (with --config)"
    require_single({"--input_files (texts)": texts.input_files, labelled: texts.labelled_files})
    if bool(texts.labelled_files) != bool(texts.config):
        raise ValueError(
            "--labelled_files and --config belong together: its [dataset] names the columns of texts; give "
            "both or neither."
        )
    if texts.labelled_files:
        return texts.labelled_files, texts.heldout_files
    return input_files(texts.input_files), input_files(texts.heldout_files) if texts.heldout_files else []


@contextlib.contextmanager
def plain_texts(
    files: list[Path], dataset, task: str, text_field: str, prompts=(), reads_words=False
) -> Iterator[Path]:
    """The texts of files, one a line in a temporary file, those of a row together.

    Args:
      files: what to read.
      dataset: the `DatasetConfig` of labelled files, whose texts are read; None for plain texts.
      text_field: the key of the text in JSONL files of plain texts.
      prompts: each is a line with the first word of each text, too.
      task: the task that the labelled files are of.
      reads_words: whether the model reads a text word by word, see `find_words`.
    """
    texts: Iterator = _read_rows(files, dataset, task) if dataset else _read_lines(files, text_field)
    if reads_words and not dataset:
        texts = _word_by_word(texts)
    with tempfile.TemporaryDirectory(prefix="trim_vocabulary_") as folder:
        path = Path(folder) / "texts.txt"
        with path.open("w", encoding="utf-8", newline="\n") as out:
            for words in ([_BETWEEN_SPACES.findall(text) for text in row] for row in texts):
                out.write(" ".join(itertools.chain(*words)) + "\n")
                out.writelines(f"{prompt}{text[0]}\n" for prompt in prompts for text in words if text)
        yield path


def _read_lines(files, text_field):
    problems, text_format = Problems(), TextFormat(text_field=text_field)
    for unit in plan_units(files, UNIT_BYTES):
        yield from ([line.decode("utf-8")] for line in read_unit_lines(unit, text_format, problems))


def _word_by_word(rows):
    """Texts with blanks between their words: £250 is one word of WordPiece, and two of a tagger."""
    import tensorflow as tf

    while batch := [text for (text,) in itertools.islice(rows, _TEXTS_AT_ONCE)]:
        words = text_words.find_words(tf.constant(batch)).words
        joined = tf.strings.reduce_join(words, axis=-1, separator=" ").numpy()
        yield from ([text.decode("utf-8")] for text in joined)


def _read_rows(paths, dataset, task):
    files = require_files(task)
    for path in paths:
        yield from map(files.texts, files.read_examples(path, dataset))


def _words(path, rules):
    words = count_words([path], **vars(rules))
    if not words.counts:
        raise ValueError("the input files hold no words; expected texts such as the model will see.")
    return words.counts


def _open_prompts(checkpoint, rules) -> list[str]:
    """The prompts whose last word may go on with the first of a text."""
    prompts = checkpoint.pooling.prompts.values() if checkpoint.pooling else ()
    return [
        prompt
        for prompt in prompts
        if python_splitter.split_words(f"{prompt}a", **rules.splitting)[-1] != "a"
    ]


def _own_tokens(checkpoint, vocabulary: Vocabulary) -> set[str]:
    """Those that a model needs whatever the texts are: special ones, markers such as [E1], and those of what
    it adds to a text, its prompts and the token that fills a query."""
    own, pooling = set(vocabulary.special_tokens), checkpoint.pooling
    own |= set(filter(is_marker, vocabulary.tokens))
    own |= set(getattr(pooling, "own_tokens", ())) & set(vocabulary.tokens)
    matcher = GreedyMatcher(vocabulary.tokens)
    for prompt in pooling.prompts.values() if pooling else ():
        words = python_splitter.split_words(prompt, **vocabulary.rules.splitting)
        own = own.union(*(matcher(word) or () for word in words))
    return own


def _changed_words(words, before: Vocabulary, after: Vocabulary) -> dict:
    """How the corpus is cut, before and after: running words, tokens a word, unknown words."""
    fits = {}
    for name, vocabulary in (("before", before), ("after", after)):
        covered = coverage(words, vocabulary.tokens)
        fits[name] = {
            "tokens_per_word": round(covered.num_pieces / covered.num_words, 4),
            "unknown": covered.num_unknown,
        }
    return {"running": words.total(), "different": len(words)} | fits


def _lines(path) -> Iterator[str]:
    with open(path, encoding="utf-8") as lines:
        yield from (line.rstrip("\n") for line in lines if line.strip())


def changed_texts(texts: Iterable[str], before: Vocabulary, after: Vocabulary) -> dict:
    """How many texts and words one vocabulary cuts differently from another.

    Args:
      texts: any texts, one by one.
      before, after: the vocabularies.

    Returns:
      dict with `texts`; `changed_texts`, a share of them; `tokens`, those of `before`; `changed_tokens`, the
      share of them in words that are cut differently; and `unknown_words`, before and after.
    """
    import tensorflow as tf

    limit = before.rules.max_input_chars_per_word

    def cutter(vocabulary):
        matcher = GreedyMatcher(vocabulary.tokens)
        return functools.cache(lambda word: matcher(word) if len(word) <= limit else None)

    cut = [cutter(vocabulary) for vocabulary in (before, after)]
    num_texts = num_changed = num_tokens = num_tokens_changed = 0
    unknown = [0, 0]
    texts = iter(texts)
    while batch := list(itertools.islice(texts, _TEXTS_AT_ONCE)):
        for words in word_splitter.split_words(tf.constant(batch), **before.rules.splitting).to_list():
            pairs = [[matcher(word.decode("utf-8")) for matcher in cut] for word in words]
            changed = [old for old, new in pairs if old != new]
            num_texts, num_changed = num_texts + 1, num_changed + bool(changed)
            num_tokens += sum(len(old or "?") for old, _ in pairs)
            num_tokens_changed += sum(len(old or "?") for old in changed)
            for which in (0, 1):
                unknown[which] += sum(pair[which] is None for pair in pairs)
    return {
        "texts": num_texts,
        "changed_texts": num_changed / max(1, num_texts),
        "tokens": num_tokens,
        "changed_tokens": num_tokens_changed / max(1, num_tokens),
        "unknown_words": {"before": unknown[0], "after": unknown[1]},
    }


if __name__ == "__main__":
    define_flags()
    script.run(main)
