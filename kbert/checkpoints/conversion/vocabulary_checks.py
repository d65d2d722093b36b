"""Casing, and the vocabulary against the config: what must agree before any tensor is read."""

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.tokenization.vocabulary import Vocabulary

# Tables are often padded so that their rows divide well on accelerators: to a multiple of one of these.
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
    """The vocabulary with its casing, from what the folder says, the user's flag, and the pieces themselves.

    Args:
      tokens: the pieces in id order.
      source: the file they come from.
      declared: `do_lower_case` as the checkpoint's own files have it, or None.
      declared_by: where they say so.
      asked: the user's --do_lower_case, or None.
      allowance, report: see `Allowance.conflict`; the setting is called `do_lower_case`.

    Raises:
      ValueError: when flag and folder contradict each other, or the pieces speak against both.
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
        # Told by the pieces: an uncased vocabulary has (almost) no piece with an upper-case letter.
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
    """Refuses a vocabulary that is not the one of the token table.

    More pieces than rows is an error for good: ids would fall outside the table. Fewer pieces are accepted
    where the rows are the pieces rounded up to a multiple of 8 to 128, or where the checkpoint records the
    number of pieces itself.

    Raises:
      ValueError: as said, unless `vocab_size` is allowed for the second kind.
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
            f"the token table has {rows - pieces} rows more than there are pieces ({pieces}): padding"
        )
        return
    allowance.conflict(
        "vocab_size",
        f"{source} has {pieces} pieces, but the config's vocab_size is {rows}: not the vocabulary that this "
        "checkpoint was trained with",
        report,
    )
