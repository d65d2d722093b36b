"""Every write of a training fails once: the same command ends with the same numbers all the same."""

import errno
import shutil

import pytest

from kbert.files.whole_file import is_temporary
from kbert.input_pipelines.batches import Rows
from kbert.runs import checkpoint, run_directory
from kbert.runs.run_directory import RunDirectory
from tests.conftest import mostly_long
from tests.kbert.training import one_weight
from tests.kbert.training.failing_disk import FailingDisk
from tests.kbert.training.run_contents import assert_same_runs

pytestmark = pytest.mark.slow

CODES = (errno.ENOSPC, errno.EIO)


@pytest.fixture(autouse=True)
def known_task(monkeypatch):
    one_weight.register(monkeypatch)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The run that nothing happened to, and the writes it took; nobody may change its folder."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        one_weight.register(patch)
        with FailingDisk(folder).at_work(patch) as disk:
            metrics, run = one_weight.train_one_weight(folder / "run")
    assert {"open model.safetensors", "write metrics.jsonl", "rename step-00000004.tmp"} <= set(disk.writes)
    return metrics, run, disk.writes


def train_with_fault(undisturbed, folder, monkeypatch, fail_at, code):
    metrics, run, _ = undisturbed
    with FailingDisk(folder, fail_at, code).at_work(monkeypatch) as disk:
        try:
            one_weight.train_one_weight(folder)
        except OSError as error:
            assert error.errno == code
    assert len(disk.writes) > fail_at  # it did fail
    assert not [path for path in (folder / "checkpoints").glob("*") if path.suffix == ".tmp"]
    again, resumed = one_weight.train_one_weight(folder)
    where = disk.writes[fail_at]
    assert again == metrics, where
    assert_same_runs(resumed, run)
    assert resumed.checkpoint("best").name == run.checkpoint("best").name, where
    assert sorted(path.name for path in resumed.checkpoints.iterdir()) == sorted(
        path.name for path in run.checkpoints.iterdir()
    )


@pytest.mark.long
def test_every_write_may_fail_once(undisturbed, tmp_path, monkeypatch):
    """With the two codes by turns."""
    for fail_at in range(len(undisturbed[2])):
        code = CODES[fail_at % 2]
        train_with_fault(undisturbed, tmp_path / str(fail_at), monkeypatch, fail_at, code)


@pytest.mark.parametrize(
    "write", mostly_long(["write metrics.jsonl", "rename step-00000004.tmp"], ("rename step-00000004.tmp",))
)
def test_a_write_of_each_kind_may_fail_once(undisturbed, tmp_path, monkeypatch, write):
    """A sample of the above."""
    (fail_at, *_) = [number for number, name in enumerate(undisturbed[2]) if _without_process(name) == write]
    train_with_fault(undisturbed, tmp_path / "run", monkeypatch, fail_at, errno.ENOSPC)


def _without_process(name):
    """ "write run.json.123.0123abcd.tmp" -> "write run.json"."""
    return name.rsplit(".", 3)[0] if is_temporary(name) else name


def test_a_disk_that_stays_full_loses_the_best_and_says_so(tmp_path, monkeypatch, caplog):
    """What is reported is a checkpoint that exists."""
    save = checkpoint.save_checkpoint

    def full_at_8(directory, step, *arguments, **options):
        if step == 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return save(directory, step, *arguments, **options)

    monkeypatch.setattr(checkpoint, "save_checkpoint", full_at_8)
    config = one_weight.config_of(save_checkpoints_steps=1000)
    metrics, run = one_weight.train_one_weight(tmp_path / "run", config, num_steps=12, patience=9)
    assert "CHECKPOINT NOT WRITTEN at step 8" in caplog.text
    assert [checkpoint.parse_step(path) for path in checkpoint.list_checkpoints(run.checkpoints)] == [4, 12]
    assert run.checkpoint("best").name == "step-00000012"
    caplog.clear()

    monkeypatch.setattr(checkpoint, "save_checkpoint", full_at_8)
    with pytest.raises(OSError, match="No space left"):
        one_weight.train_one_weight(tmp_path / "short", config, num_steps=8, patience=9)
    assert RunDirectory(tmp_path / "short").checkpoint("best").name == "step-00000004"


@pytest.mark.parametrize(
    ("file", "content"), [(".lock", "process 1 on another\n"), ("run.json", '{"task": "another"}')]
)
def test_a_run_of_another_process_in_its_place_is_left_alone(tmp_path, monkeypatch, file, content):
    save, path, moved = checkpoint.save_checkpoint, tmp_path / "run", tmp_path / "moved"

    def save_and_replace(*arguments, **options):
        save(*arguments, **options)
        path.rename(moved)
        shutil.copytree(moved, path)
        (path / file).write_text(content)

    monkeypatch.setattr(checkpoint, "save_checkpoint", save_and_replace)
    with pytest.raises(BlockingIOError, match="was replaced by another run while"):
        one_weight.train_one_weight(path)
    for name in ("metrics.jsonl", "checkpoints/step-00000004/model.safetensors"):
        assert (path / name).read_bytes() == (moved / name).read_bytes()
    assert len(list((path / "checkpoints").glob("step-*"))) == 1


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_run_that_was_moved_away_is_not_made_anew(tmp_path, monkeypatch, caplog, is_emptied):
    """It goes on until a checkpoint has to be written: the disk may come back."""
    save, path, moved = checkpoint.save_checkpoint, tmp_path / "run", tmp_path / "moved"

    def save_and_move(*arguments, **options):
        save(*arguments, **options)
        path.rename(moved)
        if is_emptied:
            path.mkdir()

    monkeypatch.setattr(checkpoint, "save_checkpoint", save_and_move)
    with pytest.raises(FileNotFoundError, match="was removed, emptied or renamed while this process"):
        one_weight.train_one_weight(path, num_steps=12)
    assert "CHECKPOINT NOT WRITTEN at step 8" in caplog.text
    assert path.exists() == is_emptied and not (path / "checkpoints").exists()
    monkeypatch.setattr(checkpoint, "save_checkpoint", save)
    again, resumed = one_weight.train_one_weight(moved, num_steps=12)
    metrics, run = one_weight.train_one_weight(tmp_path / "undisturbed", num_steps=12)
    assert again == metrics
    assert_same_runs(resumed, run)


def test_nothing_is_saved_of_rows_that_were_replaced(tmp_path, monkeypatch):
    checks = iter([None, ValueError("the records were replaced")])

    def check(rows):
        if isinstance(rows, one_weight.InTurn) and rows.num_rows == 24 and (error := next(checks)):
            raise error

    monkeypatch.setattr(Rows, "require_unchanged", check)
    with pytest.raises(ValueError, match="the records were replaced"):
        one_weight.train_one_weight(tmp_path / "run")
    kept = checkpoint.list_checkpoints(tmp_path / "run" / "checkpoints")
    assert [checkpoint.parse_step(path) for path in kept] == [4]


def test_a_moments_failure_of_the_disk_says_nothing_of_the_run(tmp_path, monkeypatch):
    first, read = [None], run_directory.lock_holder

    def fail(path):
        if first:  # of the lock itself
            return first.pop() or read(path)
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(run_directory, "lock_holder", fail)
    one_weight.train_one_weight(tmp_path / "run")
    assert not first
