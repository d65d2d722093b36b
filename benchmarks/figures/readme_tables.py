"""The tables of the README: the figures of other pages, in few words."""

from benchmarks.figures.formats import fixed, whole
from benchmarks.figures.grids import table_row
from benchmarks.figures.records import figure, last_record
from benchmarks.figures.result_tables import filled

# Label, task of the record, kbert (k), Hugging Face (h).
_SCORES = (
    ("SST-2, all rows, accuracy", "sst2", "{k[accuracy]}", "{h[accuracy]}"),
    ("MRPC, accuracy / F1", "mrpc", "{k[accuracy]} / {k[f1]} (mean of 3 seeds)", "{h[accuracy]} / {h[f1]}"),
    ("CoLA, Matthews", "cola", "{k[matthews]} (mean of 3 seeds)", "{h[matthews_1]}, {h[matthews_2]}"),
    ("STS-B, Pearson / Spearman", "stsb", "{k[pearson]} / {k[spearman]} (mean of 3 seeds)",
     "{h[pearson_1]} / {h[spearman_1]}, {h[pearson_2]} / {h[spearman_2]}"),
    ("CoNLL-2003, entity F1", "conll2003", "{k[f1]}", "{h[f1]}"),
    ("SQuAD v1.1, 6,000 questions, EM / F1", "squad_v1",
     "{k[exact_match]} / {k[f1]} (mean of 3 seeds)", "{h[exact_match]} / {h[f1]}"),
)  # fmt: skip
_SERVING = "[serving speed](docs/serving_speed.md)"
_BEHIND = ", **behind**"


def readme_scores():
    """(lines, records); so is the other."""
    lines = [table_row("task", "kbert", "Hugging Face"), "|---|---|---|"]
    records = [last_record("results", task) for _, task, _, _ in _SCORES]
    for record, (label, _, *texts) in zip(records, _SCORES, strict=True):
        lines.append(table_row(label, *filled(record, *texts)))
    return lines, records


def readme_speed():
    data, served = map(last_record, ("pretraining_data", "serving_minilm"))
    tuned = [last_record(f"finetuning_sst2_{name}") for name in ("bfloat16", "without_amx")]
    lines = [
        table_row("what", "kbert", "best other", "page"),
        "|---|---|---|---|",
        _pretraining_data(data),
        *map(_finetuning, tuned),
        _serving(served, "batch of 32", "32"),
        _serving(served, "one text", "1"),
    ]
    return lines, [data, *tuned, served]


def _pretraining_data(record):
    own, original, other = (
        figure(record, name, "seconds") for name in ("kbert", "original", "Hugging Face (no pairs)")
    )
    return table_row(
        "pretraining records, 27 MB of text five times over",
        f"{fixed(own)} s{_BEHIND if own > min(original, other) else ''}",
        f"{fixed(original)} s, original script; Hugging Face, without pairs, {whole(other)} s",
        "[measured](docs/measured.md)",
    )


def _finetuning(record):
    rate = "examples_per_second"
    own = figure(record, "kbert/bfloat16", rate)
    best = max((name for name in record["rows"] if not name.startswith("kbert/")),
               key=lambda name: figure(record, name, rate))  # fmt: skip
    other = figure(record, best, rate)
    options = "".join({"grouped": ", grouped", "compile": ", compiled"}[option]
                      for option in best.partition("/")[0].split("+")[1:])  # fmt: skip
    amx = "with" if "AMX" in record["machine"]["bfloat16"] else "without"
    return table_row(
        f"fine-tuning MiniLM on SST-2, bfloat16, {amx} AMX",
        f"{whole(own)} examples/s{_BEHIND if own < other else ''}",
        f"{whole(other)}, Hugging Face{options}",
        "[benchmarks](docs/benchmarks.md)",
    )


def _serving(record, label, batch):
    own = figure(record, "kbert/bfloat16", "medians", batch)
    best = min((name for name in record["rows"] if not name.startswith("kbert/")),
               key=lambda name: figure(record, name, "medians", batch))  # fmt: skip
    other = figure(record, best, "medians", batch)
    name = best.replace("onnx_runtime/", "ONNX Runtime ").replace("hugging_face/", "Hugging Face ")
    return table_row(
        f"serving MiniLM, `--precision=bfloat16`, {label}",
        f"{fixed(own)} ms{_BEHIND if own > other else ''}",
        f"{whole(other) if other >= 100 else fixed(other)} ms, {name}",
        _SERVING,
    )
