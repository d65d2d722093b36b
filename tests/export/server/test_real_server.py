"""The docker line of the development server starts a real server that can serve the same folder."""

import json
import shlex

import pytest

from export.server.models.model_settings import ModelSettings
from export.server.real_server import real_server_command

OLDEST, NEWEST = "tensorflow/serving:2.19.1", "tensorflow/serving:2.20.0"


def save_version(base, version, oldest_server):
    extra = base / str(version) / "assets.extra"
    extra.mkdir(parents=True)
    (extra / "kbert.json").write_text(json.dumps({"oldest_server": oldest_server}))


def test_a_folder_without_settings_gets_a_line_of_its_own_that_is_quoted(tmp_path):
    base, name = tmp_path / "my models", "sst2; rm"
    base.mkdir()
    parts = shlex.split(real_server_command(ModelSettings(name, str(base))))
    assert parts == [
        *("docker", "run", "--rm", "-p", "8500:8500", "-p", "8501:8501"),
        *("-e", "MALLOC_ARENA_MAX=2", "-e", "TF_ENABLE_ONEDNN_OPTS=1", "-e", f"MODEL_NAME={name}"),
        *("--mount", f"type=bind,source={base},target=/models/{name},readonly", OLDEST),
    ]


@pytest.mark.parametrize(
    ("recorded", "image"),
    [
        (["2.12"], OLDEST),
        (["2.20"], NEWEST),
        (["2.20", "2.12"], NEWEST),  # a label may point to either
        ([None, ["what"], "2.5"], OLDEST),
        ([], OLDEST),
    ],
)
def test_the_image_knows_the_ops_of_every_version(tmp_path, recorded, image):
    for version, oldest_server in enumerate(recorded, 1):
        save_version(tmp_path, version, oldest_server)
    assert real_server_command(ModelSettings("m", str(tmp_path))).endswith(image)
