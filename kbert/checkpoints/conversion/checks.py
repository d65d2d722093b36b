"""What must agree before a tensor is read or written: casing, sizes, and settings that a format may lack."""

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.heads.parts import MASKED_LM, POOLER
from kbert.tokenization.base_vocabulary import BERT_TOKENS, BaseVocabulary, SpecialTokens
from kbert.tokenization.casing import casing_contradiction, casing_shown, cut_by_others
from kbert.tokenization.vocabulary import Vocabulary, require_wordpiece

MASKED_LM_KEYS = ("masked_lm_hidden_act", "masked_lm_layer_norm_eps")
# The rows of a table are often padded to a multiple of one of these, for speed on accelerators.
_PADDED_TO = (8, 16, 32, 64, 128)
# XLM-R's pieces -> the rows of multilingual MiniLM and of what was trained from it, such as e5-small.
_PUBLISHED_ROWS = {250_002: 250_037}


def decide_casing(
    tokens,
    source: str,
    declared: bool | None,
    declared_by: str,
    flag: bool | None,
    report: Report,
    special_tokens: SpecialTokens = BERT_TOKENS,
    is_known: bool = False,
    **rules,
) -> Vocabulary:
    """The vocabulary with its casing: that of the user's flag, of the checkpoint, or what the tokens prove.

    Args:
      tokens: those of the vocabulary, in id order.
      source: the file they come from.
      declared: `do_lower_case` as the checkpoint says it, or None.
      declared_by: the file or name that says it.
      flag: the user's `do_lower_case`, or None.
      report: see `Report.conflict`; the setting is called `do_lower_case`.
      special_tokens: the vocabulary's.
      is_known: whether kbert wrote the checkpoint and knew its casing, whatever the tokens look like.
      rules: the other arguments of `Vocabulary`.

    Raises:
      ValueError: when flag and checkpoint contradict each other, or the tokens prove the other casing, unless
        allowed; and when nothing shows it.
    """
    if declared is not None and flag is not None and declared != flag:
        report.conflict(
            "do_lower_case", f"do_lower_case={flag} contradicts {declared_by}, which says {declared}"
        )
    if flag is not None:
        decided, reason = flag, "the argument do_lower_case"
    elif declared is not None:
        decided, reason = declared, declared_by
    else:
        decided = _shown_casing(tokens, source)
        reason = f"the tokens of {source}, as nothing in the checkpoint says it"
    vocabulary = Vocabulary(tokens, decided, source, special_tokens, **rules)
    report.note(f"do_lower_case={decided}, from {reason}")
    for name, value in vocabulary.rules.not_googles.items():
        report.note(f"{name}={value}, which google-research/bert does not have; kbert follows it")
    if cut := cut_by_others(tokens, vocabulary.rules):
        report.warn(f"{source}: {cut}")
    contradiction = casing_contradiction(tokens, vocabulary.rules)
    if contradiction is None or (is_known and decided == declared):
        return vocabulary
    sentence = f"{source}, do_lower_case={decided} from {reason}: {contradiction.what}: {contradiction.looks}"
    if contradiction.flag:  # which would contradict what is declared, too
        correct = f"correct {declared_by}, unless the model was trained so"
        sentence += f"; try {contradiction.flag}" if declared is None else f"; {correct}"
    if contradiction.is_certain:
        report.conflict("do_lower_case", sentence)
    else:
        report.warn(sentence)
    return vocabulary


def _shown_casing(tokens, source) -> bool:
    shown = casing_shown(tokens)
    if shown is None:
        raise ValueError(
            f"{source}: nothing says whether texts are lower-cased, and the tokens do not show it: write "
            "do_lower_case into the tokenizer_config.json of a Hugging Face folder, or give a checkpoint "
            "do_lower_case=True or False (--do_lower_case, --nodo_lower_case, of commands that have them). "
            "The other one would make other tokens."
        )
    return shown


def require_berts_vocabulary(vocabulary: BaseVocabulary, library: str) -> Vocabulary:
    """The vocabulary, if it is one of WordPieces with BERT's special tokens.

    Args:
      vocabulary: what to write.
      library: whose code finds these tokens by their names.

    Raises:
      ValueError: for another one.
    """
    own = require_wordpiece(vocabulary, library)
    if own.special_tokens != BERT_TOKENS:
        raise ValueError(
            f"{library} finds the special tokens {', '.join(BERT_TOKENS)} by their names, and this model has "
            f"{', '.join(own.special_tokens)}; --format=kbert or hugging_face keeps them."
        )
    return own


def require_googles_rules(vocabulary: Vocabulary, library: str, report: Report):
    """Refuses to write WordPieces for code that cuts texts by the rules of google-research/bert alone.

    Another limit of a word's length is a note: it changes words of a hundred characters and more.

    Args:
      vocabulary: what to write; its rules are written beside it, for kbert.
      library: whose code that is.
      report: see `Report.conflict`; the settings are called `strip_accents` and `tokenize_chinese_chars`.

    Raises:
      ValueError: unless allowed.
    """
    for name, value in vocabulary.rules.not_googles.items():
        sentence = (
            f"{name} is {str(value).lower()}, which {library} does not have: it would make other tokens"
        )
        if name == "max_input_chars_per_word":
            report.note(f"{sentence} of longer words")
        else:
            report.conflict(name, sentence)


