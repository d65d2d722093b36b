"""Globs match what Python's do, and come to an end where links lead round."""

import glob
from pathlib import Path

import pytest

from kbert.files.globs import matches

FILES = ("one.txt", "xy.txt", "a/two.txt", "a/b/three.txt", "a/b/c[1]/four.txt", "a/.b/five.txt", ".six.txt")
PATTERNS = ("*", "*/*.txt", "**", "**/", "**/*.txt", "a/**/*.txt", "a/**", "**/b/**/*.txt", "**/c*/*", "x**")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "gone.txt").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_glob_matches_what_pythons_matches(folder, pattern):
    for given in (pattern, f"{folder}/{pattern}"):
        found = matches(given)
        assert set(found) | {Path()} == {*map(Path, glob.glob(given, recursive=True))} | {Path()}
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("pattern", ["**/*.txt", "a/**/*.txt", "**"])
def test_links_that_lead_round_are_followed_once(folder, pattern):
    expected = set(matches(pattern))
    for name in ("a/up", "a/b/round", "a/b/c[1]/again"):  # of two, Python's makes 2 ** 40 names
        (folder / name).symlink_to(folder / "a")
    assert {path for path in matches(pattern) if not path.is_symlink()} == expected - {Path("gone.txt")}


@pytest.mark.parametrize("pattern", ["a/b/c[1]/*.txt", "./a/b/c[1]/**/*.txt", "a/b/c[1]/four.txt"])
def test_folders_that_are_there_are_taken_by_their_names(folder, pattern):
    assert [*map(str, matches(pattern))] == ["a/b/c[1]/four.txt"]
    assert matches(f"{folder}/{pattern}") == [folder / "a/b/c[1]/four.txt"]


def test_what_only_a_link_leads_to_is_found(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "deep").mkdir()
    (other / "deep" / "seven.txt").touch()
    (folder / "a" / "link").symlink_to(other)
    assert Path("a/link/deep/seven.txt") in matches("**/*.txt")
    assert matches("**/link/**/*.txt") == [Path("a/link/deep/seven.txt")]
