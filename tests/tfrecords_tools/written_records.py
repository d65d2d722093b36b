"""Folders of records that tests write batch by batch."""

from kbert.manifest import Manifest, describe_shards
from tfrecords_tools.records.record_writer import ShardWriter, record_folder
from tfrecords_tools.records.statistics_page import write_statistics
from tfrecords_tools.records.tfrecord_files import encode_examples


def write_records(
    output_dir,
    batches,
    kind,
    features,
    vocabulary,
    num_shards,
    compression="none",
    settings=None,
    counted=None,
    overwrite=False,
) -> Manifest:
    """Writes batches of columns as a complete set, with the page of statistics where they are `counted`."""
    with record_folder(output_dir, overwrite) as folder:
        vocabulary.write(folder / "vocab.txt")
        with ShardWriter(folder, kind, num_shards, compression, None) as shards:
            for batch in batches:
                shards.write(encode_examples(batch, features))
        shards = describe_shards(folder, shards.num_examples)
        manifest = Manifest(kind, features, shards, vocabulary.describe(), settings or {}, {"documents": 12})
        if counted is not None:
            write_statistics(folder, manifest, counted)
        manifest.write(folder)
    return manifest
