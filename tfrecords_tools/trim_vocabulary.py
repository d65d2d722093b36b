r"""Script: checkpoint + texts -> the same model with only the tokens that such texts need.

  kbert trim --from=runs/sst2 --to=runs/sst2_trimmed \
      --config=configs/finetuning/sst2.toml --labelled_files=sst2/train.tsv --heldout_files=sst2/dev.tsv
  kbert trim --from=bert-base-uncased --to=reviews_bert \
      --input_files='reviews/*.txt' --vocab_size=8000

Predictions on the texts stay the same, unless --min_count or --vocab_size drops some of their tokens. For
other texts --heldout_files says how many get other tokens (docs/distillation.md).
"""

import contextlib
import functools
import itertools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from absl import flags

from kbert.checkpoints import FORMATS
from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.config import FinetuningConfig, load_config
from kbert.config.checks import require_single
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import write_json
from kbert.input_pipelines.tables.table_paths import names_table, source_files
from kbert.reports.text_table import text_table
from kbert.tokenization.vocabulary import Vocabulary, require_wordpiece
from tfrecords_tools.corpus.corpus_files import input_files, input_folders
from tfrecords_tools.corpus.documents import TextFormat, plan_units, read_unit_lines
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.vocabulary.greedy_match import coverage
from tfrecords_tools.vocabulary.trimming import trim_pieces
from tfrecords_tools.vocabulary.word_counter import UNIT_BYTES, count_words

FLAGS = flags.FLAGS
_TEXTS_AT_ONCE = 1000
_REPORT_FILE = "trimming.json"  # in the new folder


def define_flags():
    flags.DEFINE_string("from", None, "The checkpoint to read, as for kbert convert.")
    flags.DEFINE_string("to", None, "The folder to make.")
    flags.DEFINE_enum("format", "kbert", FORMATS, "The format to write.")
    flags.DEFINE_string(
        "input_files", None, "Texts: text or JSONL files, directories and globs, separated by commas."
    )
    flags.DEFINE_list(
        "labelled_files",
        [],
        "Instead: labelled TSV, CSV, JSONL or .parquet files, or folders of `datasets`; needs --config.",
    )
    flags.DEFINE_list(
        "heldout_files",
        [],
        "Files of the same kind; the report says how many of their texts get other tokens.",
    )
    flags.DEFINE_string("config", None, "A fine-tuning config, whose [dataset] names the columns.")
    flags.DEFINE_string("text_field", "text", "The key of the text in JSONL files of --input_files.")
    flags.DEFINE_integer("min_count", 1, "Drop tokens that occur less often than this.", lower_bound=1)
    flags.DEFINE_integer("vocab_size", None, "The most tokens to keep, special tokens included.")
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the checkpoint does not record the casing.",
    )
    flags.DEFINE_list("allow_unmatched", [], "As for kbert convert.")
    flags.DEFINE_bool("overwrite", False, "Replace an earlier conversion in --to.")
    define_json_flag()
    flags.mark_flags_as_required(["from", "to"])


def trim_vocabulary(
    source,
    target,
    files,
    heldout=(),
    dataset=None,
    format="kbert",
    min_count=1,
    vocab_size=None,
    text_field="text",
    do_lower_case=None,
    allow_unmatched=(),
    overwrite=False,
) -> dict:
    """Writes the checkpoint `source` to `target`, cut to the tokens of some texts.

    Args:
      source, target, format, do_lower_case, allow_unmatched, overwrite: as for `convert_checkpoint`.
      files: the texts that the model is for, as `input_files` gives them.
      heldout: texts to count changes in.
      dataset: the `DatasetConfig` of labelled files; None for plain texts.
      min_count, vocab_size: see `trim_pieces`.
      text_field: the key of the text in JSONL files of plain texts.

    Returns:
      dict with `tokens` (before and after), `words` (how the texts are cut) and, where there are held-out
      texts, `heldout`, see `changed_texts`.

    Raises:
      ValueError, OSError: when a file cannot be read, or `target` not written; nothing is left behind then.
    """
    # TensorFlow loads here, after all checks that do not need it.
    from kbert.checkpoints.conversion.resizing import with_vocabulary
    from kbert.checkpoints.formats import read_checkpoint, require_free, write_checkpoint

    require_free(target, overwrite, inputs=[source, *files, *heldout])
    checkpoint = read_checkpoint(source, do_lower_case, allow_unmatched)
    before = require_wordpiece(checkpoint.vocabulary, "kbert trim")
    with plain_texts(files, dataset, text_field) as texts:
        words = _words(texts, before.rules)
    tokens = trim_pieces(before.tokens, before.special_tokens, words, min_count, vocab_size)
    after = before.with_tokens(tokens)
    report = {
        "tokens": {"before": len(before), "after": len(after)},
        "words": _changed_words(words, before, after),
    }
    if heldout:
        with plain_texts(heldout, dataset, text_field) as texts:
            report["heldout"] = changed_texts(_lines(texts), before, after)
    write_checkpoint(with_vocabulary(checkpoint, after), target, format, allow_unmatched, overwrite)
    write_json(report, Path(target) / _REPORT_FILE)
    return report


