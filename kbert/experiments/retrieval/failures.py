"""The queries of a collection that fail: what was found in the place of what."""

import numpy as np

from kbert.experiments.retrieval.collection import Collection
from kbert.tasks.pages.content import Card, Cards, Fact, MarkedText, Section, shortened

MOST_QUERIES = 30  # on a page
_SHOWN_TEXTS = 3


def failing_queries(collection: Collection, ranking, every) -> list[Section]:
    """The section of a page with the queries of the lowest nDCG, and what was found in the place of what."""
    order = np.argsort([scores["ndcg_at_10"] for scores in every], kind="stable")[:MOST_QUERIES]
    cards = [_card(collection, ranking, every, int(number)) for number in order]
    note = f"The {len(cards)} queries of the lowest nDCG@10: the texts found first, and a relevant one."
    return [Section("Queries that fail", note, Cards(cards))]


def _card(collection, ranking, every, number):
    gains, positions = collection.judgments[number], ranking.positions[number].tolist()
    shown = [position for position in positions[:_SHOWN_TEXTS] if position >= 0]
    best = max(gains, key=lambda position: (position in positions, gains[position]))
    where = f"rank {positions.index(best) + 1}" if best in positions else "not found"
    texts = [MarkedText(f"query {collection.query_ids[number]}", collection.queries[number])]
    verdicts = {position: "relevant" if position in gains else "not judged relevant" for position in shown}
    texts += [
        MarkedText(
            f"{rank}: {collection.text_ids[position]}, {verdicts[position]}",
            shortened(collection.texts[position], 300),
        )
        for rank, position in enumerate(shown, start=1)
    ]
    if best not in shown:
        relevant = f"relevant: {collection.text_ids[best]}, {where}"
        missing = best >= len(collection.texts)
        text = "(not in the corpus)" if missing else shortened(collection.texts[best], 300)
        texts.append(MarkedText(relevant, text))
    facts = [Fact("nDCG@10", f"{every[number]['ndcg_at_10']:.3f}"), Fact("relevant texts", str(len(gains)))]
    return Card(tuple(texts), tuple(facts))
