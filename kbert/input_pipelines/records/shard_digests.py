"""Checks that the shards of a folder are those that its manifest describes. No TensorFlow."""

from collections.abc import Iterator
from pathlib import Path

from kbert.manifest import Manifest, Shard, digest


def wrong_bytes(directory: str | Path, shard: Shard) -> str | None:
    """A sentence if a shard does not have the bytes that were written; None if it does, or has no digest."""
    if shard.sha256 is None:
        return None
    path = Path(directory) / shard.file
    size = path.stat().st_size
    if size != shard.num_bytes:
        return f"{path} has {size:,} bytes, but its manifest says {shard.num_bytes:,}"
    if digest(path) != shard.sha256:
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
