"""Writes the tables of figures into README.md and docs/, from the records in docs/figures/.

  python -m benchmarks.figures.write_tables            # writes what has changed
  python -m benchmarks.figures.write_tables --check    # writes nothing; fails where a page differs

A table stands between the lines `<!-- figures: NAME -->` and `<!-- end -->`. Its numbers are those of the
last record in its file, so a new measurement is: run the benchmark with
--figures_file=docs/figures/FILE.jsonl, run this, and read the sentences around the table, which nothing
writes.
"""

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.figures.pages import pages_of_figures, written_page
from kbert import command_line
from kbert.files.whole_file import write_text

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_bool("check", False, "Write nothing, and fail where a page is not what would be written.")


def main(argv):
    del argv
    pages = {page: written_page(page) for page in pages_of_figures()}
    changed = [
        page for page, text in pages.items() if text != (REPOSITORY / page).read_text(encoding="utf-8")
    ]
    if FLAGS.check and changed:
        raise ValueError(
            f"{', '.join(changed)}: the tables are not what docs/figures/ says; run python -m "
            "benchmarks.figures.write_tables."
        )
    for page in changed:
        write_text(pages[page], REPOSITORY / page)
        print(f"{page}: written")


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
