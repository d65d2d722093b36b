"""Answers to texts from finished runs, in Python."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax
from scipy.stats import gmean

from kbert.cli.warn_once import warn_once
from kbert.experiments.evaluation import evaluate
from kbert.inference.answers import answered
from kbert.inference.feature_extractor import FeatureExtractor
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.loading import load
from kbert.inference.predictor import Predictor
from kbert.inference.text_answers import TextAnswers
from kbert.input_pipelines import text_lines
from kbert.kernels.kernel import Kernel
from kbert.scripts import run_prediction
from kbert.tasks import TASKS
from kbert.tasks.sparse_embedding import sparse_serving
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.inference.answering import answers as predictions
from tests.kbert.inference.broken_run import copy_with_nan
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture(scope="module")
def fill(pretraining_run):
    """Function from examples to the candidates for each of their masks."""
    predict = load(pretraining_run.path).predict
    return lambda examples, **settings: [answer["masks"] for answer in predict(examples, **settings)]


@pytest.fixture(scope="module")
def own_probabilities(pretraining_run):
    """Function from a text, or a pair, to softmaxes of the model's own logits, by their names."""
    _, _, model = pretraining_run.load_checkpoint()
    text_inputs, mask_id = TextInputs(pretraining_run.vocabulary(), 24), pretraining_run.vocabulary().mask_id

    def of(*texts):
        inputs = {n: v.numpy() for n, v in text_inputs(*([one] for one in texts), with_masks=True).items()}
        masks = np.flatnonzero(inputs["input_ids"][0] == mask_id)[None]
        positions = masks if masks.size else np.zeros((1, 1), int)
        outputs = model(inputs | {"masked_lm_positions": positions})
        return {name: softmax(logits[0], axis=-1) for name, logits in outputs.items()}

    return of


