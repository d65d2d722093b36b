"""One folder for all workers, made again only where making it failed."""

import pytest

from tests.made_once import made_once


class Factory:
    """In the place of pytest's, with a folder of its own."""

    def __init__(self, folder):
        self._folder = folder

    def getbasetemp(self):
        return self._folder


@pytest.mark.parametrize("is_worker", [False, True])
def test_a_folder_is_made_once_and_again_after_a_failure(tmp_path, monkeypatch, is_worker):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    if is_worker:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    workers = [tmp_path / name for name in ("gw0", "gw1")]
    for folder in workers:
        folder.mkdir()
    calls = []

    def make(folder):
        calls.append(folder)
        (folder / "half").touch(exist_ok=False)
        if len(calls) == 1:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        made_once(Factory(workers[0]), "thing", make)
    made = [made_once(Factory(folder), "thing", make) for folder in workers]
    assert (made[0] == made[1]) is is_worker
    assert len(calls) == (2 if is_worker else 3)
