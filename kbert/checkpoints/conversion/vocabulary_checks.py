"""Checks of the casing and of the vocabulary's size, before any tensor is read."""

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.tokenization.vocabulary import Vocabulary

# The rows of a table are often padded to a multiple of one of these, for speed on accelerators.
_PADDED_TO = (8, 16, 32, 64, 128)


def decide_casing(
    tokens,
    source: str,
    declared: bool | None,
    declared_by: str,
    asked: bool | None,
    allowance: Allowance,
    report: Report,
) -> Vocabulary:
    """The vocabulary with its casing, decided by the user's flag, the checkpoint, or the pieces themselves.

    Args:
      tokens: the pieces in id order.
      source: the file they come from.
      declared: `do_lower_case` as the checkpoint says it, or None.
      declared_by: the file or name that says it.
      asked: the user's --do_lower_case, or None.
      allowance, report: see `Allowance.conflict`; the setting is called `do_lower_case`.

    Raises:
      ValueError: when flag and checkpoint contradict each other, or the pieces contradict the casing, unless
        allowed.
    """
    if declared is not None and asked is not None and declared != asked:
        allowance.conflict(
            "do_lower_case",
            f"--do_lower_case={asked} contradicts {declared_by}, which says {declared}",
            report,
        )
    if asked is not None:
        decided, reason = asked, "the flag --do_lower_case"
    elif declared is not None:
        decided, reason = declared, declared_by
    else:
        # The pieces decide: an uncased vocabulary has (almost) no piece with an upper-case letter.
        decided = Vocabulary(tokens, True, source).casing_warning() is None
        reason = f"the pieces of {source}, as nothing in the checkpoint says it"
    vocabulary = Vocabulary(tokens, decided, source)
    report.note(f"do_lower_case={decided}, from {reason}")
    warning = vocabulary.casing_warning()
    if warning is not None:
        allowance.conflict(
            "do_lower_case", f"{source}, do_lower_case={decided} from {reason}: {warning.rstrip('.')}", report
        )
    return vocabulary


def check_sizes(
    vocabulary: Vocabulary,
    config: EncoderConfig,
    source: str,
    recorded_size: int | None,
    allowance: Allowance,
    report: Report,
):
    """Refuses a vocabulary whose size does not fit the token table.

    More pieces than rows are always an error: ids would fall outside the table. Fewer pieces are accepted if
    the number of rows is the number of pieces rounded up to a multiple of 8, 16, 32, 64 or 128, if the
    checkpoint itself records the number of pieces, or if `vocab_size` is allowed.

    Raises:
      ValueError: when the vocabulary is refused.
    """
    rows, pieces = config.vocab_size, len(vocabulary)
    if pieces == rows:
        return
    if pieces > rows:
        raise ValueError(
            f"{source} has {pieces} pieces, but the config's vocab_size is {rows}: ids would fall outside "
            "the token table; take the vocabulary that this checkpoint was trained with."
        )
    if recorded_size == pieces or rows in {-(-pieces // step) * step for step in _PADDED_TO}:
        report.note(
            f"the token table has {rows - pieces} more rows than there are pieces ({pieces}): padding"
        )
        return
    allowance.conflict(
        "vocab_size",
        f"{source} has {pieces} pieces, but the config's vocab_size is {rows}: not the vocabulary that this "
        "checkpoint was trained with",
        report,
    )
