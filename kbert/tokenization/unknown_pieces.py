"""Says that a vocabulary does not know the words of texts. Nothing heavy is imported."""

from absl import logging

_HIGH_SHARE = 0.05


def warn_of_unknown_pieces(share: float, unknown: str = "[UNK]", source: str = ""):
    """Logs a warning when a large share of all pieces, of a source of texts, is `unknown`."""
    if share > _HIGH_SHARE:
        logging.warning(
            "%s%.1f%% of all tokens are %s: is the vocabulary made for this language and casing?",
            source and f"{source}: ", 100 * share, unknown,
        )  # fmt: skip
