"""Which ops each release of TensorFlow Serving knows."""

import functools
from dataclasses import dataclass
from pathlib import Path

_LISTS = Path(__file__).with_name("server_ops")
_TEXT_SECTION = "# TF-Text"


@dataclass(frozen=True)
class ServerRelease:
    """Releases of TensorFlow Serving that a list of ops stands for.

    A server links a TensorFlow core and TF-Text's ops (`SUPPORTED_TENSORFLOW_OPS` in TensorFlow Serving,
    tensorflow_serving/model_servers/BUILD). All servers from 2.12 to 2.19 link TF-Text 2.12.1.

    Args:
      oldest: the first of the releases, (major, minor).
      text: the version of TF-Text that they link.
      image: the newest Docker image among them.
    """

    oldest: tuple[int, int]
    text: str
    image: str

    @property
    def name(self) -> str:
        return ".".join(map(str, self.oldest))

    @property
    def ops(self) -> frozenset[str]:
        """The names of all ops that these servers know."""
        return frozenset().union(*_sections(self.name))

    @property
    def text_ops(self) -> frozenset[str]:
        """The names of those that come from TF-Text."""
        return _sections(self.name)[1]


# Oldest first. export/gate/list_server_ops.py writes the lists and says how to add one.
RELEASES = (
    ServerRelease((2, 12), text="2.12.1", image="tensorflow/serving:2.19.1"),
    ServerRelease((2, 20), text="2.20.0", image="tensorflow/serving:2.20.0"),
)


def releases_from(min_server_version: str | None = None) -> tuple[ServerRelease, ...]:
    """The releases that must load a model: that of `min_server_version`, and all newer ones.

    Args:
      min_server_version: the oldest server in use, for example "2.14" or "2.19.1"; None for the oldest known.

    Raises:
      ValueError: for what is no version, or one that is older than the oldest list.
    """
    if min_server_version is None:
        return RELEASES
    numbers = min_server_version.split(".") if isinstance(min_server_version, str) else ()
    if len(numbers) < 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise ValueError(
            f"min_server_version={min_server_version!r} is not a version of TensorFlow Serving; give one "
            'such as "2.14", as a text: 2.20 is the number 2.2.'
        )
    wanted = int(numbers[0]), int(numbers[1])
    if wanted < RELEASES[0].oldest:
        raise ValueError(
            f"min_server_version={min_server_version}: the oldest server whose ops are known is "
            f"{RELEASES[0].name}; give that or a newer one."
        )
    first = max(index for index, release in enumerate(RELEASES) if release.oldest <= wanted)
    return RELEASES[first:]


def oldest_server_with(ops) -> str | None:
    """The oldest release from which on every server knows all of `ops`, for example "2.12"; None: there is
    none."""
    oldest = None
    for release in reversed(RELEASES):
        if not release.ops.issuperset(ops):
            break
        oldest = release.name
    return oldest


@functools.cache
def _sections(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """(ops of the core, ops of TF-Text) of a stored list."""
    core, separator, text = (
        (_LISTS / f"{name}.txt").read_text(encoding="utf-8").partition(f"\n{_TEXT_SECTION}")
    )
    if not separator:
        raise ValueError(f"{_LISTS / name}.txt has no section {_TEXT_SECTION}; write it again.")
    return _names(core), _names(text.partition("\n")[2])


def _names(section: str) -> frozenset[str]:
    return frozenset(line for line in section.splitlines() if line and not line.startswith("#"))
