"""The Dockerfile copies what the package needs, and containers in the docs start commands of kbert. Where a
docker daemon answers, the image is built and asked."""

import json
import re
import shutil
import subprocess
import urllib.request

import pytest
import yaml

from tests.docs.command_checks import faults
from tests.docs.markdown import blocks, read
from tests.export.server.asked_model import save_asked_model
from tests.export.server.asking import wait_until
from tests.packaging.test_wheel import FILES
from tests.places import REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
IMAGE = "kbert:test"


def copied():
    lines = re.findall(r"^COPY (.+) /source/\S*$", DOCKERFILE, re.MULTILINE)
    return [name for line in lines for name in line.split()]


def test_what_is_copied_is_there_and_is_what_the_package_needs():
    assert all((REPOSITORY / name).exists() for name in copied())
    folders = {"configs", "export", "kbert", "tfrecords_tools"}
    assert set(copied()) == {*FILES, *folders, "requirements.lock"}


def test_packages_are_compiled_once_and_not_by_every_container():
    """pip compiles by itself; uv does not."""
    by_uv = re.findall(r"\buv pip install .*", DOCKERFILE)
    assert by_uv and all("--compile-bytecode" in line for line in by_uv)


def test_the_image_starts_kbert_in_the_form_that_gets_signals():
    """As an executable with its first argument, not below a shell."""
    assert re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", DOCKERFILE, re.MULTILINE) == ['["kbert"]', '["--help"]']


def containers(value):
    """Every container of a Kubernetes object."""
    if isinstance(value, list):
        return [container for each in value for container in containers(each)]
    if not isinstance(value, dict):
        return []
    mine = value.get("containers", [])
    return [*mine, *(each for inner in value.values() for each in containers(inner) if each not in mine)]


def test_the_containers_of_the_docs_start_commands_of_kbert():
    shown = [block for block in blocks(read("docs/deploy.md")) if block.language in ("yaml", "dockerfile")]
    described = [
        each for block in shown if block.language == "yaml" for each in containers(yaml.safe_load(block.text))
    ]
    arguments = [container["args"] for container in described]
    arguments += [json.loads(line) for block in shown for line in re.findall(r"^CMD (.*)$", block.text, re.M)]
    assert len(arguments) == 3
    for words in arguments:
        assert faults(["kbert", *words], True) == []
    for container in described:
        ports = {port["containerPort"] for port in container["ports"]}
        probes = [value["httpGet"] for name, value in container.items() if name.endswith("Probe")]
        assert probes and {probe["port"] for probe in probes} <= ports


def docker(*arguments):
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, (arguments, done.stderr[-3000:])
    return done.stdout.strip()


@pytest.mark.long
def test_the_image_answers_as_sagemaker_starts_it(tmp_path):
    command = shutil.which("docker")
    if command is None or subprocess.run([command, "info"], capture_output=True).returncode:
        pytest.skip("THE IMAGE WAS NOT BUILT: no docker daemon answers here")
    docker("build", "--tag", IMAGE, str(REPOSITORY))
    save_asked_model(tmp_path / "model" / "1")
    model = f"type=bind,source={tmp_path / 'model'},target=/opt/ml/model,readonly"
    container = docker("run", "--detach", "--publish", "127.0.0.1::8080", "--mount", model, IMAGE, "serve")
    try:
        wait_until(lambda: "serving model" in docker("logs", container))
        url = f"http://{docker('port', container, '8080')}"
        with urllib.request.urlopen(f"{url}/ping", timeout=2) as answer:
            assert answer.status == 200
        body = json.dumps({"instances": ["short"]}).encode()
        with urllib.request.urlopen(f"{url}/invocations", body, timeout=60) as answer:
            assert json.load(answer)["predictions"][0]["label"] == "short"
        docker("stop", "-t", "60", container)
        assert docker("inspect", "--format", "{{.State.ExitCode}}", container) == "0"
    finally:
        docker("rm", "--force", container)
