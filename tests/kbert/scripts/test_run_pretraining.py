"""Pretraining on every form of records: masked while they are read, without pairs, damaged, in buckets."""

import dataclasses
import shutil
from types import SimpleNamespace

import pytest

from kbert.cli.warn_once import warn_once
from kbert.config import PhaseConfig
from kbert.experiments import pretraining_run
from kbert.experiments.evaluation import evaluate
from kbert.experiments.pretraining import PhaseRecords, pretrain
from kbert.files.whole_file import write_json
from kbert.input_pipelines.records.record_folders import PretrainingRecords, warn_of_trained_records
from kbert.manifest import read_manifest
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.conftest import make_records, tiny_encoder_config, tiny_pretraining_config
from tests.kbert.input_pipelines.records import small_records
from tests.kbert.training.run_contents import assert_same_runs

CONFIG = tiny_pretraining_config(num_train_steps=8, save_checkpoints_steps=4, eval_every_steps=8)


# ------------------------------------------------------------------ masks anew, one text, whole words


@pytest.fixture(scope="module")
def text_records(tmp_path_factory):
    """Full sentences without pairs, masked while they are read, compressed."""
    folder = tmp_path_factory.mktemp("text_records")
    make_records(
        folder,
        pairing="full_sentences",
        masking="dynamic",
        do_whole_word_mask=True,
        compression="gzip",
    )
    return folder


