"""The same rows as JSON lines and as every kind of table, written with pyarrow alone."""

import json

import pyarrow as pa
from pyarrow import parquet


def write_parquet(path, table, **options):
    parquet.write_table(table, path, **options)
    return path


def write_stream(path, table, rows_of_a_batch=2):
    """Arrow's stream format, which `datasets` writes."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows_of_a_batch)
    return path


def write_arrow_file(path, table):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


def write_folder(folder, table, num_shards=2):
    """What `save_to_disk` writes: shards in Arrow's stream format, their names in state.json."""
    folder.mkdir(parents=True)
    cuts = [table.num_rows * shard // num_shards for shard in range(num_shards + 1)]
    names = [f"data-{shard:05d}-of-{num_shards:05d}.arrow" for shard in range(num_shards)]
    for name, start, end in zip(names, cuts, cuts[1:], strict=False):
        write_stream(folder / name, table.slice(start, end - start))
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0", "_split": None}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")
    return folder


def write_shards(folder, table):
    """Parquet as the hub has it; gives the pattern that names the shards."""
    folder.mkdir(parents=True)
    half = table.num_rows // 2
    write_parquet(folder / "train-00000-of-00002.parquet", table.slice(0, half))
    write_parquet(folder / "train-00001-of-00002.parquet", table.slice(half))
    return folder / "train-*.parquet"


def with_features(table, features: dict):
    """The table with the features that `datasets` keeps in the metadata of a schema."""
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return table.replace_schema_metadata(metadata)


def every_kind(folder, table):
    """The same rows five times: name of the kind -> path."""
    return {
        "parquet": write_parquet(folder / "rows.parquet", table),
        "shards": write_shards(folder / "hub", table),
        "stream": write_stream(folder / "stream.arrow", table),
        "file": write_arrow_file(folder / "file.arrow", table),
        "folder": write_folder(folder / "saved", table),
    }


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
