"""What is counted, against counting one record at a time in plain Python; and sums of parts."""

import json
import pickle
from collections import Counter

import numpy as np

from kbert.features import pretraining_features
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.records.record_statistics import EXAMPLES_KEPT, RecordStatistics

VOCABULARY = small_corpus.vocabulary()
LENGTH, PREDICTIONS = 16, 4
FEATURES = pretraining_features(LENGTH, PREDICTIONS)


def random_batch(size, seed=0):
    """Pretraining examples of pairs; texts hold [UNK] as well, and every kind of mask occurs."""
    rng = np.random.default_rng(seed)
    batch = {name: np.zeros((size, *feature.shape), feature.dtype) for name, feature in FEATURES.items()}
    for row in range(size):
        length, text = rng.integers(5, LENGTH + 1), [1, *range(5, len(VOCABULARY))]
        ids = rng.choice(text, length)
        first = rng.integers(2, length - 2)
        ids[[0, first, length - 1]] = VOCABULARY.cls_id, VOCABULARY.sep_id, VOCABULARY.sep_id
        places = [place for place in range(1, length - 1) if place != first]
        chosen = np.sort(rng.choice(places, min(len(places), rng.integers(1, PREDICTIONS + 1)), False))
        batch["masked_lm_positions"][row, : len(chosen)] = chosen
        batch["masked_lm_ids"][row, : len(chosen)] = ids[chosen]
        batch["masked_lm_weights"][row, : len(chosen)] = 1.0
        for place in chosen:
            ids[place] = rng.choice([VOCABULARY.mask_id, VOCABULARY.mask_id, ids[place], rng.choice(text)])
        batch["input_ids"][row, :length] = ids
        batch["input_mask"][row, :length] = 1
        batch["segment_ids"][row, first + 1 : length] = 1
        batch["next_sentence_labels"][row] = rng.integers(2)
    return batch


def counted(*batches, features=FEATURES):
    statistics = RecordStatistics(features, VOCABULARY)
    for batch in batches:
        statistics.update(batch)
    return statistics


def counted_by_hand(batch):
    """The same numbers, record by record."""
    tokens = VOCABULARY.tokens
    size = len(batch["input_ids"])
    lengths, firsts, seconds, positions, per_record = (Counter() for _ in range(5))
    pieces, masked, kinds, labels = Counter(), Counter(), Counter(), Counter()
    for row in range(size):
        length = int(batch["input_mask"][row].sum())
        ids = batch["input_ids"][row, :length].tolist()
        end_of_first = ids.index(VOCABULARY.sep_id)
        lengths[length] += 1
        firsts[end_of_first - 1] += 1
        seconds[length - end_of_first - 2] += 1
        labels[int(batch["next_sentence_labels"][row, 0])] += 1
        per_record[int(batch["masked_lm_weights"][row].sum())] += 1
        for place, answer, weight in zip(
            *(batch[f"masked_lm_{name}"][row].tolist() for name in ("positions", "ids", "weights")),
            strict=True,
        ):
            if weight:
                positions[place] += 1
                masked[tokens[answer]] += 1
                shown, ids[place] = ids[place], answer
                kind = "unchanged" if shown == answer else "random"
                kinds["as_mask" if shown == VOCABULARY.mask_id else kind] += 1
        pieces.update(tokens[index] for index in ids if tokens[index] not in ("[CLS]", "[SEP]"))
    text = pieces.total()
    return {
        "records": size,
        "sequences": size,
        "max_seq_length": LENGTH,
        "tokens": sum(length * count for length, count in lengths.items()),
        "text_tokens": text,
        "unknown_tokens": pieces["[UNK]"],
        "unknown_share": round(pieces["[UNK]"] / text, 6),
        "fill_rate": round(int(batch["input_mask"].sum()) / (size * LENGTH), 6),
        "vocab_size": len(VOCABULARY),
        "pieces_used": len(pieces),
        "lengths": [lengths[value] for value in range(LENGTH + 1)],
        "longest": max(lengths),
        "first_lengths": [firsts[value] for value in range(LENGTH + 1)],
        "second_lengths": [seconds[value] for value in range(LENGTH + 1)],
        "frequent_pieces": _most_frequent(pieces),
        "masking": {
            "predictions": masked.total(),
            "share": round(masked.total() / int(batch["input_mask"].sum()), 6),
            "shown_as_mask": kinds["as_mask"],
            "shown_unchanged": kinds["unchanged"],
            "shown_random": kinds["random"],
            "positions": [positions[place] for place in range(LENGTH)],
            "per_record": [per_record[number] for number in range(max(per_record) + 1)],
            "most_masked": _most_frequent(masked),
        },
        "next_sentence": [labels[0], labels[1]],
    }


def _most_frequent(counts):
    return [
        [piece, count]
        for piece, count in sorted(counts.items(), key=lambda item: (-item[1], VOCABULARY.ids[item[0]]))
    ]


def test_counts_are_those_of_counting_by_hand():
    batch = random_batch(200)
    received, expected = counted(batch).to_json(VOCABULARY), counted_by_hand(batch)
    assert received == expected
    masking = expected["masking"]
    assert min(masking[f"shown_{kind}"] for kind in ("as_mask", "unchanged", "random")) > 20
    assert expected["unknown_tokens"] > 20
    assert json.loads(json.dumps(received)) == received


def test_parts_add_up_in_any_grouping():
    batches = [random_batch(size, seed) for seed, size in enumerate((30, 1, 17))]
    whole = counted(*batches)
    first, rest = counted(batches[0]), counted(*batches[1:])
    for parts in ([first, rest], [counted(batch) for batch in batches]):
        total = pickle.loads(pickle.dumps(parts[0]))
        for part in parts[1:]:
            total.merge(pickle.loads(pickle.dumps(part)))
        assert total.to_json(VOCABULARY) == whole.to_json(VOCABULARY)
        assert len(total.examples) == EXAMPLES_KEPT
        for received, expected in zip(total.examples, whole.examples, strict=True):
            assert received.keys() == set(FEATURES)
            np.testing.assert_array_equal(received["input_ids"], expected["input_ids"])