@pytest.fixture(scope="module")
def text_run(text_records, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "text"
    pretrain(CONFIG, path, text_records / "train", text_records / "heldout")
    return RunDirectory(path)


@pytest.mark.slow
@pytest.mark.long
def test_a_run_taken_up_again_sees_the_very_same_masks(text_records, text_run, tmp_path):
    """From the last but one checkpoint, with the later lines of metrics still there."""
    run = RunDirectory(shutil.copytree(text_run.path, tmp_path / "run"))
    shutil.rmtree(run.checkpoint("last"))
    assert run.checkpoint("last").name == "step-00000004"
    pretrain(CONFIG, run.path, text_records / "train", text_records / "heldout")
    assert_same_runs(run, text_run)


def test_how_often_each_phase_reads_its_records_is_said(caplog):
    corpus = SimpleNamespace(settings={"dupe_factor": 5})
    records = [
        SimpleNamespace(num_examples=number, path=f"of_{number}", manifest=corpus) for number in (100, 8)
    ]
    phases = (PhaseConfig(num_train_steps=6), PhaseConfig(num_train_steps=2))
    config = dataclasses.replace(CONFIG, phases=phases, train_batch_size=4)
    with caplog.at_level("INFO", logger="absl"):
        pretraining_run._log_passes(config, records)
    said = ["6 steps read each of the 100 examples of of_100 0.24 times, the text of its corpus 1.2 times"]
    said.append("2 steps read each of the 8 examples of of_8 1 times, the text of its corpus 5 times")
    assert caplog.messages == said


PHASE_LENGTHS = {  # of records and those held out, by phase -> the longest trained so far, the longest read
    "held out as long as the last phase": ([(24, 32), (32, 32)], [(24, 32)]),
    "held out as long as each": ([(24, 24), (32, 32)], []),
    "held out longer than all": ([(24, None), (24, 32)], [(24, 32)]),
}


@pytest.mark.parametrize(("lengths", "expected"), PHASE_LENGTHS.values(), ids=PHASE_LENGTHS)
def test_positions_that_no_phase_has_trained_yet_are_named(lengths, expected, caplog):
    def records(length):
        return length and SimpleNamespace(max_seq_length=64, longest=length)

    warn_once.cache_clear()
    phases = [PhaseRecords(*map(records, phase)) for phase in lengths]
    start = SimpleNamespace(trained_positions_after=lambda longest: longest)
    pretraining_run._warn_of_positions("run", tiny_encoder_config(), start, phases)
    assert len(caplog.messages) == len(expected)
    for message, (trained, read) in zip(caplog.messages, expected, strict=True):
        assert f"of more than {trained} tokens" in message and f"sequences of {read} tokens" in message


def test_held_out_records_that_are_masked_in_another_way_are_other_data(tmp_path):
    """Of dynamic records all but the manifest is the same, whatever the settings of masks."""
    plain = PretrainingRecords(_written(tmp_path / "plain", with_masks=False))
    again = PretrainingRecords(_written(tmp_path / "again", with_masks=False))
    stored = PretrainingRecords(_written(tmp_path / "stored"))
    assert _recorded(plain, again)["eval"] == _recorded(plain, plain)["eval"]
    assert _recorded(plain, stored)["eval"] == [stored.manifest.fingerprint]
    for name, value in {"masked_lm_prob": 0.3, "do_whole_word_mask": True, "max_ngram_size": 2}.items():
        other = PretrainingRecords(_written(tmp_path / name, with_masks=False, **{name: value}))
        assert other.manifest.fingerprint == plain.manifest.fingerprint
        assert _recorded(plain, other)["eval"] != _recorded(plain, plain)["eval"]


@pytest.mark.parametrize(
    ("trained", "held_out", "is_said"),
    [
        ("text/*.txt", "text/last.txt", True),  # the glob takes the file held out, too
        ("text/*.txt", "text/*.txt", True),  # another seed
        ("text/a.txt", "text/last.txt", False),
        ("text/*.txt", "text/held/*.txt", False),  # other files
        ("text/**/*.txt", "text/held/*.txt", True),
        ("text/wiki[en].txt", "text/wiki[en].txt", True),
        (["wiki/*", "text/*"], ["other/*", "text/last.txt"], True),
    ],
)
def test_held_out_records_of_a_text_that_is_trained_on_are_said(tmp_path, caplog, trained, held_out, is_said):
    """Their bytes are others, and their scores looked better than they were."""
    train = PretrainingRecords(_written(tmp_path / "train", seed=1, input_files=trained))
    warn_of_trained_records(PretrainingRecords(_written(tmp_path / "dev", input_files=held_out)), [train])
    assert ("name those that it is made from, text/" in caplog.text) is is_said


def test_labelled_records_name_their_file_too(caplog):
    records = [
        SimpleNamespace(
            manifest=SimpleNamespace(settings={"input_file": "all.tsv"}), path=name, fingerprint=name
        )
        for name in ("train", "dev")
    ]
    warn_of_trained_records(records[1], records[:1])
    assert "name those that it is made from, all.tsv" in caplog.text


def test_a_bert_is_evaluated_on_records_without_pairs(pretraining_run, tmp_path):
    """By its masked LM alone: published BERTs have both heads, and continued pretraining mostly no pairs."""
    _, both = evaluate(pretraining_run.path, input_dir=_written(tmp_path / "pairs"))
    task, alone = evaluate(
        pretraining_run.path, input_dir=_written(tmp_path / "texts", with_next_sentence=False)
    )
    assert task.name == "masked_lm" and not any(name.startswith("next_sentence") for name in alone)
    assert alone.pop("baseline_token") == both["baseline_token"]
    assert {name: both[name] for name in alone} == pytest.approx(alone, rel=1e-6)
    with pytest.raises(ValueError, match="needs records made with pairing=sentence_pairs"):
        evaluate(pretraining_run.path, input_dir=_written(tmp_path / "order", pairing="sentence_order"))


def test_padding_trains_no_positions():
    """A run on records of 512 of which the longest text has 260 tokens said that 512 are trained."""
    for longest, expected in ((260, 320), (500, 512), (None, 512)):
        statistics = {"longest": longest} if longest else {}  # older records do not say it
        records = SimpleNamespace(max_seq_length=512, manifest=SimpleNamespace(statistics=statistics))
        assert PretrainingRecords.longest.fget(records) == expected


def test_a_run_names_the_checkpoint_that_is_forgotten(pretraining_run, records_dir, tmp_path):
    """Instead of asking for an encoder, which it has."""
    run = RunDirectory(shutil.copytree(pretraining_run.path, tmp_path / "run"))
    write_json(run.details | {"init_checkpoint": "bert"}, run.path / "run.json")
    with pytest.raises(ValueError, match="it differs in init_checkpoint .was 'bert', now None."):
        pretrain(dataclasses.replace(run.config, encoder=None), run.path, records_dir / "train")


def _written(folder, **settings):
    small_records.write(folder, [3], **settings)
    return folder


def _recorded(train, held_out):
    task = TASKS["pretraining"]()
    return pretraining_run._details(task, [PhaseRecords(train, held_out)])["data"]


@pytest.fixture(scope="module")
def order_records(tmp_path_factory):
    """Pairs of texts in order or swapped: the same features as random pairs have, with another meaning."""
    folder = tmp_path_factory.mktemp("order_records")
    make_records(folder, pairing="sentence_order")
    return folder


@pytest.mark.parametrize(("records", "made_for"), [("text", "masked_lm"), ("order", "sentence_order")])
def test_a_run_with_next_sentence_refuses_records_of_another_pairing(
    request, records, made_for, records_dir, pretraining_run, tmp_path
):
    other = request.getfixturevalue(f"{records}_records") / "heldout"
    refused = f"heldout is made for the task {made_for}, but .*'pretraining' needs .*pairing=sentence_pairs"
    if records == "order":  # of records without pairs an evaluation reads the masked LM
        with pytest.raises(ValueError, match=refused):
            evaluate(pretraining_run, input_dir=other)
    with pytest.raises(ValueError, match=refused):
        pretrain(CONFIG, tmp_path / "run", records_dir / "train", other)
    assert not (tmp_path / "run").exists()


def test_phases_of_two_pairings_do_not_choose_the_task(records_dir, text_records, tmp_path):
    config = dataclasses.replace(CONFIG, phases=(PhaseConfig(),) * 2)
    with pytest.raises(ValueError, match="for the task pretraining, but .*for masked_lm; make both with the"):
        pretrain(config, tmp_path / "run", [text_records / "train", records_dir / "train"])


# ------------------------------------------------------------------------------------ damaged records


@pytest.fixture
def damaged_records_dir(records_dir, tmp_path):
    """`train` with one damaged record, and which byte is wrong."""
    directory = shutil.copytree(records_dir / "train", tmp_path / "train")
    path = directory / read_manifest(directory).shards[1].file
    raw = bytearray(path.read_bytes())
    raw[14] ^= 1
    path.write_bytes(raw)
    return directory, path


@pytest.mark.slow
def test_training_stops_at_a_damaged_record_and_names_it(damaged_records_dir, tmp_path):
    directory, path = damaged_records_dir
    with pytest.raises(ValueError) as error:
        pretrain(CONFIG, tmp_path / "run", directory)
    assert str(error.value).startswith(f"{path} ")
    assert str(error.value).endswith("record 0 is damaged; make the records again.")
