"""The schemes that tags of entities are written in, and the way from each to IOB2 and back.

A tag is O, or a prefix, a hyphen and the type of the entity: B-PER. IOB2 begins every entity with B; IOB1
(CoNLL-2003) begins it with I, and with B only right after another entity of the same type. IOE2 and IOE1 do
the same with E at the end. BIOES marks the first word with B, the last with E and an entity of one word with
S; BILOU, BMES and BMEWO are the same in other letters. A file of I alone is IOB1. kbert works with IOB2.

Tags of B and I alone mean the same in both: B begins an entity, and so does I unless a tag of its type
stands before it. So a file may have both beginnings, as conlleval and seqeval read it, with a warning. Two of
the 23,499 entities of CoNLL-2003's own training file, in IOB1, begin with a B that need not be there.

Reference: Ramshaw and Marcus, "Text chunking using transformation-based learning", 1995 (IOB1); Tjong Kim
Sang and Veenstra, "Representing text chunks", 1999 (IOB2, IOE1, IOE2); Ratinov and Roth, "Design challenges
and misconceptions in named entity recognition", 2009 (BILOU).
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kbert.input_pipelines.label_checks import mostly_once

OUTSIDE = "O"
# The letters of schemes that mark the first, an inner, the last and a single word of an entity.
_LETTERS = {"bioes": "BIES", "bilou": "BILU", "bmes": "BMES", "bmewo": "BMEW"}
_TO_BIOES = {scheme: str.maketrans(letters, "BIES") for scheme, letters in _LETTERS.items()}
_TYPED = frozenset("BIESLUMW")  # the prefixes, which a type follows
_PREFIXES = {"iob1": "BI", "iob2": "BI", "ioe1": "IE", "ioe2": "IE"} | _LETTERS
SCHEMES = tuple(_PREFIXES)
_TRIED = ("iob2", "bioes", "bilou", "bmes", "bmewo", "ioe2", "ioe1")  # the first that fits is taken
_NAMED = ("iob1", "iob2", "bioes")  # where none fits, and no letter is that of another


def split_tag(tag: str) -> tuple[str, str]:
    """(prefix, type) of a tag; ("O", "") of O. The type may itself hold hyphens."""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def is_tag(label: str) -> bool:
    """Whether a label is O, or a tag of one of the schemes."""
    prefix, kind = split_tag(label)
    return label == OUTSIDE or (prefix in _TYPED and bool(kind))


def labels_in_bioes(labels: Sequence[str]) -> dict[str, str] | None:
    """label -> tag with the letters of BIOES, for labels of a model that are tags of it, of one of its
    spellings, or of IOB. A tag alone does not say what it is in IOB2: that is for the tags around it to say.

    None for other labels, and where all are O.
    """
    scheme = letters_scheme(labels)
    return {label: "-".join(filter(None, _split(label, scheme))) for label in labels} if scheme else None


def letters_scheme(labels: Sequence[str]) -> str | None:
    """The scheme of a model's labels: BIOES or one of its spellings, to which labels of IOB2 belong too.

    None for other labels, and where all are O.
    """
    if not all(map(is_tag, labels)):
        return None
    prefixes = {split_tag(label)[0] for label in labels} - {OUTSIDE}
    known = (scheme for scheme, letters in _LETTERS.items() if prefixes <= set(letters))
    return next(known, None) if prefixes else None


def scheme_of_labels(labels: Sequence[str]) -> str:
    """The scheme that the labels of a model have room for: IOB2 as a rule.

    BIOES or one of its spellings where there are its letters; IOE2 with I and E alone; IOB1 where a type has
    I and no B, since IOB2 begins every entity with B. Labels of both schemes (B and I of every type) are
    taken for IOB2's.
    """
    scheme, known = letters_scheme(labels), set(labels)
    prefixes = {split_tag(label)[0] for label in labels} - {OUTSIDE}
    if scheme and not prefixes <= {"B", "I"}:
        return "ioe2" if prefixes <= {"I", "E"} else scheme
    inner = (split_tag(label)[1] for label in labels if is_tag(label) and label.startswith("I"))
    return "iob1" if scheme and any(f"B-{kind}" not in known for kind in inner) else "iob2"


def scheme_problem(tags: Sequence[str], scheme: str) -> tuple[int, str] | None:
    """What is wrong with the tags of a sentence in a scheme: (index of the word, what); None when nothing is.

    Args:
      tags: the sentence's.
      scheme: one of `SCHEMES`.
    """
    for index, (before, (prefix, kind), after) in enumerate(_with_neighbours(tags, scheme)):
        tag = tags[index]
        if why := _no_tag(tag):
            return index, f"{tag!r} {why}"
        if tag != OUTSIDE and split_tag(tag)[0] not in _PREFIXES[scheme]:
            return index, f"{tag!r} has a prefix that {scheme} does not have"
        if tag != OUTSIDE and (why := _WRONG[scheme](before, (prefix, kind), after)):
            letters = _LETTERS.get(scheme, "BIES")
            return index, f"{tag!r} {why.format(scheme=scheme, E=letters[2], S=letters[3])}"
    return None


@functools.lru_cache(maxsize=4096)  # a file has few tags and many words
def _no_tag(tag):
    """Why a label of a file is no tag in any scheme; "" for one that is."""
    kind = split_tag(tag)[1]
    if not is_tag(tag):
        return "is no tag of an entity; expected O, or a prefix and a type such as B-PER"
    if kind == OUTSIDE:
        return "says that the type is O, which means no entity; write O, or call the type otherwise"
    is_joined = any(map(is_tag, re.split("[|;,#]", kind)[1:]))
    return "is several tags in one, and a word has one; keep that of one entity" if is_joined else ""


def _with_neighbours(tags, scheme):
    """(tag before, tag, tag after) of each as (prefix, type), with BIOES's letters; O around the sentence."""
    split = [(OUTSIDE, ""), *(_split(tag, scheme) for tag in tags), (OUTSIDE, "")]
    return zip(split, split[1:], split[2:], strict=False)


