"""What is wrong in a file is one message that comes without TensorFlow."""

import subprocess
import sys

import pytest

from tests.kbert.experiments.glue import small_glue
from tests.places import REPOSITORY

# With None in its place an import fails, so the sentence can only come if nothing asks for these.
PROGRAM = """
import sys
sys.modules["tensorflow"] = sys.modules["keras"] = None
from kbert.cli.commands import main
sys.exit(main(["kbert", *sys.argv[1:]]))
"""
FINETUNE = (
    "finetune --config=configs/finetuning/small_data.toml --train_file={train} --run_dir={made} "
    "--init_checkpoint=all-MiniLM-L6-v2 --override=dataset.text="
)
UNDECODED = "line 2 is not UTF-8 (byte 0xf6). It is likely to be cp1252, which gives 'schön;loud': write "
EXCEL = (
    "{excel} cannot be used as it is:\n  "
    + UNDECODED
    + "--override=dataset.encoding=cp1252 where the command has it, or save it as UTF-8 "
    "(iconv -f CP1252 -t UTF-8).\n  line 4: 1 columns where 2 were expected (sentence, label); fix the line."
    "\n  1 row(s) are empty (line 3); leave them out by dataset.skip_empty_rows=true."
)
UNREAD = (
    "the task sequence_classification on {} would not read dataset.document='day' (read by "
    "token_classification); leave it out."
)
OF_THE_RUN = " has no column 'label'; its columns are ['sentence', 'stars']. The run {run} was trained on"


def refused(*arguments):
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (1, ""), result.stderr
    said, _, error = result.stderr.removesuffix("\n").rpartition("error: ")
    assert "Traceback" not in said
    assert all(line.startswith("  ") for line in error.split("\n")[1:])
    return f"error: {error}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "facts"),
    [
        (FINETUNE + "sentence --override=dataset.document=day", UNREAD.format("{train}")),
        (
            "finetuning-data --init_checkpoint=x --input_file={wrong} --output_dir={made} --config={unread}",
            UNREAD.format("{wrong}"),
        ),
        ("evaluate --run_dir=x --eval_file={wrong} --config={unread}", UNREAD.format("{wrong}")),
        (
            "export-litert --init_checkpoint=x --output_dir={made} --eval_file={wrong} --config={unread}",
            UNREAD.format("{wrong}"),
        ),
        (FINETUNE + "sentnce", " has no column 'sentnce'; its columns are ['sentence', 'other', 'label']."),
        (FINETUNE + "sentence --dev_file={wrong}", "{wrong} has no column 'label'"),
        (FINETUNE + "sentence --dev_file={excel}", EXCEL),
        ("evaluate --run_dir={run} --eval_file={excel}", EXCEL),
        ("predict --run_dir={run} --input_file={excel}", UNDECODED),
        (
            "predict --run_dir={run} --input_file={lines}",
            "{lines} line 2 is not UTF-8 (byte 0xf6); convert it",
        ),
        ("predict --run_dir={run} --input_file={json}", "{json} line 2 is not valid JSON"),
        (
            "features --run_dir={run} --input_file={lines} --output_file={made}.jsonl",
            "iconv -f CP1252 -t UTF-8",
        ),
        (
            "finetuning-data --init_checkpoint=x --input_file={excel} --output_dir={made} "
            "--config=configs/finetuning/sst2.toml",
            UNDECODED,
        ),
        ("evaluate --run_dir={run} --eval_file={wrong}", OF_THE_RUN),
        ("predict --run_dir={run} --input_file={texts}", "has the columns ['review']; expected sentence."),
        (
            "features --run_dir={run} --input_file={texts} --output_file={made}.jsonl",
            "has the columns ['review']; expected sentence",
        ),
        ("export-litert --run_dir={run} --output_dir={made} --eval_file={wrong}", OF_THE_RUN),
        ("export-litert --init_checkpoint={run} --output_dir={made} --eval_file={wrong}", OF_THE_RUN),
        (
            "finetuning-data --init_checkpoint=x --input_file={wrong} --output_dir={made} "
            "--config=configs/finetuning/sst2.toml",
            "has no column 'label'",
        ),
        (
            "trim --from=x --to={made} --labelled_files={wrong} --config=configs/finetuning/mrpc.toml",
            "has no column '#1 String'",
        ),
        ("trim --from=x --to={made} --labelled_files={wrong}", "--labelled_files and --config belong"),
    ],
)
def test_each_command_names_the_file_and_the_column(finetuned_run, labelled_files, tmp_path, command, facts):
    paths = {"run": finetuned_run.path, "train": labelled_files[0], "made": tmp_path / "made"}
    paths |= {"wrong": tmp_path / "reviews.csv", "texts": tmp_path / "texts.csv"}
    paths |= {"lines": tmp_path / "lines.txt", "json": tmp_path / "texts.ndjson", "excel": tmp_path / "x.csv"}
    paths["unread"] = tmp_path / "unread.toml"
    paths["unread"].write_text('[dataset]\ndocument = "day"\n')
    paths["lines"].write_bytes(b"good\nsch\xf6n\n")
    paths["json"].write_text('{"text": "good"}\nbad\n')
    paths["excel"].write_bytes(b"sentence;label\nsch\xf6n;loud\n;\nquiet\n")
    paths["wrong"].write_text("sentence,stars\nHot soup.,good\n")
    paths["texts"].write_text("review\nHot soup.\n")
    assert facts.format(**paths) in refused(*(word.format(**paths) for word in command.split()))
    assert not paths["made"].exists()


@pytest.mark.parametrize(("file", "column"), [("SST-2/dev.tsv", "label"), ("RTE/test.tsv", "sentence1")])
def test_glue_looks_at_all_files_first(tmp_path, file, column):
    glue = small_glue.write_glue(tmp_path / "glue")
    lines = (glue / file).read_text().split("\n")
    (glue / file).write_text("\n".join([lines[0].replace(column, "other"), *lines[1:]]))
    said = refused(
        "glue", f"--glue_dir={glue}", "--tasks=sst2,rte", "--init_checkpoint=all-MiniLM-L6-v2",
        f"--run_dir={tmp_path}/run", f"--submission_dir={tmp_path}/submission",
    )  # fmt: skip
    assert said.startswith(f"error: {glue}/{file} has no column {column!r}")
