"""The table of scores on real data: a row for each task, with the figures of its record."""

from benchmarks.figures.formats import bare
from benchmarks.figures.grids import table_row
from benchmarks.figures.records import last_record

_BOTH = "`--config=configs/finetuning/sst2.toml --override=num_train_epochs=1`"
_SCHEDULE = "and its schedule (below)"
_NER = "[words on frozen features](feature_based_ner.md)"

# Task of the record: label, recipe, kbert (k), Hugging Face (h), command.
ROWS = {
    "cola": (
        "CoLA (8,551 sentences)", "3 epochs, batch 32, length 64",
        "Matthews {k[matthews]} ± {k[matthews_deviation]} (three seeds)",
        "{h[matthews_1]}, {h[matthews_2]} (two seeds)",
        "`kbert glue --tasks=cola,mrpc,rte --seeds=1,2,3`",
    ),
    "mrpc": (
        "MRPC (3,667 pairs)", "3 epochs, batch 32, length 128",
        "accuracy {k[accuracy]} ± {k[accuracy_deviation]}, F1 {k[f1]} ± {k[f1_deviation]} (three seeds)",
        "{h[accuracy]}, {h[f1]}", "the same",
    ),
    "rte": (
        "RTE (2,490 pairs)", "3 epochs, batch 32, length 256",
        "accuracy {k[accuracy]} ± {k[accuracy_deviation]} (three seeds, one at the majority class)",
        "{h[accuracy_1]}, {h[accuracy_2]} (two seeds)", "the same",
    ),
    "sms_spam": (
        "SMS spam (4,000 messages)", "2 epochs, batch 32, length 64",
        "accuracy {k[accuracy]} ± {k[accuracy_deviation]}, F1 {k[f1]} ± {k[f1_deviation]} (three seeds)",
        "{h[accuracy_1]} and {h[f1_1]}, {h[accuracy_2]} and {h[f1_2]} (two seeds)",
        "`--config=configs/finetuning/sms_spam.toml --override=max_seq_length=64`",
    ),
    "sst2_16000": (
        "SST-2 (the first 16,000 sentences)", "1 epoch, batch 32, length 64",
        "accuracy {k[accuracy]} ± {k[accuracy_deviation]} (three seeds)", "{h[accuracy]}", _BOTH,
    ),
    "sst2": (
        "SST-2 (all 67,349 phrases and sentences)", "1 epoch, batch 32, length 64",
        "accuracy {k[accuracy]}, F1 {k[f1]}", "{h[accuracy]}", "the same",
    ),
    "sick": (
        "SICK (8,000 pairs)", "3 epochs, batch 32, length 128",
        "accuracy {k[accuracy]} ± {k[accuracy_deviation]} (three seeds)", "{h[accuracy]}",
        "`--config=configs/finetuning/sick.toml --override=max_seq_length=128`",
    ),
    "stsb": (
        "STS-B (5,749 pairs)", "4 epochs, batch 32, length 128",
        "Pearson {k[pearson]} ± {k[pearson_deviation]}, Spearman {k[spearman]} ± {k[spearman_deviation]} "
        "(three seeds)",
        "{h[pearson_1]} and {h[spearman_1]}, {h[pearson_2]} and {h[spearman_2]} (two seeds)",
        f"`--config=configs/finetuning/stsb.toml` {_SCHEDULE}",
    ),
    "codah": (
        "CODAH (1,665 questions)", "3 epochs, batch 8, length 128",
        "accuracy {k[accuracy]} ± {k[accuracy_deviation]} (three seeds)", "{h[accuracy]}",
        f"`--config=configs/finetuning/codah.toml` {_SCHEDULE}",
    ),
    "conll2003": (
        "CoNLL-2003 (14,041 sentences)", "3 epochs, batch 32, length 128",
        "F1 {k[f1]}, precision {k[precision]}, recall {k[recall]}; strict F1 {k[strict_f1]}",
        "F1 {h[f1]}, precision {h[precision]}, recall {h[recall]}",
        "`--config=configs/finetuning/conll2003_minilm.toml`",
    ),
    "conll2003_features": (
        "CoNLL-2003, 3,000 sentences, a frozen encoder under a BiLSTM", "6 epochs, batch 32, float32",
        "F1 {k[f1_last_four]} from the last four layers side by side, {k[f1_embeddings]} from the embeddings "
        f"(two seeds; all rows in {_NER})",
        "not measured", "`kbert feature-ner --config=configs/finetuning/conll2003_features_minilm.toml`",
    ),
    "squad_v1": (
        "SQuAD v1.1 (6,000 questions of `squad_v1` and SQuADShifts' new Wikipedia)",
        "2 epochs, batch 16, length 384",
        "EM {k[exact_match]} ± {k[exact_match_deviation]}, F1 {k[f1]} ± {k[f1_deviation]} (three seeds); "
        "with the original's schedule {k[exact_match_linear]}, {k[f1_linear]} (one seed)",
        "EM {h[exact_match]}, F1 {h[f1]} (one seed)", "`--config=configs/finetuning/squad_v1_minilm.toml`",
    ),
    "squad_v2": (
        "SQuAD v2.0 (3,200 questions, 348 of them unanswerable)", "2 epochs, batch 16, length 384",
        "best F1 {k[best_f1]}; at threshold 0 EM {k[exact_match]}, F1 {k[f1]}; always answered F1 "
        "{k[f1_answered]}; answering nothing {k[f1_nothing]}",
        "{h[best_f1]}; {h[exact_match]}, {h[f1]}; {h[f1_answered]}; {h[f1_nothing]}",
        "`--config=configs/finetuning/squad_v2_minilm.toml`",
    ),
}  # fmt: skip


def results():
    """(lines, records)."""
    lines = [table_row("task", "recipe", "kbert", "Hugging Face", "command"), "|---|---|---|---|---|"]
    records = {task: last_record("results", task) for task in ROWS}
    for task, (label, recipe, kbert, peer, command) in ROWS.items():
        lines.append(table_row(label, recipe, *filled(records[task], kbert, peer), command))
    return lines, list(records.values())


def filled(record: dict, *texts: str) -> list[str]:
    """The texts with figures in the place of {k[NAME]} and {h[NAME]}: three digits of a share, one of a score
    out of a hundred. NAME_deviation has as many as NAME.

    Raises:
      ValueError: for a figure that the record does not have.
    """
    numbers = {row: _shown(values) for row, values in record["rows"].items()}
    try:
        return [text.format(k=numbers["kbert"], h=numbers.get("hugging_face", {})) for text in texts]
    except KeyError as error:
        raise ValueError(f"the record of {record['task']} has no figure {error}.") from None


def _shown(values):
    def one(name, value):
        in_points = values.get(name.removesuffix("_deviation"), value) > 1
        return bare(value, 1) if in_points else bare(value)

    return {name: one(name, value) for name, value in values.items()}