@pytest.mark.slow
def test_a_pair_run_takes_pairs_and_only_those(finetuned_run, pair_run):
    pairs = load(pair_run.path)
    answer, swapped = pairs.predict([("jump", "walk the"), ("walk the", "jump")])
    assert answer["probabilities"] != swapped["probabilities"]
    alone = pairs.predict(("jump", "walk the"))
    assert alone["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-6)
    with pytest.raises(ValueError, match="expects text and text_pair; received text"):
        pairs.predict("jump")
    with pytest.raises(ValueError, match="expects text; received text and text_pair"):
        load(finetuned_run.path).predict(("jump", "walk"))


@pytest.mark.slow
def test_two_masks_and_one_get_the_models_own_probabilities(fill, own_probabilities, pretraining_run):
    texts, tokens = ["[MASK] the play[MASK] .", "walk [MASK]"], pretraining_run.vocabulary().tokens
    for text, masks in zip(texts, fill(texts, top_k=4), strict=True):
        for candidates, expected in zip(masks, own_probabilities(text)["masked_lm_logits"], strict=True):
            best = np.argsort(-expected)[:4]
            assert [candidate["token"] for candidate in candidates] == [tokens[index] for index in best]
            np.testing.assert_allclose([c["probability"] for c in candidates], expected[best], atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("other", [{"candidates": ["walk"]}, {"text_pair": "walk"}], ids=str)
def test_settings_of_masks_are_read_or_refused(pretraining_run, other, caplog):
    loaded, example = load(pretraining_run.path), {"text": "the [MASK]"}
    warn_once.cache_clear()
    for settings in ({"top_k": 2}, {"whole_words": True}):
        loaded.predict([example, example | other], **settings)
        with pytest.raises(ValueError, match=f"{next(iter(settings))}: read for texts with .MASK. alone"):
            loaded.predict(example | other, **settings)
        for read_ahead in (None, 1):  # 1: somebody waits for each answer
            mixed = answered(loaded, [example | other, example], settings, 1, read_ahead)
            assert len(list(mixed)) == 2
        assert "read for texts with [MASK] alone" in caplog.text


def test_whole_words_are_neither_pieces_nor_special(fill, pretraining_run):
    tokens = pretraining_run.vocabulary().tokens
    whole = [token for token in tokens if not token.startswith("##") and token not in BERT_TOKENS]
    assert len(whole) < len(tokens) - len(BERT_TOKENS), "the vocabulary has pieces"
    ((candidates,),) = fill(["the [MASK]"], top_k=999, whole_words=True)
    assert sorted(c["token"] for c in candidates) == sorted(whole)
    ((others,),) = fill(["the [MASK]"], top_k=sys.maxsize)
    of_all = {c["token"]: c["probability"] for c in others}
    for candidate in candidates:
        assert candidate["probability"] == pytest.approx(of_all[candidate["token"]], abs=1e-6)


@pytest.mark.slow
def test_candidates_have_the_geometric_mean_of_their_pieces(fill, own_probabilities, pretraining_run):
    """Each piece at a mask of its own."""
    words, expected = ["walk", "walking", "the", "jumping"], {}
    pieces = WordPieceTokenizer(pretraining_run.vocabulary())(words).to_list()
    for word, ids in zip(words, pieces, strict=True):
        probabilities = own_probabilities(f"the {'[MASK] ' * len(ids)}a")["masked_lm_logits"]
        expected[word] = gmean(probabilities[np.arange(len(ids)), ids])
    assert set(map(len, pieces)) == {1, 2}
    texts = ["play [MASK]", "the [MASK] a"]
    _, (candidates,) = fill([{"text": text, "candidates": words} for text in texts])
    assert [c["token"] for c in candidates] == sorted(words, key=expected.__getitem__, reverse=True)
    assert {c["token"]: c["probability"] for c in candidates} == pytest.approx(expected, rel=1e-4)


@pytest.mark.long
def test_a_signature_without_answers_is_asked_for_outputs():
    ask = Predictor(random_task_model(TASKS["token_classification"](("O", "B-X"))), "words")
    assert ask.outputs(words=[["jump", "the"]])["labels"].shape == (1, 2)
    with pytest.raises(
        ValueError, match=r"'words' of .* no answers; ask .*\.outputs, or one of serving_default"
    ):
        ask(words=[["jump", "the"]])
    of_queries = Predictor(random_task_model(TASKS["late_interaction"]().with_pooling(None)), "query")
    assert len(of_queries(text=["jump", "the"])) == 2


def test_a_predictor_takes_texts_alone_and_what_its_signature_declares():
    ask = Predictor(random_task_model(TASKS["masked_lm"]()))
    for text in (None, 5, math.nan, b"\xff bad", "\ud800"):
        with pytest.raises(ValueError, match=r"^texts\[1\]: text "):
            ask(text=["the [MASK]", text], top_k=1, whole_words=False)
    asked = {"text": ["the [MASK]"], "top_k": sys.maxsize, "whole_words": False}
    ((mask,),) = (answer["masks"] for answer in ask(**asked))
    assert len(mask) > 9
    for two in (np.array(2), tf.constant(2, tf.int64)):
        assert ask(**asked | {"top_k": two})[0]["masks"] == [mask[:2]]
    for wrong in (
        {"top_k": -1},
        {"top_k": "3"},
        {"top_k": np.array([3])},
        {"top_k": np.array(3.0)},
        {"top_k": tf.constant(3.0)},
        {"whole_words": "no"},
        {"whole_words": 1},
    ):
        ((name, _),) = wrong.items()
        with pytest.raises(ValueError, match=f"^{name}(=| is ).*expected"):
            ask(**asked | wrong)
    ids = Predictor(ask.loaded, "ids")
    others = {"input_mask": [[1]], "segment_ids": [[0]], "top_k": 1, "whole_words": False}
    for wrong in ([[1, 2], [1]], [1, 2], [[2**40]], np.array([[1.5]])):
        with pytest.raises(ValueError, match=r"^input_ids is .*expected int32 of the shape \(None, None\)"):
            ids.outputs(input_ids=wrong, **others)


@pytest.mark.long
@pytest.mark.slow
def test_what_cannot_stand_at_the_one_mask_has_probability_0(pretraining_run):
    """Also in a graph, which answers every text: empty, with an unknown character, too long; with no mask,
    several, or one that was cut off."""
    tf.config.run_functions_eagerly(False)
    texts = ["the [MASK] a", "the a", "[MASK] the [MASK]", "the " * 30 + "[MASK]"]
    candidates = ["walk", "walking", "", "walk \u0416", "walking " * 9]
    ask = Predictor(load(pretraining_run.path), "candidates").outputs
    answer = ask(text=texts, candidates=[candidates] * len(texts))
    assert (answer["num_tokens"] == [1, 2, 0, 0, 0]).all()
    assert (answer["num_masks"][:, :2] == [[1, 2], [0, 0], [2, 4], [0, 0]]).all()
    expected = np.zeros((4, 5), bool)
    expected[0, :2] = True
    np.testing.assert_array_equal(answer["probabilities"] > 0, expected)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"text": "the " * 30 + "[MASK]"}, "the mask of 'the the"),
        ({"text": "[MASK]", "candidates": [""]}, "the candidate '' is empty"),
        ({"text": "[MASK]", "candidates": None}, "candidates is None; expected a list of texts"),
    ],
)
def test_an_answer_that_cannot_be_given_names_its_example(pretraining_run, wrong, why):
    loaded = load(pretraining_run.path)
    with pytest.raises(ValueError, match=rf"examples\[1\]: {why}"):
        loaded.predict(["[MASK]", wrong])
    with pytest.raises(ValueError, match=f"example 8: {why}"):
        list(predictions(pretraining_run, [wrong], first=8))


