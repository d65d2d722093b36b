"""The hops of an answer: every way to ask a trained model, and every form that it is written in.

Answers in float32 agree within `ROUNDING`, ids exactly.
"""

import csv
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

import kbert
from export.export_savedmodel import export_savedmodel
from export.export_tflite import export_tflite
from export.gate.saved_model_session import SavedModelSession
from export.litert.requests import QUANTIZATIONS
from export.server.running import DevelopmentServer
from kbert.checkpoints import FORMATS
from kbert.checkpoints.vocabulary_source import read_folder
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tokenization.python.wordpiece_tokenizer import WordPieceTokenizer
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import WORD_START
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.text_ops import core_ops
from kbert.tokenization.tokenizer import build_tokenizer
from tests.export.server.asking import MODEL, Asked
from tests.kbert.experiments.retrieval import test_collection
from tests.kbert.tokenization.small_vocabularies import MARKS
from tests.kbert.tokenization.test_sentencepiece_tokenizer import xlmr_ids
from tests.lives.compare import ROUNDING, same
from tests.lives.data import WORDS
from tests.lives.life import Life, ask, comparable
from tests.peers.folder_answers import folder_answers
from tests.warm_processes import run_script
from tfrecords_tools.trim_vocabulary import trim_vocabulary

_ROUGH = 0.2  # of the formats that round on purpose
_SMOOTH = ("sequence_classification", "multi_label_classification", "multiple_choice")
_OTHERS_ROUNDING = 5e-5  # of float32 in others' kernels


def ids(life: Life) -> int:
    """The ids of texts, one tokenizer beside the others: of TF-Text, of core ops, in Python, of others."""
    vocabulary = life.loaded.vocabulary
    words = [word for word in WORDS if word != vocabulary.special_tokens.mask]
    texts = [
        " ".join(words),
        *words,
        *(f"{word}{other}" for word in words[::3] for other in words[1::4]),
        *("".join(life.rng(f"marks {n}").choices(f"aeệ각{MARKS}", k=5)) for n in range(30)),
    ]
    tokenize, package = build_tokenizer(vocabulary), None
    expected = dict(zip(texts, tokenize(tf.constant(texts)).to_list(), strict=True))
    if vocabulary.kind == "sentencepiece":
        package = SentencePieceProcessor(model_proto=vocabulary.model)
        same({text: xlmr_ids(package, text) for text in texts}, expected, 0, "SentencePiece")
    else:
        with core_ops():
            found = build_tokenizer(vocabulary)(tf.constant(texts)).to_list()
        same(dict(zip(texts, found, strict=True)), expected, 0, "core ops")
    if vocabulary.kind == "wordpiece":
        python = WordPieceTokenizer(vocabulary)
        same({text: python(text) for text in texts}, expected, 0, "Python")
    _same_pairs(vocabulary, [texts[0], *texts], expected)
    convert_checkpoint(life.checkpoint, life.folder / "for_ids", "hugging_face")
    if (life.folder / "for_ids" / "tokenizer.json").exists():
        theirs = Tokenizer.from_file(str(life.folder / "for_ids" / "tokenizer.json"))
        encodings = {text: theirs.encode(text, add_special_tokens=False) for text in texts}
        known = [text for text in texts if package is None or _is_normalized_alike(theirs, package, text)]
        found = {text: encodings[text].ids for text in known}
        same(found, {text: expected[text] for text in known}, 0, "tokenizers")
        if vocabulary.kind == "wordpiece":
            plain = [text for text in texts if text.isascii()]  # there a mark is of no token
            ours = tokenize.with_offsets(tf.constant(plain))
            for text, *places in zip(plain, ours.starts.to_list(), ours.ends.to_list(), strict=True):
                same(list(zip(*places, strict=True)), encodings[text].offsets, 0, f"offsets of {text!r}")
    return 3 * len(texts)


def _is_normalized_alike(theirs, package, text):
    """Whether `tokenizers` normalizes a text as SentencePiece does.

    It looks for SentencePiece's rules by grapheme, so a letter with two marks, or Hangul in parts, stays as
    it is (huggingface/tokenizers#2116, open on 2026-11-27).
    """
    return theirs.normalizer.normalize_str(text) == package.normalize(text).replace(WORD_START, " ").strip()


