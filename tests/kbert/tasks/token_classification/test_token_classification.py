"""Token classification answers words and texts; its score."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import DatasetConfig, FinetuningConfig
from kbert.encoder import BertEncoder
from kbert.inference.loaded_model import LoadedModel
from kbert.tasks.task import Predictions
from kbert.tasks.token_classification.entity_scores import find_entities
from kbert.tasks.token_classification.tagged_sentences import read_tagged_sentences
from kbert.tasks.token_classification.token_classification import TokenClassification
from kbert.tasks.token_classification.word_page import WordPage
from tests.conftest import tiny_encoder_config
from tests.kbert.inference.answering import answers
from tests.kbert.tasks.token_classification.small_conll import write_conll
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

pytestmark = pytest.mark.usefixtures("eager")

LONGEST = 16  # positions of a window: shorter than the longest sentences


@pytest.fixture(scope="module", params=[None, 3], ids=["whole windows", "doc_stride=3"])
def random_tagger(request, tmp_path_factory):
    """(a model with random weights, which say something else of every window, the examples)."""
    path = write_conll(tmp_path_factory.mktemp("words") / "dev.conll", 21, 2)
    examples = list(read_tagged_sentences(path, DatasetConfig()))
    dataset = TokenClassification.files.complete_dataset(DatasetConfig(), examples)
    task = TokenClassification(dataset.labels, doc_stride=request.param)
    model = task.build_model(BertEncoder(tiny_encoder_config()))
    randomize(model)
    return LoadedModel("random weights", task, model, small_corpus.vocabulary(), LONGEST), examples


def said_of_words(loaded, sentences):
    """(labels of each sentence's words, probabilities), as the signature "words" gives them."""
    signature = loaded.task.serving.signatures(loaded.model, loaded.text_inputs)["words"]
    longest = max(len(words) for words in sentences)
    padded = [[*words, *[""] * (longest - len(words))] for words in sentences]
    outputs = signature.function(words=tf.constant(padded))
    labels = [
        [label.decode() for label in row[: len(words)]]
        for row, words in zip(outputs["labels"].numpy(), sentences, strict=True)
    ]
    return labels, outputs["probabilities"].numpy()


def test_asked_for_words_a_model_says_what_its_evaluation_counts(random_tagger):
    loaded, examples = random_tagger
    task, model = loaded.task, loaded.model
    features, owners = task.examples_to_features(examples, loaded.text_inputs)
    assert len(owners) > len(examples)
    outputs = model({name: features[name] for name in model.input})
    collected, probabilities = task.collect(outputs, features), np.array(outputs["probabilities"])
    said, surely = said_of_words(loaded, [example.words for example in examples])
    assert len({label for row in said for label in row}) > 1
    places = np.argwhere(features["word_ids"] >= 0).tolist()
    assert len(places) == sum(map(len, said))
    for row, position in places:
        owner, word = owners[row], features["word_ids"][row, position]
        assert said[owner][word] == task.labels[int(collected["predicted_ids"][row, position])]
        assert surely[owner, word] == pytest.approx(probabilities[row, position].max(), abs=1e-5)


def test_answers_speak_of_words_and_characters(random_tagger):
    text = "The help, calls and (call) walk " + "the walk a jump " * 12 + "help."
    answer, empty = answers(random_tagger[0], [{"text": text}, {"text": " "}])
    assert empty["words"] == [] and empty["entities"] == []
    words, entities = answer["words"], answer["entities"]
    assert len(words) == 9 + 48 + 2
    for word in words:
        assert text[word["start"] : word["end"]] == word["word"] and 0 < word["probability"] <= 1
    spans = find_entities([word["label"] for word in words])
    assert 0 < len(entities) < len(words)
    assert [(entity["type"], entity["start"], entity["end"]) for entity in entities] == [
        (kind, words[start]["start"], words[end - 1]["end"]) for kind, start, end in spans
    ]
    for entity in entities:
        assert text[entity["start"] : entity["end"]] == entity["text"] and 0 < entity["probability"] <= 1


@pytest.mark.parametrize(("labels", "said", "number", "is_strict"), [
    (["O", "B-X", "I-X", "E-X", "S-X"], [0, 1, 3, 4], 2, True),
    (["O", "I-X"], [0, 1], 1, False),
    (["O", "E-X", "I-X"], [0, 1], 1, False),
])  # fmt: skip
def test_a_checkpoint_in_bioes_has_the_same_entities_and_without_beginnings_no_strict_scores(
    labels, said, number, is_strict
):
    values = {"predicted_ids": said, "label_ids": said, "word_ids": range(len(said))}
    values = {name: np.array([value]) for name, value in values.items()}
    scores = TokenClassification(labels).score(None, Predictions(values, np.zeros(1, int)))
    strict = {name: value for name, value in scores.items() if name.startswith("strict_")}
    assert scores == strict | {"precision": 1, "recall": 1, "f1": 1, "entity_counts": [[number] * 3]}
    assert strict.get("strict_f1", 0) == is_strict == bool(strict)


def test_a_lost_window_does_not_join_two_sentences():
    """The second sentence's first window is gone: its word 2 does not go on with word 1 of the first."""
    task = TokenClassification(["O", "B-X", "I-X"])
    words = np.array([[-1, 0, 1], [-1, 2, 3], [-1, 0, -1]])
    said = np.array([[0, 0, 1], [0, 2, 2], [0, 1, 0]])
    values = {
        "predicted_ids": said,
        "label_ids": said,
        "word_ids": np.where(words == 2, 5, np.where(words == 3, 6, words)),
    }
    scores = task.score(None, Predictions(values, np.arange(3)))
    assert scores["entity_counts"] == [[3, 3, 3]]


def test_a_training_says_that_its_words_are_found_in_no_raw_text(tmp_path, caplog):
    config = FinetuningConfig(task="token_classification", encoder=tiny_encoder_config())
    for words, is_said in ((["\u6771", "\u4eac", "Ann"], False), (["\u6771\u4eac", "\u306b", "go"], True)):
        path = tmp_path / "train.conll"
        path.write_text("".join(f"{word} {'B-X' if word != 'go' else 'O'}\n" for word in words), "utf-8")
        examples = list(read_tagged_sentences(path, DatasetConfig()))
        TokenClassification(["O", "B-X"]).check_training(config, examples)
        assert ("words of scripts without blanks" in caplog.text) == is_said


def test_the_page_tells_a_type_called_o_from_words_outside():
    names = {label: WordPage(TokenClassification(["O", "B-P", label]))._names for label in ("B-O", "I-P")}
    assert names == {"B-O": ["(outside)", "P", "O"], "I-P": ["O", "P", "P"]}
