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
# Older versions of `datasets` put a number of each shard's contents behind it.
_SHARD = re.compile(
    r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<total>\d{5})(?P<contents>-[0-9a-f]{16})?(?P<ending>\D.*)?"
)


def require_one_split(pattern: str | Path, files: Sequence[Path]):
    """Raises ValueError where a pattern takes files of several splits."""
    folder = os.path.commonpath([file.parent for file in files])
    splits = {_split(file.relative_to(folder)): file for file in files}
    splits.pop(None, None)
    if len(splits) > 1:
        first, other, *_ = splits.values()
        raise ValueError(
            f"{pattern} takes files of several splits, such as {first} and {other}; give a pattern of one "
            "split, or put the rows that you want into one file."
        )


def require_all_shards(pattern: str | Path, files: Sequence[Path]):
    """Raises ValueError where a pattern takes shards of several writings, or not all shards that it means. A
    pattern that leaves numbers out, such as `train-0000[0-4]-*`, means the others."""
    sets = collections.defaultdict(list)
    for file in files:
        if shard := _SHARD.fullmatch(file.name):
            sets[file.parent, shard["stem"], shard["ending"] or ""].append(shard)
    for (folder, stem, ending), shards in sets.items():
        totals = sorted({shard["total"] for shard in shards})
        numbers = {int(shard["number"]) for shard in shards}
        if len(totals) > 1 or len(numbers) < len(shards):
            raise ValueError(
                f"{pattern} takes shards of {stem} that were written more than once, such as "
                f"{shards[0].string} and {shards[-1].string}; remove those of the older writing, or name one "
                "by the pattern."
            )
        total, contents = totals[0], shards[0]["contents"] or ""
        missing = sorted({*range(int(total))} - numbers) if len(numbers) < int(total) else []
        for number in missing:
            name = f"{stem}-{number:05d}-of-{total}"
            if fnmatch.fnmatch(f"{name}{contents}{ending}", Path(pattern).name):
                raise ValueError(
                    f"{name} is missing among the {int(total)} files of {pattern} in {folder}; get it, or "
                    f"give a pattern of the numbers to take, such as '{stem}-0000[0-4]-of-{total}*'."
                )


def _split(file):
    """The split that its name, or else the nearest folder, speaks of; None where none does."""
    for name in reversed(file.parts):
        for word in re.split(r"[^a-z]+", name.lower()):
            if word in _SPLITS:
                return _SPLITS[word]
    return None