def check_sizes(
    vocabulary: BaseVocabulary,
    config: EncoderConfig,
    source: str,
    recorded_size: int | None,
    report: Report,
):
    """Refuses a vocabulary whose size does not fit the token table.

    More tokens than rows are always an error: ids would fall outside the table. Fewer tokens are accepted if
    the number of rows is the number of tokens rounded up to a multiple of 8, 16, 32, 64 or 128, or the one
    that multilingual MiniLM has, if the checkpoint itself records the number of tokens, or if `vocab_size` is
    allowed.

    Raises:
      ValueError: when the vocabulary is refused.
    """
    rows, num_tokens = config.vocab_size, len(vocabulary)
    if num_tokens == rows:
        return
    if num_tokens > rows:
        raise ValueError(
            f"{source} has {num_tokens} tokens, but the config's vocab_size is {rows}: ids would fall "
            "outside the token table; take the vocabulary that this checkpoint was trained with."
        )
    padded = {_PUBLISHED_ROWS.get(num_tokens), *(-(-num_tokens // step) * step for step in _PADDED_TO)}
    if recorded_size == num_tokens or rows in padded:
        report.note(
            f"the token table has {rows - num_tokens} more rows than there are tokens ({num_tokens}): padding"
        )
        return
    report.conflict(
        "vocab_size",
        f"{source} has {num_tokens} tokens, but the config's vocab_size is {rows}: not the vocabulary that "
        "this checkpoint was trained with",
    )


def require_same(checkpoint: BertCheckpoint, name: str, theirs, library: str, report: Report):
    """Refuses to write a model for code that has another value for a setting.

    Args:
      checkpoint: the model to write.
      name: a setting of its encoder; `pooler_hidden_act` is not looked at in a model without a pooler.
      theirs: the value in the code that will read it.
      library: whose code that is, for the error message.
      report: see `Report.conflict`.

    Raises:
      ValueError: unless allowed.
    """
    ours = getattr(checkpoint.encoder, name)
    if ours != theirs and (name != "pooler_hidden_act" or POOLER.name in checkpoint.parts):
        report.conflict(
            name, f"{name} is {ours!r}, but {library} always takes {theirs!r} and would give other numbers"
        )


def require_same_masked_lm(
    checkpoint: BertCheckpoint,
    library: str,
    report: Report,
    their_act: str | None = None,
    their_eps: float | None = None,
):
    """The same for the activation and the epsilon of a masked-LM head, together `masked_lm_settings`.

    What is None is always the encoder's.
    """
    encoder, settings = checkpoint.encoder, checkpoint.encoder.masked_lm_settings
    theirs = (their_act or encoder.hidden_act, encoder.layer_norm_eps if their_eps is None else their_eps)
    if MASKED_LM.name in checkpoint.parts and settings != theirs:
        ours, other = (f"{name} and epsilon {eps:g}" for name, eps in (settings, theirs))
        report.conflict(
            "masked_lm_settings",
            f"the masked-LM head uses {ours}, but {library} uses {other} and would give other logits",
        )


# The settings of `EncoderConfig` that only ModernBERT changes.
_MODERN = (
    "normalize_first",
    "is_gated_act",
    "attention_bias",
    "mlp_bias",
    "norm_bias",
    "classifier_bias",
    "classifier_pooling",
    "global_rope_theta",
    "local_attention",
)


def require_berts_blocks(encoder: EncoderConfig, where):
    """Raises ValueError for an encoder with a setting of ModernBERT's, which no other family has."""
    for name in _MODERN:
        value = getattr(encoder, name)
        if value != getattr(EncoderConfig, name):
            raise ValueError(
                f"{where}: {name}={value!r}, but the blocks of BERT and those after it have "
                f"{getattr(EncoderConfig, name)!r} there; ModernBERT in Hugging Face's format has all of its "
                "settings, and a run (--format=kbert) has any of them."
            )


def require_bert(encoder: EncoderConfig, where):
    """Raises ValueError for an encoder that no BERT of Google's or KerasHub's code can be."""
    require_berts_blocks(encoder, where)
    if encoder.embedding_size is not None:
        raise ValueError(
            f"{where}: embedding_size={encoder.embedding_size} should equal hidden_size="
            f"{encoder.hidden_size}: there is no projection between them; ELECTRA in Hugging Face's format "
            "has one."
        )
    if encoder.relative_attention_num_buckets or not encoder.type_vocab_size:
        raise ValueError(
            f"{where}: relative_attention_num_buckets={encoder.relative_attention_num_buckets} and "
            f"type_vocab_size={encoder.type_vocab_size}: BERT has no relative positions, and has segments; "
            "MPNet in Hugging Face's format is otherwise."
        )
