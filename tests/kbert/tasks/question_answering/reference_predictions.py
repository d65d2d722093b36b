"""run_squad.py's way from logits to answers, in plain Python and our words: `write_predictions` and what it
calls. It tokenizes word by word, knows no offsets, and shares no code with kbert."""

import math

from tests.kbert.tokenization import reference_tokenizer
from tests.kbert.tokenization.test_window_packer import reference_is_max_context, reference_spans


def white_space_words(context):
    words, begins_new = [], True
    for character in context:
        if character in (" ", "\t", "\r", "\n") or ord(character) == 0x202F:
            begins_new = True
        elif begins_new:
            words.append(character)
            begins_new = False
        else:
            words[-1] += character
    return words


def tokens_of(text, vocabulary):
    return reference_tokenizer.tokenize(text, vocabulary.ids, vocabulary.do_lower_case)


def windows_of(question, vocabulary, settings, max_seq_length):
    """Dicts with `tokens`, `word_of` (position -> word) and `max_context` (position -> whether)."""
    words = white_space_words(question.context)
    pieces = [(piece, place) for place, word in enumerate(words) for piece in tokens_of(word, vocabulary)]
    query = tokens_of(question.question, vocabulary)[: settings.max_query_length]
    spans = reference_spans(len(pieces), max_seq_length - len(query) - 3, settings.doc_stride)
    windows = []
    for number, (first, length) in enumerate(spans):
        tokens = ["[CLS]", *query, "[SEP]"]
        word_of, max_context = {}, {}
        for place in range(first, first + length):
            word_of[len(tokens)] = pieces[place][1]
            max_context[len(tokens)] = reference_is_max_context(spans, number, place)
            tokens.append(pieces[place][0])
        windows.append({"tokens": [*tokens, "[SEP]"], "word_of": word_of, "max_context": max_context})
    return words, windows


def best_indexes(logits, number):
    return [index for index, _ in sorted(enumerate(logits), key=lambda pair: pair[1], reverse=True)][:number]


def final_text(predicted, original, do_lower_case):
    def without_spaces(text):
        kept = [(place, character) for place, character in enumerate(text) if character != " "]
        return "".join(character for _, character in kept), {n: place for n, (place, _) in enumerate(kept)}

    tokenized = " ".join(reference_tokenizer.split_words(original, do_lower_case))
    begin = tokenized.find(predicted)
    if begin == -1:
        return original
    end = begin + len(predicted) - 1
    original_letters, original_places = without_spaces(original)
    tokenized_letters, tokenized_places = without_spaces(tokenized)
    if len(original_letters) != len(tokenized_letters):
        return original
    number_at = {place: number for number, place in tokenized_places.items()}
    if begin not in number_at or end not in number_at:
        return original
    return original[original_places[number_at[begin]] : original_places[number_at[end]] + 1]


def candidates_of(windows, logits, settings):
    """(window, start, end, start logit, end logit), by falling sum."""
    found = []
    for number, window in enumerate(windows):
        starts, ends = logits[number]
        for start in best_indexes(starts, settings.n_best_size):
            for end in best_indexes(ends, settings.n_best_size):
                if start not in window["word_of"] or end not in window["word_of"]:
                    continue
                if not window["max_context"].get(start, False) or end < start:
                    continue
                if end - start + 1 > settings.max_answer_length:
                    continue
                found.append((number, start, end, starts[start], ends[end]))
    if settings.unanswerable:
        nulls = [starts[0] + ends[0] for starts, ends in logits]
        least = nulls.index(min(nulls))
        found.append((least, 0, 0, logits[least][0][0], logits[least][1][0]))
    return sorted(found, key=lambda one: one[3] + one[4], reverse=True)


def predictions(question, logits, vocabulary, settings, max_seq_length):
    """(text, odds of no answer or None, n-best list of dicts) of a question."""
    words, windows = windows_of(question, vocabulary, settings, max_seq_length)
    best, seen = [], set()
    null = min((starts[0] + ends[0], starts[0], ends[0]) for starts, ends in logits)
    for window, start, end, start_logit, end_logit in candidates_of(windows, logits, settings):
        if len(best) >= settings.n_best_size:
            break
        text = ""
        if start > 0:
            joined = " ".join(windows[window]["tokens"][start : end + 1])
            joined = " ".join(joined.replace(" ##", "").replace("##", "").split())
            of_words = words[windows[window]["word_of"][start] : windows[window]["word_of"][end] + 1]
            text = final_text(joined, " ".join(of_words), vocabulary.do_lower_case)
            if text in seen:
                continue
        seen.add(text)
        best.append((text, start_logit, end_logit))
    if settings.unanswerable and "" not in seen:
        best.append(("", null[1], null[2]))
    best = best or [("empty", 0.0, 0.0)]
    scores = [start + end for _, start, end in best]
    weights = [math.exp(score - max(scores)) for score in scores]
    listed = [
        {"text": text, "probability": weight / sum(weights), "start_logit": start, "end_logit": end}
        for (text, start, end), weight in zip(best, weights, strict=True)
    ]
    if not settings.unanswerable:
        return best[0][0], None, listed
    first = next((one for one in best if one[0]), None)
    if first is None:  # the original stops with an AttributeError here
        return "", None, listed
    odds = null[0] - first[1] - first[2]
    return ("" if odds > settings.null_score_diff_threshold else first[0]), odds, listed
