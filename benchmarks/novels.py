r"""Makes text to pretrain on and a task of it: from which of the novels is a paragraph?

  python -m benchmarks.novels --input_files='novels/*.txt' --output_dir=task

A novel is a file with a paragraph a line and an empty line between chapters. Every fifth chapter is held out:
its paragraphs are the dev rows, and nobody reads it in pretraining. A novel of fewer chapters is left out.
pairs.tsv and pairs_dev.tsv have neighbouring paragraphs of the other chapters.
"""

import glob
import random
from pathlib import Path

from absl import flags

from kbert.cli import script

FLAGS = flags.FLAGS
_HELD_OUT_EVERY, _FEWEST_CHARACTERS, _DEV_PAIRS = 5, 200, 500


def define_flags():
    flags.DEFINE_string("input_files", None, "The novels.")
    flags.DEFINE_string("output_dir", None, "Gets text/, heldout/ and the TSV files.")
    flags.DEFINE_integer("train_rows", 30, "Paragraphs of a novel in train.tsv, at most.", lower_bound=1)
    flags.DEFINE_integer("dev_rows", 40, "Paragraphs of a novel in dev.tsv, at most.", lower_bound=1)
    flags.DEFINE_integer(
        "words",
        0,
        "Make rows of so many words; 0: of a paragraph each.",
        lower_bound=0,
    )
    flags.mark_flags_as_required(["input_files", "output_dir"])


def main():
    random_generator, folder = random.Random(1), Path(FLAGS.output_dir)
    rows: dict = {"train": [], "dev": []}
    pairs: list = []
    read = {path: split(read_chapters(path)) for path in map(Path, sorted(glob.glob(FLAGS.input_files)))}
    novels = {path: chapters for path, chapters in read.items() if all(chapters)}
    for path, (kept, held_out) in novels.items():
        for name, chapters, most in (("train", kept, FLAGS.train_rows), ("dev", held_out, FLAGS.dev_rows)):
            texts = excerpts(chapters, FLAGS.words) if FLAGS.words else long_paragraphs(chapters)
            chosen = random_generator.sample(texts, min(most, len(texts)))
            rows[name] += [(path.stem, text) for text in chosen]
        for chapter in kept:
            paragraphs = long_paragraphs([chapter])
            pairs += zip(paragraphs[::2], paragraphs[1::2], strict=False)
    if not pairs:
        raise ValueError(
            f"--input_files={FLAGS.input_files} names no novel of {_HELD_OUT_EVERY} chapters or more; "
            "expected text with a paragraph a line and an empty line between chapters."
        )
    if not all(rows.values()):
        raise ValueError(f"--words={FLAGS.words} is more than a chapter has; expected fewer.")
    for path, (kept, held_out) in novels.items():
        write_chapters(folder / "text" / path.name, kept)
        write_chapters(folder / "heldout" / path.name, held_out)
    for several in (*rows.values(), pairs):
        random_generator.shuffle(several)
    for name, labelled in rows.items():
        write_table(folder / f"{name}.tsv", "label\ttext", labelled)
    write_table(folder / "pairs.tsv", "text\ttext_pair", pairs[:-_DEV_PAIRS])
    write_table(folder / "pairs_dev.tsv", "text\ttext_pair", pairs[-_DEV_PAIRS:])


def read_chapters(path: Path) -> list[list[str]]:
    """The paragraphs of each chapter."""
    chapters = path.read_text(encoding="utf-8").split("\n\n")
    lines = [[line.strip() for line in chapter.splitlines() if line.strip()] for chapter in chapters]
    return [chapter for chapter in lines if chapter]


def split(chapters: list) -> tuple[list, list]:
    """Those to train on, and every fifth."""
    kept = [chapter for number, chapter in enumerate(chapters, 1) if number % _HELD_OUT_EVERY]
    return kept, chapters[_HELD_OUT_EVERY - 1 :: _HELD_OUT_EVERY]


def write_chapters(path: Path, chapters):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join("\n".join(chapter) for chapter in chapters) + "\n", encoding="utf-8")


def write_table(path: Path, header: str, rows: list[tuple[str, str]]):
    path.write_text("\n".join([header, *map("\t".join, rows)]) + "\n", encoding="utf-8")
    print(f"{path}: {len(rows):,} rows")


def long_paragraphs(chapters) -> list[str]:
    paragraphs = [plain(paragraph) for chapter in chapters for paragraph in chapter]
    return [paragraph for paragraph in paragraphs if len(paragraph) >= _FEWEST_CHARACTERS]


def excerpts(chapters, num_words: int) -> list[str]:
    """Paragraphs of a chapter that follow each other, together `num_words` long; what is left is dropped."""
    texts = []
    for chapter in chapters:
        words: list[str] = []
        for paragraph in chapter:
            words += plain(paragraph).split()
            if len(words) >= num_words:
                texts.append(" ".join(words[:num_words]))
                words = []
    return texts


def plain(text: str) -> str:
    """Without tabs and quotation marks, which mean something in TSV files."""
    return text.replace("\t", " ").replace('"', "'")


if __name__ == "__main__":
    define_flags()
    script.run(main)
