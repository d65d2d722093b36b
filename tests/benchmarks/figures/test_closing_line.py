"""The line that a benchmark ends with, and the machine in it."""

import json

import pytest

from benchmarks.figures import closing_line, machine, records

CPUINFO = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu {}\n\nmodel name\t: AMD EPYC\n"


@pytest.mark.parametrize(
    ("flags", "has", "words"),
    [
        ("avx512f", [], "no bfloat16 instructions"),
        ("avx512_bf16", ["AVX512-BF16"], "AVX512-BF16"),
        ("amx_bf16 avx512_bf16", ["AVX512-BF16", "AMX"], "AVX512-BF16 and AMX"),
    ],
)
def test_the_machine_and_its_instructions(tmp_path, flags, has, words):
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flags))
    facts = machine.machine(tmp_path / "cpuinfo")
    assert facts["processor"] == "AMD EPYC" and facts["bfloat16"] == has and facts["cores"] >= 1
    assert machine.in_words(facts | {"cores": 1}) == f"AMD EPYC, 1 core, {words}"


@pytest.mark.parametrize("name", ["bfloat16", "hugging_face/bfloat16+compile"])
def test_bfloat16_takes_part_where_the_machine_has_its_instructions(name):
    assert machine.fit_for_machine(["float32", name], {"bfloat16": ["AMX"]}) == ["float32", name]
    assert machine.fit_for_machine(["float32", name], {"bfloat16": []}) == ["float32"]


def test_a_machine_without_cpuinfo_is_named_all_the_same(tmp_path):
    facts = machine.machine(tmp_path / "none")
    assert facts["processor"] and facts["bfloat16"] == []


def test_the_command_is_without_what_is_of_this_machine_alone():
    arguments = ["--rounds=2", "--hugging_face_python=/x/python", "--figures_file=/x.jsonl", "--text=a b"]
    assert (
        closing_line.command("serving", arguments) == "python -m benchmarks.serving --rounds=2 '--text=a b'"
    )
    assert closing_line.command("litert", []) == "python -m benchmarks.litert"


def test_a_line_is_appended_whole_and_can_be_shown(tmp_path):
    path = tmp_path / "serving.jsonl"
    for milliseconds in (7.3, 6.8):
        line = closing_line.record("serving", {"note": 1}, {"kbert": {1: milliseconds}}, "2026-11-22")
        closing_line.append(line, path)
    assert len(path.read_text().splitlines()) == 2
    found = records.last_record("serving", None, tmp_path)
    assert found["rows"] == {"kbert": {"1": 6.8}} and found["note"] == 1
    assert found["origin"] == records.BENCHMARK and found["date"] == "2026-11-22"
    assert found["machine"] == machine.machine()


def test_a_line_without_rows_is_not_appended(tmp_path):
    path = tmp_path / "x.jsonl"
    with pytest.raises(ValueError, match="x.jsonl has rows=None; expected"):
        closing_line.append(closing_line.record("x", {}, None), path)
    assert not path.exists()


def test_a_benchmark_prints_its_line_and_appends_it_where_it_is_asked_to(tmp_path, capsys, monkeypatch):
    from absl import flags

    values = flags.FlagValues()
    monkeypatch.setattr(closing_line.flags, "FLAGS", values)
    closing_line.close("tokenization", {"ratio": 2})  # a benchmark without the flag
    assert json.loads(capsys.readouterr().out)["ratio"] == 2

    flags.DEFINE_string("figures_file", None, "", flag_values=values)
    values(["x", f"--figures_file={tmp_path}/x.jsonl"])
    with pytest.raises(ValueError, match="takes one table, but 2 are to be measured; choose one of them"):
        closing_line.require_one_table(2)
    closing_line.require_one_table(1)
    with pytest.raises(ValueError, match="kernels has no table that a page shows"):
        closing_line.close("kernels", {})
    closing_line.close("training_step", {}, {"kbert/float32": {"seconds": 1.0}})
    assert records.last_record("x", None, tmp_path)["rows"] == {"kbert/float32": {"seconds": 1.0}}
