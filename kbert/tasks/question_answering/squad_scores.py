"""The official scores of SQuAD v1.1 and v2.0, in percent. Standard library only.

Source of every rule: the official evaluate-v1.1.py and evaluate-v2.0.py (worksheets.codalab.org), which give
the same numbers to the last digit. The two differ where an answer holds no word: for v1.1 two answers without
a common word have F1 0, for v2.0 an answer without words equals only another one.
"""

import collections
import re
import string
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))


def normalized(answer: str) -> str:
    """An answer as it is compared: lower-cased, without ASCII punctuation and articles, words by a space."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, right: str) -> float:
    """1.0 where two answers are the same once they are normalized, else 0.0."""
    return float(normalized(answer) == normalized(right))


def f1(answer: str, right: str, unanswerable: bool) -> float:
    """The harmonic mean of precision and recall of the words in an answer.

    Args:
      answer, right: the predicted and the right one.
      unanswerable: by the rule of v2.0; see above.
    """
    answer_words, right_words = normalized(answer).split(), normalized(right).split()
    if unanswerable and not (answer_words and right_words):
        return float(answer_words == right_words)
    shared = sum((collections.Counter(answer_words) & collections.Counter(right_words)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(answer_words), shared / len(right_words)
    return 2 * precision * recall / (precision + recall)


def best_scores(answer: str, right: Sequence[str], unanswerable: bool) -> tuple[float, float]:
    """(exact match, F1) against the right answer that each likes best.

    Args:
      answer: what was said.
      right: all right answers; none where there is no answer, which "" is then right for.
      unanswerable: by the rules of v2.0, where right answers without words do not count.
    """
    if unanswerable:
        right = [text for text in right if normalized(text)] or [""]
    return max(exact_match(answer, text) for text in right), max(
        f1(answer, text, unanswerable) for text in right
    )


def scores_v1(answers: Sequence[str], right: Sequence[Sequence[str]]) -> dict[str, float]:
    """`exact_match` and `f1` of v1.1.

    Args:
      answers: what was said to each question.
      right: the right answers of each, one at least.
    """
    pairs = [best_scores(answer, golds, False) for answer, golds in zip(answers, right, strict=True)]
    return {"exact_match": _percent(pair[0] for pair in pairs), "f1": _percent(pair[1] for pair in pairs)}


def scores_v2(
    answers: Sequence[str], null_odds: Sequence[float], right: Sequence[Sequence[str]], threshold: float
) -> dict[str, float]:
    """The scores of v2.0: at a threshold, at the best ones, and of two constant rules.

    Args:
      answers: the best answer to each question that is not "".
      null_odds: the score of no answer minus the answer's; beyond `threshold`, the answer is "".
      right: the right answers of each question, empty where there is none.
      threshold: see `null_odds`.

    Returns:
      name -> percent, but for thresholds: `exact_match` and `f1`; `HasAns_exact`, `HasAns_f1`, `NoAns_exact`
      and `NoAns_f1` of the questions with and without an answer, where there are any; `best_exact`,
      `best_exact_thresh`, `best_f1` and `best_f1_thresh`; `chosen_threshold`, which gives the best F1 (see
      `usable_threshold`); `baseline_exact_match` and `baseline_f1` of answering nothing;
      `always_answered_exact_match` and `always_answered_f1`.
    """
    raw = [best_scores(answer, golds, True) for answer, golds in zip(answers, right, strict=True)]
    has_answer = [bool(golds) for golds in right]
    metrics = {}
    columns = {"exact": [pair[0] for pair in raw], "f1": [pair[1] for pair in raw]}
    for name, scores in columns.items():
        full_name = {"exact": "exact_match", "f1": "f1"}[name]
        kept = [
            float(not has) if odds > threshold else score
            for score, odds, has in zip(scores, null_odds, has_answer, strict=True)
        ]
        metrics[full_name] = _percent(kept)
        for group, wanted in (("HasAns", True), ("NoAns", False)):
            if wanted in has_answer:
                own = (score for score, has in zip(kept, has_answer, strict=True) if has == wanted)
                metrics[f"{group}_{name}"] = _percent(own)
        best, where = best_threshold(answers, scores, null_odds, has_answer)
        metrics |= {f"best_{name}": best, f"best_{name}_thresh": where}
        metrics[f"baseline_{full_name}"] = _percent(float(not has) for has in has_answer)
        metrics[f"always_answered_{full_name}"] = _percent(scores)
    return metrics | {"chosen_threshold": usable_threshold(columns["f1"], null_odds, has_answer)}


def usable_threshold(
    scores: Sequence[float], null_odds: Sequence[float], has_answer: Sequence[bool]
) -> float:
    """The threshold to answer with, in the middle between two odds: the lowest of those that give the best
    score. So odds that are computed otherwise, in another batch or an export, stay on their side. Arguments
    as below.

    The official threshold differs. It may part questions of equal odds, which no threshold does. It counts an
    answer without words, such as "the", as one, though it is scored as none. And where no answer is the
    best it is 0, the start value, which would give every answer with odds below 0; here it is below all odds.
    """
    gains = [score - (not has) for score, has in zip(scores, has_answer, strict=True)]
    reached = {float(min(null_odds)) - 1.0: float(sum(not has for has in has_answer))}
    reached |= dict(_walk(gains, null_odds, has_answer))  # of equal odds the last
    best = max(reached, key=reached.__getitem__)
    return (best + min((odds for odds in reached if odds > best), default=best + 2.0)) / 2.0


def best_threshold(
    answers: Sequence[str], scores: Sequence[float], null_odds: Sequence[float], has_answer: Sequence[bool]
) -> tuple[float, float]:
    """The highest score that a threshold of `null_odds` gives, in percent, and that threshold.

    As the official `find_best_thresh`: it begins with no answer at all and the threshold 0, and walks by
    rising odds, questions of equal odds one by one. Chosen on the data that it is judged by, it flatters.

    Args:
      answers: the answers.
      scores: what each is worth where it is given.
      null_odds, has_answer: as in `scores_v2`.
    """
    gains = [
        score if has else -bool(answer)
        for answer, score, has in zip(answers, scores, has_answer, strict=True)
    ]
    best, where = float(sum(not has for has in has_answer)), 0.0
    for odds, current in _walk(gains, null_odds, has_answer):
        if current > best:
            best, where = current, odds
    return 100.0 * best / len(answers), where


def _walk(gains, null_odds, has_answer):
    """(odds, the sum of scores when this question and all before are answered), by rising odds."""
    current = float(sum(not has for has in has_answer))
    for index in sorted(range(len(gains)), key=lambda index: null_odds[index]):
        current += gains[index]
        yield float(null_odds[index]), current


def _percent(scores):
    scores = list(scores)
    return 100.0 * sum(scores) / len(scores)
