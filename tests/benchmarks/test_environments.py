"""Who takes part: names, patterns, pins."""

import pytest
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.workers import environments

NAMES = ("kbert/float32", "kbert/bfloat16+frozen", "nobody/float32")
PEERS = ("model_garden", "keras_hub", "hugging_face", "onnx_runtime")


@pytest.fixture
def choose(monkeypatch):
    values = flags.FlagValues()
    flags.DEFINE_list("contestants", [], "", flag_values=values)
    monkeypatch.setattr(environments.flags, "FLAGS", values)
    return lambda text: values(["x", f"--contestants={text}"]) and environments.chosen_contestants(NAMES)


def test_patterns_choose_contestants_and_who_is_not_installed_is_left_out(choose, capsys):
    assert choose("*/float32,kbert/*") == ["kbert/float32", "kbert/bfloat16+frozen"]
    assert "nobody is left out: no" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"--contestants names 'kbert/int4'; choose among kbert/float32, kb"):
        choose("kbert/int4")
    with pytest.raises(ValueError, match=r"--contestants=nobody/\*: none of them is installed"):
        choose("nobody/*")


@pytest.mark.parametrize("peer", PEERS)
def test_every_peer_has_its_pins_and_a_worker(peer):
    folder = REPOSITORY / "benchmarks" / "peers"
    pins = [line.split("#")[0].strip() for line in (folder / f"{peer}.txt").read_text().splitlines()]
    assert all("==" in pin for pin in pins if pin)
    assert list(folder.glob(f"{peer}_*.py"))