def _split(tag, scheme):
    """`split_tag` with BIOES's letters."""
    prefix, kind = split_tag(tag)
    return prefix.translate(_TO_BIOES.get(scheme, {})), kind


def _wrong_in_bioes(before, tag, after):
    prefix, kind = tag
    if prefix in "IE" and not (before[0] in ("B", "I") and before[1] == kind):
        return "goes on with an entity that has not begun; {scheme} begins it with B"
    if prefix in "BI" and not (after[0] in ("I", "E") and after[1] == kind):
        return (
            "begins or goes on with an entity that does not end; {scheme} ends it with {E} or has {S} alone"
        )
    return None


def _wrong_in_ioe2(before, tag, after):
    return None if tag[0] == "E" or after[1] == tag[1] else "does not end; ioe2 ends every entity with E"


def _wrong_in_ioe1(before, tag, after):
    needless = tag[0] == "E" and after[1] != tag[1]
    return "ends an entity with E that no other of its type follows; ioe1 has I there" if needless else None


_WRONG = dict.fromkeys(_LETTERS, _wrong_in_bioes) | {
    **dict.fromkeys(("iob1", "iob2"), lambda *_: None),
    "ioe1": _wrong_in_ioe1,
    "ioe2": _wrong_in_ioe2,
}


def other_beginnings(tags: Sequence[str], scheme: str) -> Iterator[int]:
    """Where an entity begins as in IOB1 in a sentence of IOB2, or as in IOB2 in one of IOB1: I or B for the
    first word of an entity that follows none of its type. Of other schemes there are none."""
    other = {"iob1": "B", "iob2": "I"}.get(scheme)
    if other is None:
        return
    for index, (before, (prefix, kind), _) in enumerate(_with_neighbours(tags, scheme)):
        if prefix == other and before[1] != kind:
            yield index