def main():
    files, heldout = _files()
    check_output_folder(FLAGS.to, [*files, *heldout, *input_folders(FLAGS.input_files or "")])
    dataset = load_config(FinetuningConfig, FLAGS.config).dataset if FLAGS.config else None
    if dataset:
        for file in (*files, *heldout):
            next(_read_rows([file], dataset), None)  # raises where a column is missing
    report = trim_vocabulary(
        FLAGS["from"].value,
        FLAGS.to,
        files,
        heldout,
        dataset,
        FLAGS.format,
        FLAGS.min_count,
        FLAGS.vocab_size,
        FLAGS.text_field,
        FLAGS.do_lower_case,
        FLAGS.allow_unmatched,
        FLAGS.overwrite,
    )
    print_result(report, _closing(report), _before_and_after(report))


def _before_and_after(report) -> str:
    words = report["words"]
    rows = [
        ["", "before", "after"],
        ["tokens", *(f"{report['tokens'][way]:,}" for way in ("before", "after"))],
        ["tokens per word", *(f"{words[way]['tokens_per_word']:.4f}" for way in ("before", "after"))],
        ["unknown words", *(f"{words[way]['unknown']:,}" for way in ("before", "after"))],
    ]
    return text_table(rows)


def _closing(report) -> dict:
    words, heldout = report["words"], report.get("heldout")
    values = {"words of the texts": f"{words['running']:,}, {words['different']:,} different"}
    if heldout:
        changed = f"{heldout['changed_texts']:.2%} of {heldout['texts']:,}"
        values["held-out texts cut differently"] = changed
    return values | {"checkpoint": FLAGS.to, "the same as JSON": Path(FLAGS.to) / _REPORT_FILE}


def _files():
    """(the files of the corpus, those held out)."""
    labelled = "--labelled_files (with --config)"
    require_single({"--input_files (texts)": FLAGS.input_files, labelled: FLAGS.labelled_files})
    if bool(FLAGS.labelled_files) != bool(FLAGS.config):
        raise ValueError("--labelled_files needs a --config, whose [dataset] names the columns of texts.")
    find = labelled_texts if FLAGS.labelled_files else input_files
    files = find(FLAGS.labelled_files or FLAGS.input_files)
    return files, find(FLAGS.heldout_files) if FLAGS.heldout_files else []


def labelled_texts(paths: list[str]) -> list[Path]:
    """The files of labelled texts: those of tables, and what `input_files` finds."""
    tables = [file for path in paths if names_table(path) for file in source_files(path)]
    others = [path for path in paths if not names_table(path)]
    return tables + (input_files(others) if others else [])


@contextlib.contextmanager
def plain_texts(files: list[Path], dataset, text_field: str = "text") -> Iterator[list[Path]]:
    """The texts of files, one a line in a temporary file.

    Args:
      files: what to read.
      dataset: the `DatasetConfig` of labelled files, whose columns of texts are read; None for plain texts.
      text_field: the key of the text in JSONL files of plain texts.
    """
    texts = _read_lines(files, text_field) if dataset is None else _read_rows(files, dataset)
    with tempfile.TemporaryDirectory(prefix="trim_vocabulary_") as folder:
        path = Path(folder) / "texts.txt"
        with path.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(" ".join(text.split()) + "\n" for text in texts)
        yield [path]


def _read_lines(files, text_field):
    problems, text_format = Problems(), TextFormat(text_field=text_field)
    for unit in plan_units(files, UNIT_BYTES):
        yield from (line.decode("utf-8") for line in read_unit_lines(unit, text_format, problems))


def _read_rows(files, dataset):
    from kbert.input_pipelines.labelled_files import stream_records, text_cell

    columns = [
        name for name in (dataset.text, dataset.text_pair, *dataset.choices, *dataset.negatives) if name
    ]
    for file in files:
        for where, record in stream_records(file, dataset, columns, with_labels=False):
            yield " ".join(text_cell(record, name, where) for name in columns)


def _words(files, rules):
    words = count_words(files, **vars(rules))
    if not words.counts:
        raise ValueError("the input files hold no words; expected texts such as the model will see.")
    return words.counts


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


def _lines(files) -> Iterator[str]:
    for file in files:
        with open(file, encoding="utf-8") as lines:
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

    from kbert.tokenization.word_splitter import split_words
    from tfrecords_tools.vocabulary.greedy_match import GreedyMatcher

    cut = [functools.cache(GreedyMatcher(vocabulary.tokens)) for vocabulary in (before, after)]
    num_texts = num_changed = num_tokens = num_tokens_changed = 0
    unknown = [0, 0]
    texts = iter(texts)
    while batch := list(itertools.islice(texts, _TEXTS_AT_ONCE)):
        for words in split_words(tf.constant(batch), **before.rules.splitting).to_list():
            pairs = [[matcher(word.decode("utf-8")) for matcher in cut] for word in words]
            changed = [old for old, new in pairs if old != new]
            num_texts, num_changed = num_texts + 1, num_changed + bool(changed)
            num_tokens += sum(len(old or "?") for old, _ in pairs)
            num_tokens_changed += sum(len(old or "?") for old in changed)
            for which in (0, 1):
                unknown[which] += sum(pair[which] is None for pair in pairs)
    return {
        "texts": num_texts,
        "changed_texts": round(num_changed / max(1, num_texts), 4),
        "tokens": num_tokens,
        "changed_tokens": round(num_tokens_changed / max(1, num_tokens), 4),
        "unknown_words": {"before": unknown[0], "after": unknown[1]},
    }


if __name__ == "__main__":
    define_flags()
    script.run(main)
