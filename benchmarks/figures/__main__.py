"""Writes the tables of figures into README.md and docs/, from the records in docs/figures/.

  python -m benchmarks.figures            # writes what has changed
  python -m benchmarks.figures --check    # writes nothing; exit code 1 where a page differs

A table stands between the lines `<!-- figures: NAME -->` and `<!-- end -->`. Its numbers are those of the
last record in its file, so a new measurement is: run the benchmark with
--figures_file=docs/figures/FILE.jsonl, run this, and read the sentences around the table, which nothing
writes.
"""

import argparse
import sys

from benchmarks.figures.pages import REPOSITORY, pages_of_figures, written_page
from kbert.files.whole_file import write_text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 where a page differs"
    )
    check = parser.parse_args().check
    changed = []
    for page in pages_of_figures():
        path = REPOSITORY / page
        text = written_page(page)
        if text != path.read_text(encoding="utf-8"):
            changed.append(page)
            if not check:
                write_text(text, path)
    for page in changed:
        print(f"{page}: {'is not what the records say' if check else 'written'}")
    return 1 if check and changed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"error: {error}")
