"""Where tests find what is no code: this repository, the data beside it, stored checkpoints."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"  # what the repository does not hold; may be missing
