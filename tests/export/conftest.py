import pytest

from tests.export import small_models
from tests.export.server.asked_model import save_asked_model


@pytest.fixture(scope="session")
def run_with_nan(finetuned_run, tmp_path_factory):
    """A classifier in which the embedding of one token is NaN; no check text has this token."""
    from tests.kbert.inference.broken_run import copy_with_nan

    return copy_with_nan(finetuned_run, tmp_path_factory.mktemp("nan") / "run", "jump")


@pytest.fixture(scope="session")
def text_length_dir(tmp_path_factory):
    return small_models.save_text_length(tmp_path_factory.mktemp("text_length") / "1")


@pytest.fixture(scope="session")
def asked_model_dir(tmp_path_factory):
    return save_asked_model(tmp_path_factory.mktemp("asked_model") / "1")


@pytest.fixture(scope="session")
def trimmer_dir(tmp_path_factory):
    return small_models.save_with_trimmer(tmp_path_factory.mktemp("trimmer") / "1")


@pytest.fixture(scope="session")
def keras_attached_dir(tmp_path_factory):
    return small_models.save_with_keras_attached(tmp_path_factory.mktemp("attached") / "1")


@pytest.fixture(scope="session")
def export_archive_dir(tmp_path_factory):
    return small_models.save_with_export_archive(tmp_path_factory.mktemp("archive") / "1")
