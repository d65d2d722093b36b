"""Writes folders of transformers, and of sentence-transformers, without either."""

from pathlib import Path

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.checks import require_same, require_same_masked_lm
from kbert.checkpoints.conversion.names import rows
from kbert.checkpoints.conversion.resizing import POSITION_TABLE, as_bert
from kbert.checkpoints.hugging_face.config import CONFIG_FILE, build_config
from kbert.checkpoints.hugging_face.families import (
    FAMILIES,
    MPNET_BUCKETS,
    has_own_pooler,
    require_own_padding,
    stored_parts,
    written_model_type,
)
from kbert.checkpoints.hugging_face.modernbert import join_projections
from kbert.checkpoints.hugging_face.sentence_models import MODULES_FILE
from kbert.checkpoints.hugging_face.sentence_writing import write_sentence_modules
from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.checkpoints.model_variables import part_name, with_pooler
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.files.safetensors_file import write_safetensors
from kbert.files.whole_file import write_json
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary import Vocabulary


def write_hugging_face(checkpoint: BertCheckpoint, folder: Path, report: Report):
    """Writes what `transformers` loads with `AutoModel...` and `AutoTokenizer.from_pretrained(folder)`.

    A model with a pooling becomes a folder of sentence-transformers too: `SentenceTransformer(folder).encode`
    then gives the vectors of `embed`.

    Args:
      checkpoint: the model; only the tensors that it has are written.
      folder: an empty folder.
      report: takes every name. Settings that this format cannot express, and the user may allow:
        `masked_lm_settings`, `pooler_hidden_act`; for DistilBERT also `layer_norm_eps`, for MPNet also
        `pad_token_id`.

    Raises:
      ValueError: for settings that the class of transformers does not have, and for a task that has no class.
    """
    has_none = not checkpoint.encoder.type_vocab_size
    if has_none and written_model_type(checkpoint) in ("bert", "electra"):  # whose classes have segments
        checkpoint = as_bert(checkpoint)
    values = build_config(checkpoint)
    architecture, model_type = values["architectures"][0], values["model_type"]
    family = FAMILIES[model_type]
    require_same_masked_lm(checkpoint, f"transformers' {family.name}", report, family.masked_lm_act)
    if has_own_pooler(architecture) and model_type != "modernbert":
        require_same(checkpoint, "pooler_hidden_act", family.pooler_hidden_act, architecture, report)
    if model_type == "distilbert":
        require_same(checkpoint, "layer_norm_eps", EncoderConfig.layer_norm_eps, "DistilBERT", report)
    if model_type == "mpnet":
        for name, theirs in {"relative_attention_num_buckets": MPNET_BUCKETS, "type_vocab_size": 0}.items():
            require_same(checkpoint, name, theirs, "transformers' MPNet", report)
    require_own_padding(family, checkpoint.vocabulary, checkpoint.source, report)
    tensors = _named_tensors(checkpoint, family, architecture, report)
    write_safetensors(folder / "model.safetensors", join_projections(tensors), {"format": "pt"})
    write_json(values, folder / CONFIG_FILE)
    has_segments = checkpoint.encoder.type_vocab_size > 1
    vocabulary = checkpoint.vocabulary
    if checkpoint.pooling is not None:
        vocabulary = _before_lower_casing(vocabulary)
    prompt_tokens = getattr(checkpoint.pooling, "prompt_tokens", ())
    write_tokenizer(folder, vocabulary, checkpoint.max_seq_length, has_segments, architecture, prompt_tokens)
    hidden_act = values.get("hidden_act", values.get("activation"))
    report.note(f"architecture {architecture}; hidden_act {hidden_act!r}")
    if checkpoint.pooling is not None:
        _write_modules(checkpoint, folder, vocabulary is not checkpoint.vocabulary, report)
    left_over = checkpoint.tensors.keys() - {kbert for _, kbert, _ in report.taken}
    report.left_over.extend((name, f"{architecture} has no such variable") for name in sorted(left_over))


def _named_tensors(checkpoint, family, architecture, report):
    """What the weights file holds: the class's names -> tensors."""
    parts = stored_parts(architecture, checkpoint.parts)
    if family.has_pooler:
        parts = with_pooler(parts)
    prefix = "" if architecture.endswith("Model") else family.prefix
    tensors = {}
    for row in rows(family.name_table(architecture), parts, checkpoint.encoder.num_hidden_layers):
        outside = row.outside
        if part_name(row.kbert) == "body" or outside.startswith("pooler."):  # others' poolers are a head's
            outside = f"{prefix}{outside}"
        if row.kbert not in checkpoint.tensors:
            if row.kbert in checkpoint.shapes:
                report.not_in_file.append((row.kbert, "never trained, not written"))
            continue
        tensors[outside] = checkpoint.tensors[row.kbert].as_float32(row.transposed)
        if row.kbert == POSITION_TABLE:
            skipped = family.skipped_positions(checkpoint.vocabulary.pad_id)
            tensors[outside] = tensors[outside].after_zeros(skipped)
        report.taken.append((outside, row.kbert, "transposed" if row.transposed else "as it is"))
    return tensors


def _write_modules(checkpoint, folder, do_lower_case, report):
    """The files of sentence-transformers, which may lower-case texts before the tokenizer."""
    length: dict = {
        "max_seq_length": checkpoint.max_seq_length,
        "do_lower_case": do_lower_case,
    }
    encoder = checkpoint.encoder
    weighs_words = isinstance(checkpoint.pooling, SparsePoolingConfig)
    width = encoder.vocab_size if weighs_words else encoder.hidden_size
    write_sentence_modules(folder, checkpoint.pooling, length, width, checkpoint.tensors, report)
    report.note(f"{MODULES_FILE}, for sentence-transformers")


def _before_lower_casing(vocabulary: BaseVocabulary) -> BaseVocabulary:
    """The cased tokenizer to write where a folder of sentence-transformers lower-cases its texts before."""
    if not isinstance(vocabulary, Vocabulary) or vocabulary.rules.strip_accents:
        return vocabulary
    is_cased = vocabulary.do_lower_case and vocabulary.other_casing
    return vocabulary.with_rules(do_lower_case=False) if is_cased else vocabulary
