"""The hops of an answer: every way to ask a trained model, and every form that it is written in.

Answers in float32 agree within `ROUNDING`, ids exactly.
"""

import contextlib
import csv
import json
import locale
import shutil

import keras
import numpy as np
import tensorflow as tf
from tokenizers import Tokenizer

import kbert
from export.export_savedmodel import export_savedmodel
from export.export_tflite import export_tflite
from export.gate.session_check import load_session, run_loaded
from export.litert.requests import QUANTIZATIONS
from export.server.running import DevelopmentServer
from kbert.checkpoints import FORMATS
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tokenization.python.wordpiece_tokenizer import WordPieceTokenizer
from kbert.tokenization.text_ops import core_ops
from kbert.tokenization.tokenizer import build_tokenizer
from tests.export.server.asking import Asked
from tests.kbert.experiments.retrieval import test_collection
from tests.lives.compare import ROUNDING, same
from tests.lives.data import WORDS
from tests.lives.life import Life, ask, comparable
from tests.peers.folder_answers import folder_answers
from tests.warm_processes import run_script
from tfrecords_tools.trim_vocabulary import trim_vocabulary

_ROUGH = 0.2  # of the formats that round on purpose
_OTHERS_ROUNDING = 5e-5  # of float32 in others' kernels


def ids(life: Life) -> int:
    """The ids of texts: TF-Text's ops, those of TensorFlow's core, Python, and Hugging Face's tokenizers."""
    vocabulary = life.loaded.vocabulary
    words = [word for word in WORDS if word != vocabulary.special_tokens.mask]
    texts = [" ".join(words), *words, *(f"{word}{other}" for word in words[::3] for other in words[1::4])]
    expected = build_tokenizer(vocabulary)(tf.constant(texts)).to_list()
    others = {}
    if vocabulary.kind != "sentencepiece":
        with core_ops():
            others["core ops"] = build_tokenizer(vocabulary)(tf.constant(texts)).to_list()
    if vocabulary.kind == "wordpiece":
        others["Python"] = [WordPieceTokenizer(vocabulary)(text) for text in texts]
    convert_checkpoint(life.checkpoint, life.folder / "for_ids", "hugging_face")
    if (life.folder / "for_ids" / "tokenizer.json").exists():
        theirs = Tokenizer.from_file(str(life.folder / "for_ids" / "tokenizer.json"))
        encodings = [theirs.encode(text, add_special_tokens=False) for text in texts]
        others["tokenizers"] = [encoding.ids for encoding in encodings]
        if vocabulary.kind == "wordpiece":
            ours = build_tokenizer(vocabulary).with_offsets(tf.constant(texts))
            for n, text in enumerate(texts):
                if text.isascii():  # a mark is part of its letter here, and of no token there
                    places = list(zip(ours.starts[n].numpy(), ours.ends[n].numpy(), strict=True))
                    same(places, encodings[n].offsets, 0, f"offsets of {text!r}")
    for name, found in others.items():
        same(dict(zip(texts, found, strict=True)), dict(zip(texts, expected, strict=True)), 0, name)
    return len(others) * len(texts)


def other_batches(life: Life) -> int:
    """Asked one by one, all at once, and in the reverse order."""
    answer = life.loaded.predict if life.loaded.task.serving else life.loaded.embed
    for order in (slice(None), slice(None, None, -1)):
        same(list(map(comparable, answer(life.examples[order])))[order], life.answers, ROUNDING)
    return 2 * len(life.answers)


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


def keras_file(life: Life) -> int:
    """Saved by Keras and loaded."""
    path, inputs = life.folder / "model.keras", life.loaded.inputs("the house")
    axes = {name: len(tensor.shape) for name, tensor in life.loaded.model.input.items()}
    if axes != dict.fromkeys(inputs, 2):  # several texts an example, or masked positions beside one
        return 0
    life.loaded.model.save(path)
    ours, theirs = (model(inputs) for model in (life.loaded.model, keras.saving.load_model(path)))
    same(*({name: value.numpy() for name, value in outputs.items()} for outputs in (theirs, ours)), 0.0)
    return len(ours)


def saved_model(life: Life) -> int:
    """The SavedModel, by its session and by `tf.saved_model.load`."""
    return _ask_saved_model(life, "serving", "tf_text")


def saved_model_of_core_ops(life: Life) -> int:
    """The SavedModel that tokenizes by TensorFlow's core ops."""
    return _ask_saved_model(life, "serving_core", "core")


