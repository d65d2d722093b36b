"""A label for every word: files of tagged words, windows of long sentences, scores of entities, answers."""
