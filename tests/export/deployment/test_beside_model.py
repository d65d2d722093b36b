import pytest

from export.deployment.beside_model import write_model_files
from export.deployment.beside_version import batching_parameters
from export.deployment.docker_line import docker_command
from export.deployment.server_protos import labels_of
from export.label_versions import label_versions

BATCHING = {"batch_sizes": [1, 8], "num_batch_threads": 2, "max_enqueued_batches": 9}


def labels(base):
    return labels_of((base / "models.config").read_text(), "sst2", "models.config")


@pytest.fixture
def base(tmp_path):
    """Three versions, each written in its turn."""
    base = tmp_path / "sst2"
    for version in (1, 2, 3):
        (base / str(version)).mkdir(parents=True)
        write_model_files(base, "sst2", version, None, BATCHING)
    return base


def test_a_new_version_is_the_canary_and_the_first_stays_stable(base):
    assert labels(base) == {"stable": 1, "canary": 3}


def test_promote_and_roll_back(base):
    assert label_versions(base, stable=3) == labels(base) == {"stable": 3, "canary": 3}
    assert label_versions(base, stable=2) == labels(base) == {"stable": 2, "canary": 3}
    (base / "4").mkdir()
    write_model_files(base, "sst2", 4, None, BATCHING)
    assert labels(base) == {"stable": 2, "canary": 4}


def test_a_stable_version_that_is_gone_is_replaced(base):
    (base / "1").rmdir()
    write_model_files(base, "sst2", 3, None, BATCHING)
    assert labels(base) == {"stable": 3, "canary": 3}


def test_labels_that_cannot_be_given_are_refused(base):
    with pytest.raises(ValueError, match="received neither --stable nor --canary"):
        label_versions(base)
    with pytest.raises(ValueError, match="there is no version 7 in .*, which would be stable"):
        label_versions(base, stable=7)
    with pytest.raises(ValueError, match="holds no models.config; export a version there first"):
        label_versions(base / "1", stable=1)
    path = base / "models.config"
    path.write_text(path.read_text() + "# mine\n")
    with pytest.raises(
        ValueError, match="was edited, so it is left alone. Change the numbers below version_l"
    ):
        label_versions(base, stable=2)
    assert labels(base) == {"stable": 1, "canary": 3}


def test_an_edited_file_is_left_and_told(base):
    path = base / "compose.yaml"
    mine = path.read_text().replace("8501:8501", "80:8501")
    path.write_text(mine)
    told = write_model_files(base, "sst2", 3, "2.20", BATCHING)
    assert told["edited"] == ["compose.yaml"] and "models.config" in told["written"]
    assert path.read_text() == mine
    assert "tensorflow/serving:2.20.0" in (base / "compose.yaml.new").read_text()


def test_the_container_and_the_docker_line_start_the_same_server(base):
    compose = (base / "compose.yaml").read_text()
    command = docker_command(base, "sst2", None)
    image, *server_flags = command.split("readonly ")[1].split()
    assert f"image: {image}\n" in compose and len(server_flags) == 4
    assert all(f"      - {flag}\n" in compose for flag in server_flags)
    for name, value in (("MALLOC_ARENA_MAX", "2"), ("TF_ENABLE_ONEDNN_OPTS", "1")):
        assert f" -e {name}={value} " in command and f'      {name}: "{value}"\n' in compose
    assert f"source={base.resolve()},target=/models/sst2" in command
    for name in ("models.config", "monitoring.config", "batching_params.pbtxt"):
        assert f"/models/sst2/{name}" in compose and (base / name).is_file()


def test_a_model_that_cannot_be_batched_has_no_parameters(tmp_path):
    told = write_model_files(tmp_path, "fill", 1, None)
    assert (
        "batching_params.pbtxt" not in told["written"] and not (tmp_path / "batching_params.pbtxt").exists()
    )
    assert "--enable_batching" not in (tmp_path / "compose.yaml").read_text()


def test_parameters_of_an_earlier_version_do_not_stay(base):
    write_model_files(base, "sst2", 3, None)
    assert not (base / "batching_params.pbtxt").exists()


def test_a_folder_of_digits_is_a_name_in_yaml(tmp_path):
    write_model_files(tmp_path, "2024", 1, None)
    compose = (tmp_path / "compose.yaml").read_text()
    assert '\n  "2024":\n' in compose and '      - ".:/models/2024:ro"\n' in compose


@pytest.mark.parametrize(
    ("milliseconds", "sizes", "queue"),
    [((10, 20, 60), [1, 8, 32], 17), ((10, 20, 100), [1, 8], 50), ((10, 80, 640), [1], 100)],
)
def test_batches_are_as_large_as_they_pay(milliseconds, sizes, queue):
    times = dict(zip(("1", "8", "32"), milliseconds, strict=True))
    parameters = batching_parameters({"milliseconds": times})
    assert (parameters["batch_sizes"], parameters["max_enqueued_batches"]) == (sizes, queue)
    assert batching_parameters(None)["batch_sizes"] == [1, 8, 32]