def _same_pairs(vocabulary, texts, ids):
    """Neighbours as pairs are cut as Google's script cuts them: the end of the longer one, token by token."""
    around = (vocabulary.cls_id, vocabulary.sep_id, vocabulary.pad_id)
    for length in (16, 17):  # of an even and an odd room
        inputs = TextInputs(vocabulary, length)(tf.constant(texts[:-1]), tf.constant(texts[1:]))
        for row, first, second in zip(inputs["input_ids"].numpy(), texts, texts[1:], strict=False):
            kept = [list(ids[first]), list(ids[second])]
            while len(kept[0]) + len(kept[1]) > length - vocabulary.count_special(2):
                kept[len(kept[0]) <= len(kept[1])].pop()
            same([number for number in row.tolist() if number not in around], sum(kept, []), 0, "a pair")


def other_batches(life: Life) -> int:
    """Asked one by one, all at once, and in the reverse order."""
    answer = life.loaded.predict if life.loaded.task.serving else life.loaded.embed
    for order in (slice(None), slice(None, None, -1)):
        same(list(map(comparable, answer(life.examples[order])))[order], life.answers, ROUNDING)
    return 2 * len(life.answers)


def changed_weights(life: Life) -> int:
    """Weights that change in memory, in a model that has answered before and in one that has not."""
    models = [kbert.load(life.run) for _ in range(2)]
    ask(models[0], life.examples)
    for weight in (weight for model in models for weight in model.model.trainable_variables):
        weight.assign(0.7 * weight)
    same(*(ask(model, life.examples) for model in models), ROUNDING)
    return len(life.examples)


def ranked(life: Life) -> int:
    """Texts ranked for a query, given in two orders."""
    orders = [life.loaded.rank("the house", texts) for texts in (WORDS, WORDS[::-1])]
    ours, theirs = ({answer["text"]: answer["score"] for answer in order} for order in orders)
    same(ours, theirs, ROUNDING)
    assert list(ours.values()) == sorted(ours.values(), reverse=True)
    return len(ours)


def searched(life: Life) -> int:
    """A search by the run, whose weights are read on the way, and by the model that has answered before."""
    words = sorted({*WORDS})
    texts = [{"_id": word, "text": word} for word in words]
    qrels = [f"{word}\t{other}\t1" for word, other in zip(words, words[1:], strict=False)]
    files = test_collection.write(life.folder, texts, texts, [test_collection.QRELS[0], *qrels])
    ours, theirs = (kbert.evaluate_retrieval(model, *files) for model in (life.run, life.loaded))
    same(ours, theirs, ROUNDING)
    return len(ours)


def saved_model(life: Life) -> int:
    """A SavedModel with the ops of TF-Text or of the core, or in bfloat16, asked in two ways."""
    ways = [("tf_text", "float32", ROUNDING), ("core", "float32", ROUNDING)]
    ways += [("tf_text", "bfloat16", _ROUGH)] * (life.task_name in (*_SMOOTH, "sparse_embedding"))
    text_ops, precision, tolerance = life.rng("saved_model").choice(ways)
    serving = life.loaded.task.serving
    report = export_savedmodel(life.loaded, life.folder / "serving", text_ops=text_ops, precision=precision)
    session, module = SavedModelSession(report["path"]), tf.saved_model.load(report["path"])
    for inputs, answer in zip(life.named_examples, life.answers, strict=True):
        signature = serving.signature_for(inputs)
        takes = module.signatures[signature].structured_input_signature[1]
        settings = {key: value for key, value in serving.settings.items() if key in takes}
        needed = {key: [value] for key, value in inputs.items()} | settings
        by_session = session.run(signature, needed)
        tensors = {key: tf.constant(value, takes[key].dtype) for key, value in needed.items()}
        by_module = {key: value.numpy() for key, value in module.signatures[signature](**tensors).items()}
        for outputs in (by_session, by_module):
            row = {key: value[0] for key, value in outputs.items()}
            same(comparable(serving.answer(row, inputs)), answer, tolerance)
    return 2 * len(life.answers)