def test_an_answer_that_cannot_be_given_is_told_before_all_others(pretraining_run, tmp_path, monkeypatch):
    """Those to hours of texts before it were lost."""
    loaded, texts = load(pretraining_run.path), ["[MASK]"] * 2048 + ["the a"]  # a part is answered at once
    monkeypatch.setattr(LoadedModel, "predictor", None)
    with pytest.raises(ValueError, match=r"examples\[2048\]: no \[MASK\]"):
        loaded.predict(texts)
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(texts) + "\n")
    flags = {"run_dir": str(pretraining_run.path), "input_file": str(file)}
    monkeypatch.setattr(run_prediction, "flag_values", lambda _: flags)
    with pytest.raises(ValueError, match=r"example 2049: no \[MASK\]"):
        run_prediction.main()


@pytest.mark.slow
def test_a_table_of_answers_has_its_file_read_three_times(finetuned_run, tmp_path, monkeypatch):
    """To count its rows before a model is read, to check them, to answer them."""
    rows, lines, read_lines = [f"{number},walk" for number in range(30)], [], text_lines.numbered_lines

    def counted(*arguments, **settings):
        for line in read_lines(*arguments, **settings):
            lines.append(line[2])
            yield line

    monkeypatch.setattr(text_lines, "numbered_lines", counted)
    (tmp_path / "texts.csv").write_text("\n".join(["n,text", *rows, ""]))
    files = {"input_file": str(tmp_path / "texts.csv"), "output_file": str(tmp_path / "answers.csv")}
    monkeypatch.setattr(run_prediction, "flag_values", lambda _: {"run_dir": str(finetuned_run.path)} | files)
    run_prediction.main()
    written = (tmp_path / "answers.csv").read_text().splitlines()[1:]
    assert [line.split(",")[:2] for line in written] == [row.split(",") for row in rows]
    assert lines.count(rows[-1]) == 3


@pytest.mark.long
@pytest.mark.slow
def test_a_text_that_is_cut_is_told_with_the_length_that_cut_it(caplog):
    settings = {"max_query_length": 3, "doc_stride": 4}
    random_task_model(TASKS["question_answering"](**settings)).predict(("the a the a", "walk " * 40))
    assert "the example is longer than the 3 tokens of a question (max_query_length)" in caplog.text
    caplog.clear()
    task = TASKS["late_interaction"]({"query_length": 6, "document_length": 9})
    random_task_model(task).predict(("the " * 7, "walk"))
    assert "than the 6 tokens of a query (query_length) or the 9 of a document" in caplog.text


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ask", "length"),
    [
        ("encoder", LoadedModel.embed, "24 tokens"),
        ("encoder", lambda loaded, texts: FeatureExtractor(loaded)(texts), "24 tokens"),
        ("question_answering", LoadedModel.embed, "24 tokens"),  # which has another length for questions
        ("cosine_similarity", lambda loaded, texts: loaded.rank("a", texts), "24 tokens"),
        ("sparse_embedding", LoadedModel.embed, "24 tokens"),
        ("late_interaction", LoadedModel.embed, "or the 24 of a document"),
    ],
)
def test_vectors_of_a_text_that_is_cut_say_so_once(name, ask, length, caplog):
    loaded = random_task_model(TASKS[name]())
    for texts in (["the a"], ["the a", "walk " * 40], "walk " * 50):
        ask(loaded, texts)
    loaded.with_max_seq_length(8).embed("walk " * 10)
    first, second = (record.message for record in caplog.records if record.name == "absl")
    assert first.startswith("the text 'walk walk ") and length in first
    assert "8 tokens" in second or "the 8 of a document" in second


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("ask", [LoadedModel.embed, LoadedModel.predict, lambda m, x: FeatureExtractor(m)(x)])
def test_texts_that_the_vocabulary_does_not_know_are_said_once(ask, caplog):
    loaded = random_task_model(TASKS["cosine_similarity"]())
    ask(loaded, ["the a"])
    ask(loaded, ["walk", "\u05e9\u05dc\u05d5\u05dd", "\u05e2\u05dc"])
    ask(loaded, "\u05e2\u05dc")
    (message,) = (record.message for record in caplog.records if record.name == "absl")
    assert message.startswith("most tokens of 2 of the 3 examples looked at are [UNK], such as '\u05e9")


