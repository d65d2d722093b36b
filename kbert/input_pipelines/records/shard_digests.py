"""Checks that the shards of a folder are those that its manifest describes. No TensorFlow."""

from pathlib import Path

from kbert.manifest import Manifest, Shard, digest

_MOST_BYTES_AT_START = 1 << 30  # of a set; SHA-256 takes 1.5 s for them, and a slow disk ten


def require_written_bytes(directory: str | Path, manifest: Manifest):
    """Compares the shards with the manifest: their sizes, and up to a gibibyte in all their digests, too.

    Raises:
      ValueError: naming the first shard that is not what was written, and the place if it is damaged.
    """
    from kbert.input_pipelines.records.damaged_records import check_shard  # late: it brings NumPy along

    with_digests = sum(shard.num_bytes for shard in manifest.shards) <= _MOST_BYTES_AT_START
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
    """A sentence if a shard does not have the bytes that were written; None if it does."""
    path = Path(directory) / shard.file
    size = path.stat().st_size
    if size != shard.num_bytes:
        return f"{path} has {size:,} bytes, but its manifest says {shard.num_bytes:,}"
    if with_digest and digest(path) != shard.sha256:
        return f"{path} does not hold the bytes that were written: its SHA-256 is not that of the manifest"
    return None
