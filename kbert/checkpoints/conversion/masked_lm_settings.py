"""Masked-LM heads whose activation and epsilon may differ from the encoder's, as in KerasHub."""

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.report import Report
from kbert.heads.parts import MASKED_LM

MASKED_LM_KEYS = ("masked_lm_hidden_act", "masked_lm_layer_norm_eps")


def require_settings(
    checkpoint: BertCheckpoint,
    house: str,
    allowance: Allowance,
    report: Report,
    theirs: tuple[str, float] | None = None,
):
    """Refuses a masked-LM head whose activation or epsilon is not that of the code that will read it.

    Args:
      checkpoint: the model to write.
      house: whose code will read it, for the error message.
      allowance, report: see `Allowance.conflict`; the setting is called `masked_lm_settings`.
      theirs: (activation, epsilon) of their heads; None where these are always the encoder's.

    Raises:
      ValueError: unless allowed.
    """
    encoder, settings = checkpoint.encoder, checkpoint.encoder.masked_lm_settings
    theirs = theirs or (encoder.hidden_act, encoder.layer_norm_eps)
    if MASKED_LM.name in checkpoint.parts and settings != theirs:
        ours, other = (f"{name} and epsilon {eps:g}" for name, eps in (settings, theirs))
        allowance.conflict(
            "masked_lm_settings",
            f"the masked-LM head uses {ours}, but {house} uses {other} and would give other logits",
            report,
        )