def test_threads_that_meet_at_their_first_texts_look_at_no_later_ones():
    seen, answers = [], TextAnswers()

    def shares(texts):
        seen.append(len(texts))
        if len(seen) == 1:  # the other thread, while this one is at work
            answers.warn_of_unknown_tokens(["a"] * 10)
        return [0] * len(texts)

    vocabulary = SimpleNamespace(special_tokens=SimpleNamespace(unk="[UNK]"))
    answers.text_inputs = SimpleNamespace(vocabulary=vocabulary, unknown_shares=shares)
    for number in (10, 100):
        answers.warn_of_unknown_tokens(["a"] * number)
    assert seen == [10, 10]


@pytest.mark.slow
def test_a_prediction_that_leaves_words_out_says_so(monkeypatch, caplog):
    monkeypatch.setattr(sparse_serving, "MOST_WORDS", 2)
    random_task_model(TASKS["sparse_embedding"]()).predict("the a")
    assert "texts with 2 words or more" in caplog.text


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "odd"), [(["O", "DATE", "HCW"], "DATE"), (["O", "B-PER", "[CLS]"], "CLS"), (["NOUN", "X"], "")]
)
def test_a_tagger_without_entities_says_which_labels_are_no_tags(labels, odd, caplog):
    answer = random_task_model(TASKS["token_classification"](labels)).predict("the a")
    assert len(answer["words"]) == 2 and answer["entities"] == []
    assert ("are no tags of one scheme" in caplog.text) == bool(odd) and odd in caplog.text


@pytest.mark.slow
def test_whether_a_text_follows_is_the_models_own_probability(own_probabilities, pretraining_run):
    pairs = [{"text": "walk the", "text_pair": "jump"}, {"text": "jump", "text_pair": "the the a"}]
    for pair, answer in zip(pairs, predictions(pretraining_run, pairs), strict=True):
        expected = own_probabilities(*pair.values())["next_sentence_logits"][0]
        assert answer["next_sentence_probability"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@pytest.mark.long
def test_examples_of_every_kind_keep_their_order(pretraining_run):
    """Batches are of one signature and of like lengths; answers come in the order of the examples."""
    examples = [
        {"text": "a [MASK]" + " the" * 9, "id": "long"},
        {"text": "a", "text_pair": "the"},
        {"text": "the [MASK]", "candidates": ["walk", "a"]},
        {"text": "a [MASK]", "id": 7},
        {"text": "the [MASK]", "candidates": ["walk"]},
    ]
    together = list(predictions(pretraining_run, examples, batch_size=2))
    alone = [next(iter(predictions(pretraining_run, [example], read_ahead=1))) for example in examples]
    for answer, other, example in zip(together, alone, examples, strict=True):
        assert list(answer) == list(other) and example.items() <= answer.items()
        if "masks" in answer:
            assert [c["token"] for c in answer["masks"][0]] == [c["token"] for c in other["masks"][0]]
        else:
            key = "next_sentence_probability"
            assert answer[key] == pytest.approx(other[key], abs=1e-5)


def test_a_run_with_weights_that_are_no_numbers_is_refused(finetuned_run, labelled_files, tmp_path):
    broken = copy_with_nan(finetuned_run, tmp_path / "run", "jump")
    sentence = "holds numbers that are not finite .* take another checkpoint"
    for answer in (
        lambda: list(predictions(broken, [{"text": "walk"}])),
        lambda: load(broken.path),
        lambda: evaluate(broken, labelled_files[1]),
    ):
        with pytest.raises(ValueError, match=sentence):
            answer()


@pytest.mark.long
def test_nothing_that_answers_must_be_compiled(finetuned_run, pretraining_run, monkeypatch):
    """Stock servers refuse to run a function with jit_compile=True."""
    tf.config.run_functions_eagerly(False)  # the graph is the point
    monkeypatch.setattr(Kernel, "compiled", True)
    for run in (finetuned_run, pretraining_run):
        loaded = load(run.path)
        graph = loaded.signatures["serving_default"].as_graph().get_concrete_function().graph
        library = graph.as_graph_def().library.function
        assert [one.signature.name for one in library if one.attr["_XlaMustCompile"].b] == []


@pytest.mark.long
@pytest.mark.slow
def test_a_tagger_says_that_scripts_without_blanks_are_cut_at_marks_alone(caplog):
    """Of whole sentences, not of long words; a sentence about labels is said beside it."""
    loaded = random_task_model(TASKS["token_classification"](("O", "B-PER", "odd")))
    loaded.predict(["the a", "東京で", "コミュニケーション", "แมว ประเทศไทย"])
    assert "in Thai" not in caplog.text and "are no tags of one scheme" in caplog.text
    caplog.clear()
    loaded.predict("ฉันรักแมวของประเทศไทยมาก")
    assert "are no tags of one scheme" in caplog.text
    assert "texts in Thai, Lao, Burmese, Khmer or kana are cut into words at blanks" in caplog.text
