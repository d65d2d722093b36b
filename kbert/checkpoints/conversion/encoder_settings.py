"""Settings of an encoder that a format may lack: another masked-LM head, pooler or width of the tables."""

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.heads.parts import MASKED_LM, POOLER

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


def require_pooler(checkpoint: BertCheckpoint, theirs: str, house: str, allowance: Allowance, report: Report):
    """Refuses a pooler whose activation is not `theirs`; the setting is called `pooler_hidden_act`."""
    ours = checkpoint.encoder.pooler_hidden_act
    if POOLER.name in checkpoint.parts and ours != theirs:
        allowance.conflict(
            "pooler_hidden_act",
            f"the pooler's activation is {ours}, but {house} uses {theirs} and would give other numbers",
            report,
        )


def require_no_projection(encoder: EncoderConfig, where):
    """Raises ValueError for tables that are not as wide as the hidden states."""
    if encoder.embedding_size is not None:
        raise ValueError(
            f"{where}: embedding_size={encoder.embedding_size} should equal hidden_size="
            f"{encoder.hidden_size}: there is no projection between them; ELECTRA in Hugging Face's format "
            "has one."
        )
