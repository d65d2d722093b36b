from export.deployment.edited_files import is_edited, write_unless_edited


def test_an_own_file_is_written_again_and_an_edited_one_is_left(tmp_path):
    path, aside = tmp_path / "models.config", tmp_path / "models.config.new"
    assert write_unless_edited(path, "first\n") and not is_edited(path)
    assert path.read_text().startswith("# ") and path.read_text().endswith("\nfirst\n")
    assert write_unless_edited(path, "second\n") and not is_edited(path) and not aside.exists()

    edited = path.read_text().replace("second", "mine")
    path.write_text(edited)
    assert is_edited(path) and not write_unless_edited(path, "third\n")
    assert path.read_text() == edited and aside.read_text().endswith("\nthird\n")


def test_a_file_that_was_there_before_is_a_persons(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_bytes(b"services: {}\n\xff")
    assert is_edited(path) and not write_unless_edited(path, "services:\n")
    assert path.read_bytes() == b"services: {}\n\xff"
    path.write_text("")
    assert is_edited(path)
