"""pyproject.toml names what the code imports, and agrees with what requirements.txt pins."""

import ast
import importlib.metadata
import sys
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kbert.extras import EXTRAS
from tests.places import REPOSITORY

FOLDERS = ("kbert", "tfrecords_tools", "export")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# What a declared package brings along, and what therefore is not declared.
COMES_WITH = {
    "tensorflow": {"grpcio", "h5py", "ml-dtypes", "protobuf"},
    "keras-nlp": {"keras-hub"},
    "fastapi": {"pydantic", "starlette"},
    "starlette": {"anyio"},
}


def requirements(lines):
    """Name -> Requirement."""
    parsed = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): one for one in parsed}


def pins():
    text = (REPOSITORY / "requirements.txt").read_text(encoding="utf-8")
    return requirements(filter(None, (line.partition("#")[0].strip() for line in text.splitlines())))


def imported_packages():
    """The top-level names that the product imports, anywhere in a file: name -> one of the files."""
    found = {}
    for path in (path for folder in FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            found |= {name: path for name in names}
    return {
        name: path
        for name, path in found.items()
        if name.partition(".")[0] not in sys.stdlib_module_names and name.partition(".")[0] not in FOLDERS
    }


def distributions_of(name, known):
    """What may bring a module: by its own name, or for shared folders such as `google` by a longer one."""
    if name.startswith("google.protobuf"):
        return {"protobuf"}
    if name.startswith("backports.zstd"):
        return {"backports-zstd"}
    return {canonicalize_name(distribution) for distribution in known.get(name.partition(".")[0], ())}


def test_every_package_that_the_code_imports_is_declared():
    declared = requirements(PROJECT["dependencies"])
    for lines in PROJECT["optional-dependencies"].values():
        declared |= requirements(lines)
    for name, brought in COMES_WITH.items():
        required = requirements(importlib.metadata.requires(name))
        declared |= {one: required[one] for one in brought}
    known = importlib.metadata.packages_distributions()
    missing = {
        name: str(path.relative_to(REPOSITORY))
        for name, path in imported_packages().items()
        if not distributions_of(name, known) & declared.keys()
    }
    assert missing == {}


def test_what_the_package_allows_holds_the_pins_and_what_is_installed():
    """`make test-matrix` installs other versions than the pins."""
    pinned = pins()
    lines = [*PROJECT["dependencies"], *sum(PROJECT["optional-dependencies"].values(), [])]
    for requirement in map(Requirement, lines):
        pin = pinned[canonicalize_name(requirement.name)]
        installed = importlib.metadata.version(requirement.name)
        versions = [one.version for one in pin.specifier if one.operator == "=="]
        assert all(requirement.specifier.contains(version) for version in [*versions, installed]), requirement


def test_the_line_for_a_missing_package_is_that_of_its_extra():
    named = {extra: list(packages) for extra, (_, packages) in EXTRAS.items()}
    assert named == {
        extra: lines for extra, lines in PROJECT["optional-dependencies"].items() if extra != "gpu"
    }
    assert len(PROJECT["dependencies"]) <= 18
