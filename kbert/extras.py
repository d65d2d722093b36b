"""The packages that only some need, by the extras of pyproject.toml: a missing one is named with its line."""

import importlib.util
import shlex

# Extra -> (what is imported, what pip is asked for, as pyproject.toml has it).
EXTRAS = {
    "beam": (("apache_beam",), ("apache-beam>=2.74,<3",)),
    "bm25": (("bm25s",), ("bm25s>=0.2.12,<0.4",)),
    "hub": (("huggingface_hub",), ("huggingface_hub>=1.0,<3", "kagglehub>=1,<2")),
    "litert": (("ai_edge_litert", "flatbuffers"), ("ai-edge-litert>=2.1,<3", "flatbuffers>=25.9")),
    "sentences": (("sentencex",), ("sentencex>=1.0.32,<2",)),
    "serve": (
        ("fastapi", "uvicorn", "httptools", "prometheus_client"),
        ("fastapi>=0.165,<1", "uvicorn>=0.53,<1", "httptools>=0.6.4", "prometheus-client>=0.21,<1"),
    ),
    "tables": (("pyarrow",), ("pyarrow>=20,<26",)),
    "zstd": (("backports.zstd",), ("backports.zstd>=1.0,<2",)),
}


def require(extra: str, what: str, *modules: str):
    """Raises ValueError where a package is missing, with the line that installs the extra; imports nothing.

    Args:
      extra: its name.
      what: what needs it, for the error.
      *modules: those of the extra that it needs, by default all.
    """
    every, packages = EXTRAS[extra]
    if missing := [module for module in modules or every if not _is_there(module)]:
        raise ValueError(
            f"{what} needs {', '.join(missing)}, not installed: pip install {shlex.join(packages)}"
        )


def _is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it would lie in
        return False
