"""The choice of masked places in plain Python lists: the reference that the fast code is compared with.

Written independently of kbert, from the descriptions of google-research/bert's create_pretraining_data.py
(pieces and words) and of google-research/albert's (spans). Random draws are separate from the rules, so the
same rules serve for sampling and for enumerating all cases.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction


def groups_of(row, length, special, continuing=frozenset()):
    """Lists of places: single pieces, or words when `continuing` names the ids that continue one."""
    groups = []
    for place in range(length):
        if row[place] in special:
            continue
        if groups and row[place] in continuing:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def number_to_predict(length, prob, max_predictions):
    return min(max_predictions, max(1, int(round(length * prob))))


def choose(groups, number, order, span_lengths):
    """The chosen places, when groups are tried in `order` with these lengths of spans."""
    chosen = set()
    for first, span_length in zip(order, span_lengths, strict=True):
        span = [groups[first]]
        for group in groups[first + 1 : first + span_length]:
            if group[0] != span[-1][-1] + 1:
                break
            span.append(group)
        while len(span) > 1 and len(chosen) + sum(map(len, span)) > number:
            span.pop()
        places = [place for group in span for place in group]
        if len(chosen) + len(places) <= number and chosen.isdisjoint(places):
            chosen.update(places)
    return tuple(sorted(chosen))


def distribution(groups, number, max_ngram_size) -> dict[tuple, float]:
    """The exact probability of every choice, by going through all orders and all lengths."""
    lengths = range(1, max_ngram_size + 1)
    share = {n: Fraction(1, n) / sum(Fraction(1, m) for m in lengths) for n in lengths}
    chances = Counter()
    for drawn in itertools.product(lengths, repeat=len(groups)):
        chance = math.prod((share[n] for n in drawn), start=Fraction(1, math.factorial(len(groups))))
        for order in itertools.permutations(range(len(groups))):
            chances[choose(groups, number, order, drawn)] += chance
    assert sum(chances.values()) == 1
    return {chosen: float(chance) for chosen, chance in chances.items()}
