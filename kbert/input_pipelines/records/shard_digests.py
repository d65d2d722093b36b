"""Checks that the shards of a folder are those that its manifest describes. No TensorFlow."""

from collections.abc import Iterator
from pathlib import Path

from kbert.manifest import Manifest, Shard, digest

_MOST_BYTES_AT_START = 1 << 30  # of a set; SHA-256 takes 1.5 s for them, and a slow disk ten


def require_written_bytes(directory: str | Path, manifest: Manifest):
    """Compares the shards with the manifest: their sizes, and up to a gibibyte in all their digests, too.

    Raises:
      ValueError: naming the first shard that is not what was written, and the place if it is damaged.
    """
    from kbert.input_pipelines.records.damaged_records import check_shard  # late: it brings NumPy along

    sizes = [shard.num_bytes or 0 for shard in manifest.shards]
    with_digests = sum(sizes) <= _MOST_BYTES_AT_START
    for shard in manifest.shards:
        wrong = wrong_bytes(directory, shard, with_digests)
        if wrong is None:
            continue
        damages = check_shard(Path(directory) / shard.file).damages
        if damages:
            raise ValueError(
                f"{damages[0]}; make the records again, or pass --records_errors=skip to leave out damaged "
                "records."
            )
        raise ValueError(f"{wrong}; make the records again.")


def wrong_bytes(directory: str | Path, shard: Shard, with_digest: bool = True) -> str | None:
    """A sentence if a shard does not have the bytes that were written; None if it does, or has no digest."""
    if shard.sha256 is None:
        return None
    path = Path(directory) / shard.file
    size = path.stat().st_size
    if size != shard.num_bytes:
        return f"{path} has {size:,} bytes, but its manifest says {shard.num_bytes:,}"
    if with_digest and digest(path) != shard.sha256:
        return f"{path} does not hold the bytes that were written: its SHA-256 is not that of the manifest"
    return None


def unknown_digests(manifest: Manifest) -> int:
    """The number of shards without a digest in the manifest (older manifests have none)."""
    return sum(shard.sha256 is None for shard in manifest.shards)


def copies(directory: str | Path, manifest: Manifest) -> Iterator[str]:
    """Yields a sentence for each shard without a digest that has the same bytes as an earlier shard.

    Shards are shuffled, so two shards have the same bytes only if one was copied over the other.
    """
    by_size = {}
    for shard in manifest.shards:
        path = Path(directory) / shard.file
        if shard.sha256 is None and path.stat().st_size:
            by_size.setdefault(path.stat().st_size, []).append(path)
    for paths in by_size.values():
        first = {}
        for path in paths if len(paths) > 1 else ():
            earlier = first.setdefault(digest(path), path)
            if earlier != path:
                yield f"{path} holds the same bytes as {earlier}: one was copied over the other"