def litert(life: Life) -> int:
    """The files for phones, with and without a tokenizer; those of less precision by their own measure."""
    serving = life.loaded.task.serving
    if serving is None or serving.same_answers is None or not serving.row_texts:
        return 0
    how = life.rng("litert").choice(({}, {}, {"tokenizer_inside": True}, {"mediapipe": True}))
    precisions = ["float32"] if how else QUANTIZATIONS
    data = {} if "split" in life.evaluated else life.evaluated
    export_tflite(life.loaded.run, life.folder / "litert", precisions, **data, **how, min_agreement=0.0)
    for precision in precisions:
        answers = ask(kbert.load(life.folder / "litert" / f"model_{precision}.tflite"), life.examples)
        if precision == "float32" or life.task_name in _SMOOTH:
            same(answers, life.answers, ROUNDING if precision == "float32" else _ROUGH, precision)
    return len(precisions) * len(life.answers)


def conversions(life: Life) -> int:
    """Written in each format, loaded again, and brought back."""
    compared = 0
    for format in FORMATS:
        there, back = life.folder / f"to_{format}", life.folder / f"from_{format}"
        try:
            convert_checkpoint(life.run, there, format)
        except ValueError as refusal:
            life.refused(refusal)
            continue
        convert_checkpoint(there, back, "kbert")
        for folder in (there, back):
            loaded = kbert.load(folder)
            same(read_folder(folder).describe(), loaded.vocabulary.describe(), 0, "vocabulary of the folder")
            if loaded.task.name == life.loaded.task.name:
                theirs, ours = ask(loaded, life.examples), life.answers
            else:
                theirs, ours = ([model.embed("the house")] for model in (loaded, life.loaded))
            same(theirs, ours, ROUNDING, format)
            compared += len(ours)
    return compared


def transformers(life: Life) -> int:
    """What transformers and sentence-transformers answer: they share no line with kbert."""
    task = "embedding" if life.loaded.task.pooling else life.task_name
    texts = np.ravel(life.examples).tolist() if task == "embedding" else life.examples
    known = task in ("embedding", "sequence_regression", "token_classification", *_SMOOTH[:2])
    has_rule = "rules.max_input_chars_per_word" in life.world  # which transformers 5 does not read
    if life.loaded.task.text_vectors is not None or not known or has_rule:
        return 0
    convert_checkpoint(life.run, life.folder / "theirs", "hugging_face")
    answers = folder_answers(life.folder / "theirs", task, texts) or []
    for text, theirs in zip(texts, answers, strict=bool(answers)):
        if task == "token_classification":
            outputs = life.loaded.predictor("words").outputs(words=[text.split()])
            known = np.flatnonzero(~np.isnan(theirs))
            same(outputs["probabilities"][0][known], theirs[known], _OTHERS_ROUNDING)
            continue
        inputs = life.loaded.inputs(*([part] for part in ([text] if isinstance(text, str) else text)))
        if task == "embedding":
            same(life.loaded.embed(text), theirs, _OTHERS_ROUNDING)
        # Their fast tokenizers cut a pair otherwise, see docs/from_transformers.md.
        elif isinstance(text, str) or inputs["input_ids"].shape[1] < life.loaded.max_seq_length:
            outputs = life.loaded.model(inputs)
            is_number = "prediction" in outputs  # before its activation, which transformers does not know
            ours = life.loaded.task.number(outputs) if is_number else outputs["probabilities"]
            same(np.asarray(ours)[0], theirs, _OTHERS_ROUNDING)
    return len(answers)


def elsewhere(life: Life) -> int:
    """In another folder."""
    moved = life.folder / "an other folder, ä"
    shutil.copytree(life.run, moved)
    same(ask(kbert.load(moved), life.examples), life.answers, ROUNDING)
    return len(life.answers)


def command_line(life: Life) -> int:
    """`kbert predict` as JSON lines and as a table, where capitals are Turkish."""
    if life.loaded.task.serving is None:
        return 0
    asked = life.folder / "asked.jsonl"
    asked.write_text("".join(json.dumps(row) + "\n" for row in life.named_examples), encoding="utf-8")
    for ending in ("jsonl", "csv"):
        answers = life.folder / f"answers.{ending}"
        script = run_script(
            "kbert.scripts.run_prediction",
            f"--run_dir={life.run}",
            f"--input_file={asked}",
            f"--output_file={answers}",
            environment=os.environ | {"LC_ALL": "tr_TR.UTF-8"},  # ICU reads it once in a process
        )
        same(script.returncode, 0, 0, script.stderr)
    lines = [json.loads(line) for line in (life.folder / "answers.jsonl").read_text("utf-8").splitlines()]
    for line, answer in zip(map(comparable, lines), life.answers, strict=True):
        same({name: line[name] for name in answer}, answer, ROUNDING)
    table = csv.DictReader(answers.read_text("utf-8").splitlines())
    for row, line in zip(table, lines, strict=True):
        told = {name: str(line[name]) for name in row if isinstance(line.get(name), str | int | float)}
        same({name: row[name] for name in told}, told, 0)
    return len(lines)


