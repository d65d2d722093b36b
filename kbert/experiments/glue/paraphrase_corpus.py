"""MRPC as its authors publish it -> GLUE's training and development files. Standard library only.

GLUE may not pass the corpus on: who downloads it has `msr_paraphrase_train.txt`, and a list of pairs of ids
that says which of its rows are the development file.
"""

from pathlib import Path

from kbert.files.whole_file import write_text

RAW_TRAIN = "msr_paraphrase_train.txt"
_DEV_IDS = ("dev_ids.tsv", "mrpc_dev_ids.tsv")


def find_dev_ids(folder) -> Path | None:
    """GLUE's list of the pairs of ids of the development file, or None where there is none."""
    return next((path for name in _DEV_IDS if (path := Path(folder) / name).is_file()), None)


def write_split(folder, output_dir) -> tuple[Path, Path]:
    """Writes train.tsv and dev.tsv; rows stay as they are.

    Args:
      folder: holds `msr_paraphrase_train.txt` and the list of ids.
      output_dir: is made where it is missing.

    Returns:
      The paths of the two files.

    Raises:
      ValueError: for a row without two ids, and for listed ids that the corpus does not have.
    """
    dev_ids = find_dev_ids(folder)
    wanted = {_ids(line.split("\t"), dev_ids, place) for place, line in enumerate(_lines(dev_ids), start=1)}
    header, *rows = _lines(Path(folder) / RAW_TRAIN)
    train, dev = [header], [header]
    found = set()
    for number, row in enumerate(rows, start=2):
        ids = _ids(row.split("\t")[1:], Path(folder) / RAW_TRAIN, number)
        found.add(ids)
        (dev if ids in wanted else train).append(row)
    if missing := sorted(wanted - found):
        raise ValueError(
            f"{dev_ids} lists {len(missing)} pair(s) that {RAW_TRAIN} does not have, such as "
            f"{' '.join(missing[0])}; take both from the same release."
        )
    output_dir = Path(output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    paths = output_dir / "train.tsv", output_dir / "dev.tsv"
    for lines, path in zip((train, dev), paths, strict=True):
        write_text("".join(f"{line}\n" for line in lines), path)
    return paths


def _lines(path):
    """Lines that are not blank, without line ends; a byte order mark is no part of the first."""
    text = path.read_bytes().decode("utf-8-sig")
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


def _ids(cells, path, number):
    if len(cells) < 2:
        raise ValueError(f"{path} line {number}: expected a pair of ids with a tab between them.")
    return cells[0].strip(), cells[1].strip()
