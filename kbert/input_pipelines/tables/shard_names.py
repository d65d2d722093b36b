"""The files of a pattern, by their names: those of one split, and all of them."""

import collections
import fnmatch
import os
import re
from collections.abc import Sequence
from pathlib import Path

# Words in names of files and folders, as `datasets` looks for them -> the split.
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
_SHARD = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<total>\d{5})(?P<ending>\D.*)?")


def require_one_split(pattern: str | Path, files: Sequence[Path]):
    """Raises ValueError where a pattern takes files of several splits, shards of several writings, or not all
    shards that it means. A pattern that leaves numbers out, such as `train-0000[0-4]-*`, means the others."""
    folder = os.path.commonpath([file.parent for file in files])
    splits = {_split(file.relative_to(folder)): file for file in files}
    splits.pop(None, None)
    if len(splits) > 1:
        first, other, *_ = splits.values()
        raise ValueError(
            f"{pattern} takes files of several splits, such as {first} and {other}; give a pattern of one "
            "split, or put the rows that you want into one file."
        )
    totals = collections.defaultdict(set)
    for file in files:
        if shard := _SHARD.fullmatch(file.name):
            totals[file.parent, shard["stem"], shard["ending"] or ""].add(int(shard["total"]))
    for (folder, stem, ending), (total, *others) in totals.items():
        if others:
            raise ValueError(
                f"{pattern} takes shards of {stem} that were written as {total} and as {others[0]} files; "
                "remove those of the older writing, or name one by the pattern."
            )
        names = [f"{stem}-{number:05d}-of-{total:05d}{ending}" for number in range(total)]
        for name in names:
            if not (folder / name).exists() and fnmatch.fnmatch(name, Path(pattern).name):
                raise ValueError(
                    f"{folder / name} is missing among the {total} files of {pattern}; get it, or give a "
                    f"pattern of the numbers to take, such as '{stem}-0000[0-4]-of-{total:05d}{ending}'."
                )


def _split(file):
    """The split that its name, or else the nearest folder, speaks of; None where none does."""
    for name in reversed(file.parts):
        for word in re.split(r"[^a-z]+", name.lower()):
            if word in _SPLITS:
                return _SPLITS[word]
    return None