def labelled_file(life: Life) -> int:
    """`kbert predict` of the labelled file itself, by the run's columns, beside its rows asked one by one."""
    task = life.loaded.task
    has_rows = life.task_name not in ("question_answering", "token_classification")
    if task.serving is None or life.is_pretraining or not has_rows:
        return 0
    asked = life.rows.asked("dev", life.config.dataset)
    file, answers = life.files["dev"], life.folder / "of_labelled.jsonl"
    arguments = (f"--run_dir={life.run}", f"--input_file={file}", f"--output_file={answers}")
    script = run_script("kbert.scripts.run_prediction", *arguments)
    same(script.returncode, 0, 0, script.stderr)
    lines = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
    for line, answer in zip(map(comparable, lines), ask(life.loaded, asked), strict=True):
        same({name: line[name] for name in answer}, answer, ROUNDING)
    return len(lines)


def served(life: Life) -> int:
    """`kbert serve`, asked by its Predict API and to rank."""
    serving, bodies, alone = life.loaded.task.serving, [], []
    with DevelopmentServer(life.run, MODEL, 0, 0) as server:
        asked = Asked(server.rest_api_port)
        for inputs, answer in zip(life.named_examples, life.answers, strict=True):
            signature = serving.signature_for(inputs)
            names = life.loaded.signatures[signature].inputs
            settings = {name: value for name, value in serving.settings.items() if name in names}
            columns = {name: [value] for name, value in inputs.items()} | settings
            bodies.append({"signature_name": signature, "inputs": columns})
            alone.append(asked.predict(bodies[-1]))
            outputs = alone[-1][1]["outputs"]
            outputs = outputs if isinstance(outputs, dict) else {next(iter(names)): outputs}
            row = {name: _array(value)[0] for name, value in outputs.items()}
            same(comparable(serving.answer(row, inputs)), answer, ROUNDING)
        with ThreadPoolExecutor(16) as pool:
            same(list(pool.map(asked.predict, bodies * 4)), alone * 4, ROUNDING, "in company")
        if asked.rest("GET", "/info")[1]["can"]["rank"]:
            body = {"query": "the house", "texts": WORDS, "raw_scores": True}
            found = {WORDS[one["index"]]: one["score"] for one in asked.post("/rerank", body)[1]}
            expected = {one["text"]: one["score"] for one in life.loaded.rank("the house", WORDS)}
            same(found, expected, ROUNDING, "/rerank")
    return len(bodies)


def _array(value):
    array = np.array(value)
    return np.char.encode(array, "utf-8").astype(object) if array.dtype.kind == "U" else array


def trimmed(life: Life) -> int:
    """Cut to the tokens of the examples, whose answers stay."""
    if life.vocabulary.kind != "wordpiece" or life.is_pretraining:  # fewer words share the probability
        return 0
    texts = life.folder / "texts.txt"
    lines = ["\n".join(np.atleast_1d(part)) for named in life.named_examples for part in named.values()]
    texts.write_text("\n".join(line.replace("[MASK]", "") for line in lines) + "\n", encoding="utf-8")
    trim_vocabulary(life.run, life.folder / "trimmed", [texts])
    loaded = kbert.load(life.folder / "trimmed")
    found, expected = ask(loaded, life.examples), life.answers
    if life.task_name == "sparse_embedding":  # a weight for each word that stays
        kept = [life.vocabulary.tokens.index(token) for token in loaded.vocabulary.tokens]
        found, expected = (model.embed(life.examples).toarray() for model in (loaded, life.loaded))
        expected = expected[:, kept]
    same(found, expected, ROUNDING)
    return len(found)
