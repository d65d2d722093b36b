"""The tables of benchmarks: of which records they are, in which rows and columns."""

from benchmarks.figures.formats import bare, difference, fixed, percent, percent2, two, whole
from benchmarks.figures.grids import Column, Row, grid
from benchmarks.figures.records import last_record

_STEP_COLUMNS = (
    Column("s/step", bare, (("seconds",),)),
    Column("fastest", bare, (("fastest",),), may_lack=True),
    Column("CPU s", two, (("cpu_seconds",),), may_lack=True),
    Column("GF/s", whole, (("gigaflops_per_second",),)),
    Column("peak MB", whole, (("megabytes",),), may_lack=True),
)
_STEP_ROWS = {
    "kbert": "kbert",
    "KerasHub": "keras_hub",
    "Model Garden": "model_garden",
    "Hugging Face": "hugging_face",
    "floor: matrix products alone": "floor",
}
_VERSIONS = {
    "KerasHub": "{keras_hub}",
    "Model Garden": "{model_garden}",
    "Hugging Face": "{transformers}, PyTorch {torch}",
}
_FINETUNING_COLUMNS = (
    Column("examples/s", fixed, (("examples_per_second",),)),
    Column("slowest to fastest turn", fixed, (("slowest",), ("fastest",)), joiner=" to "),
    Column("CPU s for 1,000", fixed, (("cpu_seconds_per_thousand",),)),
    Column("accuracy, F1 on dev", bare, (("accuracy",), ("f1",)), may_lack=True),
    Column("peak MB", whole, (("megabytes",),)),
)
_EMBEDDING_COLUMNS = (
    Column("texts/s", whole, (("texts_per_second",),), best="max"),
    Column("largest difference of a number", difference, (("max_difference",),)),
    Column("peak MB", whole, (("peak_megabytes",),)),
)
_BATCHES = tuple(Column(f"batch {n}", fixed, (("medians", n),), best="min") for n in ("1", "8", "32"))
_ANSWERS = (
    Column("labels agree", percent, (("agreement",),)),
    Column("largest difference", difference, (("max_difference",),)),
)
_LITERT_SPEED = tuple(
    Column(head, fixed, (("milliseconds", length),), best="min") for head, length in
    (("16 tokens", "16"), ("32", "32"), ("64", "64"), ("128", "128"), ("a text of the file", "0"))
)  # fmt: skip
_LITERT_COLUMNS = (
    *_LITERT_SPEED,
    Column("accuracy", lambda value: bare(value, 4), (("accuracy",),)),
    Column("answers of Keras", percent2, (("agreement",),)),
    Column("largest difference", difference, (("max_difference",),)),
    Column("MB", fixed, (("megabytes",),)),
)  # fmt: skip

_SYSTEMS = {"kbert": "kbert", "hugging_face": "Hugging Face", "onnx_runtime": "ONNX Runtime"}


def training_step_bert_mini():
    """(lines, records); so are all below."""
    return _training_step("training_step_bert_mini", "BERT-mini, 32 x 128, 16 steps each", "float32")


def training_step_bert_mini_bfloat16():
    return _training_step(
        "training_step_bert_mini_bfloat16", "BERT-mini, 32 x 128, 12 steps each", "bfloat16"
    )


def training_step_bert_base():
    return _training_step("training_step_bert_base", "BERT-base, 8 x 128, 4 steps each", "float32")


def training_step_bert_base_bfloat16():
    return _training_step("training_step_bert_base_bfloat16", "BERT-base, 8 x 128, 5 steps each", "bfloat16")


def _training_step(name, head, precision):
    record = last_record(name)
    names = {label: f"{system}/{precision}" for label, system in _STEP_ROWS.items()}
    rows = [Row(label + _version(label, record["rows"].get(name, {})), record, name) for label, name in
            names.items()]  # fmt: skip
    return grid(head, _STEP_COLUMNS, rows), [record]


def _version(label, row):
    """What stands behind a peer's name, where its version was recorded."""
    shown = _VERSIONS.get(label) if row.get("versions") else None
    return " " + shown.format(**row["versions"]) if shown else ""