def find_scheme(sentences: Iterable[tuple[Sequence[str], Sequence[str]]], path) -> str:
    """The scheme that all sentences of a file are in; iob2 where no sentence has an entity.

    Any entity decides: each scheme begins an entity after O in a way that the others do not have. Of a file
    that begins some as in IOB1 and some as in IOB2, which means the same, it is that of most of them.

    Args:
      sentences: the tags of each, and where each tag stands, such as "train.conll line 3".
      path: the file, for errors.

    Raises:
      ValueError: when they are in none, with what breaks each scheme first.
    """
    broken: dict[str, str] = {}
    others = {"iob1": 0, "iob2": 0}  # how many entities begin otherwise
    seen = Counter[str]()
    for tags, locations in sentences:
        seen.update(tags)
        for scheme in SCHEMES:
            if scheme not in broken and (problem := scheme_problem(tags, scheme)):
                index, why = problem
                broken[scheme] = f"{locations[index]}: {why}"
        for scheme in others:
            others[scheme] += len(list(other_beginnings(tags, scheme)))
    scheme = next((scheme for scheme in _TRIED if scheme not in broken), None)
    if scheme is None:
        raise ValueError(_no_scheme(path, broken, seen))
    return "iob1" if scheme == "iob2" and others["iob1"] < others["iob2"] else scheme


def _no_scheme(path, broken, seen):
    """Where the schemes with the letters of a file break, or the usual schemes."""
    tags = {*seen} - {OUTSIDE}
    letters = {split_tag(tag)[0] for tag in tags if is_tag(tag)}
    named = [scheme for scheme in SCHEMES if letters and letters <= set(_PREFIXES[scheme])] or _NAMED
    breaks = {broken[scheme]: f"{scheme} breaks at {broken[scheme]}" for scheme in named}
    is_same = len(breaks) == 1 < len(named)  # such as a tag of no scheme at all
    shown = "; ".join(breaks if is_same else breaks.values())
    mend = "types of entities without a prefix may get I-, words outside are O"
    if tags <= _TYPED:
        command = r"sed -E 's/([[:blank:]][BIESLUMW])$/\1-ENTITY/' OLD > NEW"
        mend = f"letters alone need a type, in columns: {command}"
    advice = (
        f"Fix the file ({mend}); for labels that are no entities, such as parts of speech, set "
        'dataset.tag_scheme = "none".'
    )
    if (once := mostly_once(seen)) and 2 * sum(map(is_tag, seen)) < len(seen):
        advice = (
            f"{once:,} of {len(seen):,} tags occur once, as words do. In columns the last is the tag, where "
            "dataset.column_names does not name all, and dataset.text and dataset.label two of them."
        )
    return f"{path}: its tags are in none of the schemes {', '.join(SCHEMES)}: {shown}. {advice}"


def to_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The same entities in IOB2.

    Args:
      tags: of a sentence without a `scheme_problem`.
      scheme: one of `SCHEMES`.
    """
    converted = []
    for before, (prefix, kind), _ in _with_neighbours(tags, scheme):
        goes_on = before[1] == kind and before[0] not in ("E", "S")
        is_new = dict.fromkeys(("iob1", "iob2"), prefix == "B" or not goes_on)
        is_new |= dict.fromkeys(("ioe1", "ioe2"), not goes_on)
        is_first = is_new.get(scheme, prefix in ("B", "S"))
        converted.append(f"{'B' if is_first else 'I'}-{kind}" if kind else OUTSIDE)
    return tuple(converted)


def from_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """IOB2 in another scheme: the way back from `to_iob2`."""
    converted = []
    for before, (prefix, kind), after in _with_neighbours(tags, "iob2"):
        is_first, ends = prefix == "B", after != ("I", kind)
        first, inner, last, single = tuple(_LETTERS.get(scheme, "BIES"))
        letters = {
            "iob1": "B" if is_first and before[1] == kind else "I",
            "iob2": prefix,
            "ioe1": "E" if ends and after[1] == kind else "I",
            "ioe2": "E" if ends else "I",
        }
        marked = (single if ends else first) if is_first else (last if ends else inner)
        converted.append(f"{letters.get(scheme, marked)}-{kind}" if kind else OUTSIDE)
    return tuple(converted)