def _ask_saved_model(life, name, text_ops, precision="float32", tolerance=ROUNDING):
    serving = life.loaded.task.serving
    report = export_savedmodel(life.loaded, life.folder / name, text_ops=text_ops, precision=precision)
    session, module = load_session(report["path"]), tf.saved_model.load(report["path"])
    for inputs, answer in zip(life.named_examples, life.answers, strict=True):
        signature = serving.signature_for(inputs)
        needed = {key: [value] for key, value in inputs.items()}
        takes = module.signatures[signature].structured_input_signature[1]
        needed |= {key: value for key, value in serving.settings.items() if key in takes}
        by_session = run_loaded(session, signature, needed)
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
        if precision == "float32":
            same(answers, life.answers, ROUNDING)
        elif life.task_name in _SMOOTH:
            same(answers, life.answers, _ROUGH, precision)
    return len(precisions) * len(life.answers)


_SMOOTH = ("sequence_classification", "multi_label_classification", "multiple_choice")


def bfloat16(life: Life) -> int:
    """The SavedModel in bfloat16."""
    if life.task_name not in (*_SMOOTH, "sparse_embedding"):
        return 0
    return _ask_saved_model(life, "serving_bfloat16", "tf_text", "bfloat16", _ROUGH)


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
    if life.loaded.task.text_vectors is not None or not known:
        return 0
    convert_checkpoint(life.run, life.folder / "theirs", "hugging_face")
    answers = folder_answers(life.folder / "theirs", task, texts) or []
    for text, theirs in zip(texts, answers, strict=bool(answers)):
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
    """In another folder, and where numbers and capitals are Turkish, if the machine knows them."""
    moved, before = life.folder / "an other folder, ä", locale.setlocale(locale.LC_ALL)
    shutil.copytree(life.run, moved)
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, "tr_TR.UTF-8")
    try:
        same(ask(kbert.load(moved), life.examples), life.answers, ROUNDING)
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return len(life.answers)


def command_line(life: Life) -> int:
    """`kbert predict` as JSON lines and as a table."""
    if life.loaded.task.serving is None:
        return 0
    asked = life.folder / "asked.jsonl"
    asked.write_text("".join(json.dumps(row) + "\n" for row in life.named_examples), encoding="utf-8")
    for ending in ("jsonl", "csv"):
        answers = life.folder / f"answers.{ending}"
        files = f"--run_dir={life.run}", f"--input_file={asked}", f"--output_file={answers}"
        script = run_script("kbert.scripts.run_prediction", *files)
        same(script.returncode, 0, 0, script.stderr)
    lines = [json.loads(line) for line in (life.folder / "answers.jsonl").read_text("utf-8").splitlines()]
    for line, answer in zip(map(comparable, lines), life.answers, strict=True):
        same({name: line[name] for name in answer}, answer, ROUNDING)
    table = csv.DictReader(answers.read_text("utf-8").splitlines())
    for row, line in zip(table, lines, strict=True):
        told = {name: str(line[name]) for name in row if isinstance(line.get(name), str | int | float)}
        same({name: row[name] for name in told}, told, 0)
    return len(lines)


def served(life: Life) -> int:
    """`kbert serve`, asked by its Predict API and to rank."""
    serving, compared = life.loaded.task.serving, 0
    with DevelopmentServer(life.run, "life", 0, 0) as server:
        asked = Asked(server.rest_api_port)
        for inputs, answer in zip(life.named_examples, life.answers, strict=True):
            signature = serving.signature_for(inputs)
            names = life.loaded.signatures[signature].inputs
            settings = {name: value for name, value in serving.settings.items() if name in names}
            columns = {name: [value] for name, value in inputs.items()} | settings
            body = {"signature_name": signature, "inputs": columns}
            outputs = asked.post("/v1/models/life:predict", body)[1]["outputs"]
            outputs = outputs if isinstance(outputs, dict) else {next(iter(names)): outputs}
            row = {name: _array(value)[0] for name, value in outputs.items()}
            same(comparable(serving.answer(row, inputs)), answer, ROUNDING)
            compared += 1
        if asked.rest("GET", "/info")[1]["can"]["rank"]:
            body = {"query": "the house", "texts": WORDS, "raw_scores": True}
            found = {WORDS[one["index"]]: one["score"] for one in asked.post("/rerank", body)[1]}
            expected = {one["text"]: one["score"] for one in life.loaded.rank("the house", WORDS)}
            same(found, expected, ROUNDING, "/rerank")
    return compared


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