def finetuning():
    sst2, mrpc = last_record("finetuning_sst2"), last_record("finetuning_mrpc")
    padded = "Hugging Face, dynamic padding"
    rows = [
        Row("SST-2, 16,000 rows, one epoch: kbert", sst2, "kbert/float32"),
        Row(padded, sst2, "hugging_face/float32"),
        Row("MRPC, 80 steps: kbert", mrpc, "kbert/float32"),
        Row(padded, mrpc, "hugging_face/float32"),
    ]
    return grid("", _FINETUNING_COLUMNS, rows), [sst2, mrpc]


def finetuning_bfloat16():
    return _finetuning_on("bfloat16")


def finetuning_without_amx():
    return _finetuning_on("without_amx")


def _finetuning_on(kind):
    texts = {
        "SST-2, 16,000 rows, one epoch": last_record(f"finetuning_sst2_{kind}"),
        "MRPC, three epochs": last_record(f"finetuning_mrpc_{kind}"),
        "SQuAD's questions and paragraphs": last_record(f"finetuning_squad_{kind}"),
    }
    rows = [
        row
        for label, record in texts.items()
        for row in (
            Row(f"{label}: kbert", record, "kbert/bfloat16"),
            Row("Hugging Face, grouped, compiled", record, "hugging_face+grouped+compile/bfloat16"),
            Row("Hugging Face, grouped by length", record, "hugging_face+grouped/bfloat16"),
            Row("Hugging Face, dynamic padding", record, "hugging_face/bfloat16"),
        )
        if row.name in record["rows"]
    ]
    return grid("", _FINETUNING_COLUMNS, rows), list(texts.values())


def training_step_bert_mini_512():
    return _training_step("training_step_bert_mini_512", "BERT-mini, 8 x 512, 10 steps each", "bfloat16")


def embedding():
    record = last_record("embedding")
    names = [f"{system}/{kind}" for system, kind in (
        ("kbert", "bfloat16"), ("kbert", "float32"), ("hugging_face", "bfloat16+compile"),
        ("hugging_face", "bfloat16"), ("hugging_face", "float32"), ("hugging_face", "float32+compile"),
    )]  # fmt: skip
    return grid("", _EMBEDDING_COLUMNS, _rows(record, {_label(name): name for name in names})), [record]


def serving_minilm():
    record = last_record("serving_minilm")
    names = (
        *("kbert/float32", "kbert/bfloat16", "kbert/float32+frozen", "kbert/bfloat16+frozen"),
        *("hugging_face/float32", "hugging_face/bfloat16", "hugging_face/bfloat16+compile"),
        *("onnx_runtime/float32", "onnx_runtime/int8"),
    )
    return grid("", (*_BATCHES, *_ANSWERS), _rows(record, {_label(name): name for name in names})), [record]


def serving_bert_base():
    record = last_record("serving_bert_base")
    names = ("kbert/float32", "kbert/bfloat16", "hugging_face/bfloat16", "onnx_runtime/float32",
             "onnx_runtime/int8")  # fmt: skip
    return grid("", _BATCHES, _rows(record, {_label(name): name for name in names})), [record]


def litert():
    return _litert("litert", 1, _LITERT_COLUMNS)


def litert_two_threads():
    return _litert("litert", 2, _LITERT_SPEED)


def litert_sms_spam():
    return _litert("litert_sms_spam", 1, _LITERT_COLUMNS)


def _litert(name, threads, columns):
    record = last_record(name)
    own = {f"kbert `{kind}`": f"kbert/{kind}, {threads}" for kind in ("float32", "float16", "dynamic_int8")}
    peers = {f"ONNX Runtime {kind}": f"onnx_runtime/{kind}, {threads}" for kind in ("float32", "int8")}
    head = f"ms, {threads} thread{'s' * (threads > 1)}"
    return grid(head, columns, _rows(record, own | peers), "---"), [record]


def _label(name):
    """ "kbert/bfloat16+frozen" -> "kbert, bfloat16, `+frozen`"."""
    system, _, kind = name.partition("/")
    precision, _, option = kind.partition("+")
    shown = {"": "", "compile": ", compiled"}.get(option, f", `+{option}`")
    return f"{_SYSTEMS[system]}, {precision}{shown}"


def _rows(record, names):
    return [Row(label, record, name) for label, name in names.items()]
