"""The schemes that tags of entities are written in, and the way from each to IOB2 and back.

A tag is O, or a prefix, a hyphen and the type of the entity: B-PER. IOB2 begins every entity with B; IOB1
(CoNLL-2003) begins it with I, and with B only right after another entity of the same type; BIOES also marks
the last word with E and an entity of one word with S. kbert works with IOB2.

IOB1 is read with a B that need not be there as well: it can only mean the beginning of an entity, and two of
the 23,499 entities of CoNLL-2003's own training file begin so.

Reference: Ramshaw and Marcus, "Text chunking using transformation-based learning", 1995 (IOB1); Tjong Kim
Sang and Veenstra, "Representing text chunks", 1999 (IOB2); Ratinov and Roth, "Design challenges and
misconceptions in named entity recognition", 2009 (BIOES, there BILOU).
"""

from collections.abc import Iterable, Sequence

from absl import logging

OUTSIDE = "O"
SCHEMES = ("iob1", "iob2", "bioes")
_ENTITIES_FOR_A_NEEDLESS_B = 100
_PREFIXES = {"iob1": "BI", "iob2": "BI", "bioes": "BIES"}


def split_tag(tag: str) -> tuple[str, str]:
    """(prefix, type) of a tag; ("O", "") of O. The type may itself hold hyphens."""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def is_tag(label: str) -> bool:
    """Whether a label is O, or a tag of one of the schemes."""
    prefix, kind = split_tag(label)
    return label == OUTSIDE or (prefix in tuple("BIES") and bool(kind))


def scheme_problem(tags: Sequence[str], scheme: str) -> tuple[int, str] | None:
    """What is wrong with the tags of a sentence in a scheme: (index of the word, what); None when nothing is.

    Args:
      tags: the sentence's.
      scheme: one of `SCHEMES`.
    """
    for index, (before, tag, after) in enumerate(_with_neighbours(tags)):
        prefix, kind = split_tag(tag)
        if not is_tag(tag):
            return index, f"{tag!r} is no tag of an entity; expected O, or a prefix and a type such as B-PER"
        if tag != OUTSIDE and prefix not in _PREFIXES[scheme]:
            return index, f"{tag!r} has a prefix that {scheme} does not have"
        if tag != OUTSIDE and (why := _WRONG[scheme](before, (prefix, kind), after)):
            return index, f"{tag!r} {why}"
    return None


def _with_neighbours(tags):
    """(tag before as (prefix, type), tag, tag after) for each; O around the sentence."""
    split = [(OUTSIDE, ""), *map(split_tag, tags), (OUTSIDE, "")]
    return zip(split, tags, split[2:], strict=False)


def _wrong_in_iob2(before, tag, after):
    if tag[0] == "I" and before[1] != tag[1]:
        return "goes on with an entity that has not begun; iob2 begins it with B"
    return None


def _wrong_in_bioes(before, tag, after):
    prefix, kind = tag
    if prefix in "IE" and not (before[0] in ("B", "I") and before[1] == kind):
        return "goes on with an entity that has not begun; bioes begins it with B"
    if prefix in "BI" and not (after[0] in ("I", "E") and after[1] == kind):
        return "begins or goes on with an entity that does not end; bioes ends it with E, or writes S alone"
    return None


_WRONG = {"iob1": lambda *_: None, "iob2": _wrong_in_iob2, "bioes": _wrong_in_bioes}


def find_scheme(sentences: Iterable[tuple[Sequence[str], Sequence[str]]], path) -> str:
    """The scheme that all sentences of a file are in; iob2 where no sentence has an entity.

    Any entity decides: each scheme begins an entity after O in a way that the others do not have. Of IOB1 at
    most one entity in a hundred may begin with a B that need not be there; with more of them the file is a
    mixture of IOB1 and IOB2, of which nobody knows what it means.

    Args:
      sentences: the tags of each, and where each tag stands, such as "train.conll line 3".
      path: the file, for errors.

    Raises:
      ValueError: when they are in none, with what breaks each scheme first.
    """
    broken: dict[str, str] = {}
    needless, num_entities = [], 0  # where each B stands that IOB1 would not write
    for tags, locations in sentences:
        for scheme in SCHEMES:
            if scheme not in broken and (problem := scheme_problem(tags, scheme)):
                index, why = problem
                broken[scheme] = f"{locations[index]}: {why}"
        for where, (before, tag, _) in zip(locations, _with_neighbours(tags), strict=True):
            prefix, kind = split_tag(tag)
            is_new = bool(kind) and before[1] != kind
            num_entities += is_new or prefix == "B"
            if is_new and prefix == "B":
                needless.append(where)
    if len(needless) * _ENTITIES_FOR_A_NEEDLESS_B > num_entities:
        broken.setdefault("iob1", f"{needless[0]}: {len(needless)} entities begin with a needless B")
    able = [scheme for scheme in ("iob2", "bioes", "iob1") if scheme not in broken]
    if not able:
        breaks = "; ".join(f"{scheme} breaks at {where}" for scheme, where in broken.items())
        raise ValueError(
            f"{path}: its tags are in none of the schemes {', '.join(SCHEMES)}: {breaks}. Mend the file; for "
            'labels that are no entities, such as parts of speech, set dataset.tag_scheme = "none".'
        )
    if able[0] == "iob1" and needless:
        logging.warning(
            "%s is in iob1, but %s%s with a B- tag where iob1 has I-; the tags are read as they "
            "are written.",
            path, needless[0], f" and {len(needless) - 1} more begin" if needless[1:] else " begins",
        )  # fmt: skip
    return able[0]


def to_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The same entities in IOB2.

    Args:
      tags: of a sentence without a `scheme_problem`.
      scheme: one of `SCHEMES`.
    """
    converted = []
    for before, tag, _ in _with_neighbours(tags):
        prefix, kind = split_tag(tag)
        if scheme == "iob1" and prefix == "I" and before[1] != kind:
            prefix = "B"
        if scheme == "bioes":
            prefix = {"S": "B", "E": "I"}.get(prefix, prefix)
        converted.append(f"{prefix}-{kind}" if kind else tag)
    return tuple(converted)


def from_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """IOB2 in another scheme: the way back from `to_iob2`."""
    converted = []
    for before, tag, after in _with_neighbours(tags):
        prefix, kind = split_tag(tag)
        if scheme == "iob1" and prefix == "B" and before[1] != kind:
            prefix = "I"
        if scheme == "bioes" and kind:
            goes_on = after == ("I", kind)
            prefix = {"B": "B" if goes_on else "S", "I": "I" if goes_on else "E"}[prefix]
        converted.append(f"{prefix}-{kind}" if kind else tag)
    return tuple(converted)
