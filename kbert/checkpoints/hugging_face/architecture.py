"""The class of transformers whose tensors a file holds: config.json names it, and may be wrong."""

from absl import logging

from kbert.checkpoints.hugging_face.families import FAMILIES, find_task, require_readable
from kbert.files.json_values import shown_name
from kbert.heads.parts import MASKED_LM
from kbert.tasks.token_classification.tag_schemes import letters_scheme

# Tensors that a class of any family has -> the end of its name; the first that fits is taken. `{bias}` is the
# bias of the family's masked LM.
_HEADS = (
    ("{bias} cls.seq_relationship.weight", "ForPreTraining"),
    ("{bias}", "ForMaskedLM"),
    ("cls.seq_relationship.weight", "ForNextSentencePrediction"),
    ("qa_outputs.weight", "ForQuestionAnswering"),
    ("classifier.out_proj.weight", "ForSequenceClassification"),
    ("classifier.weight sequence_summary.summary.weight", "ForMultipleChoice"),
    ("classifier.weight", "ForTokenClassification"),
    ("", "Model"),
)


def find_class(config, stored, needs_head, report):
    """The class: that of config.json, but for heads that the file has or lacks against it."""
    family = FAMILIES[config.model_type]
    name = config.architecture
    if name is None or config.is_unknown:
        name = _guess_architecture(stored, family, config, needs_head, report)
    if not needs_head and name.endswith("ForMaskedLM") and _masked_lm_bias(family) not in stored.tensors:
        report.note(f"config.json says {name}, but there is no such head: the encoder alone is read")
        name = f"{family.name}Model"
    if name == "BertForMaskedLM" and "cls.seq_relationship.weight" in stored.tensors:
        report.note("config.json says BertForMaskedLM, but there is a next-sentence head: it is read too")
        name = "BertForPreTraining"
    return name


def _masked_lm_bias(family):
    return family.table[MASKED_LM.name][-1].outside


def _guess_architecture(stored, family, config, needs_head, report):
    """The class according to the heads in the file, where config.json names none or an unknown one.

    transformers writes the name of any class, such as `class Contriever(BertModel)`, and reads by model_type.
    """
    names, bias = stored.tensors.keys(), _masked_lm_bias(family)
    end = next(end for heads, end in _HEADS if set(heads.format(bias=bias).split()) <= names)
    other = None
    if end == "ForTokenClassification" and family.table["pooler"][0].outside in names:
        end, other = _pooled_heads(stored, family, config.id2label)
    name = family.name + end
    unknown = config.architecture and f"{shown_name(config.architecture)}, a class that kbert does not know"
    sentence = f"config.json names {unknown or 'no architecture'}; its tensors are those of {name}"
    report.note(sentence)
    if config.is_unknown and needs_head:  # sentence-transformers' modules need none
        if end == "Model":
            logging.warning("%s: %s; what its code does beside them is not done.", report.path, sentence)
        else:
            report.conflict(
                "architectures",
                f"{report.path}: {sentence}, but its code may make other answers of them; if it does not, "
                f'write "architectures": ["{name}"] there',
            )
    if other:
        other = family.name + other
        logging.warning(
            '%s: %s, or of %s: then write "architectures": ["%s"] there.', report.path, sentence, other, other
        )
    require_readable(name, report.path)
    return name


def _pooled_heads(stored, family, id2label):
    """(end of the class, that of another with the same tensors or None) of a plain classifier on a pooler.

    Multiple choice has one output. Taggers of families with a pooler had it until transformers 4.
    """
    tags, choices, texts = "ForTokenClassification", "ForMultipleChoice", "ForSequenceClassification"
    other = choices if num_outputs(stored) == 1 else tags
    if texts in family.own_poolers:  # its classifier of texts has other tensors
        return other, None
    taggers = {row.outside for row in family.table[find_task(family.name + tags)]}
    if not (family.has_pooler or family.table["pooler"][0].outside in taggers):
        return texts, None if other == tags else other
    has_tags = letters_scheme([str(label) for label in (id2label or {}).values()])
    return (tags, None) if has_tags else (texts, other)


def num_outputs(stored):
    names = ("classifier.weight", "classifier.out_proj.weight")
    head = next((stored.tensors[name] for name in names if name in stored.tensors), None)
    return head.shape[-1 if stored.as_in_keras else 0] if head is not None and head.shape else None
