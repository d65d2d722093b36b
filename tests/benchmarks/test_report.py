"""The machine, the closing sentence and the closing line."""

import json

import pytest

from benchmarks import report

CPUINFO = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu {}\n\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("avx512f", "no bfloat16 instructions"),
        ("avx512_bf16", "AVX512-BF16"),
        ("amx_bf16 avx512_bf16", "AVX512-BF16 and AMX"),
    ],
)
def test_bfloat16_takes_part_where_the_machine_has_its_instructions(tmp_path, flags, words):
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flags))
    machine = report.machine(tmp_path / "cpuinfo")
    assert machine.startswith("AMD EPYC, ") and machine.endswith(f" cores, {words}")
    names = ["a/float32", "a/bfloat16+compile"]
    assert report.fit_for_machine(names, machine) == (names if "AVX512-BF16" in words else names[:1])


def test_each_counts_with_its_best_configuration():
    speeds = {"kbert/float32": 1.0, "kbert/bfloat16": 3.0, "a/float32": 1.5, "b/float32": 4.0, "a/int8": 0.5}
    said = "kbert/bfloat16 is 0.75 times as fast as the best peer, b/float32"
    assert report.beside_best_peer(speeds) == said


def test_the_line_names_command_machine_and_commit(capsys, monkeypatch):
    monkeypatch.setattr(report.sys, "argv", ["x", "--rounds=2", "--data_dir=/x", "--text=a b"])
    report.close("serving", {"kbert": {1: 7.3}}, minutes=2)
    line = json.loads(capsys.readouterr().out)
    assert line["command"] == "python -m benchmarks.serving --rounds=2 '--text=a b'"
    assert line["machine"] == report.machine() and line["rows"] == {"kbert": {"1": 7.3}}
    assert {"benchmark", "date", "commit"} < set(line) and line["minutes"] == 2
