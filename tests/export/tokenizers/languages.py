"""The tokenizers of all languages behind one door: the same questions for each, the same form of answers.

A program in another language reads questions, one a line, and writes an answer a line. Texts are written as
their code points in hexadecimal digits, so that no language's reading of strings stands in between:

  words TAB text             -> the words of the text, as code points, joined by spaces (20)
  ids TAB text               -> the ids of its pieces
  row TAB text [TAB pair]    -> input_ids TAB input_mask TAB segment_ids

Kotlin's program also asks the sample of docs/mobile/android, with a model file that answers .25, .625, .125:

  classify TAB text [TAB pair] -> what the file saw: signature, length, tokens, tokens of the pair; then the
                                  label and its probability
"""

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from export.tokenizers.exported_vocabulary import exported_vocabulary
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.python.text_inputs import TextInputs
from kbert.tokenization.python.word_splitter import split_words
from kbert.tokenization.vocabulary import Vocabulary, read_stripped_lines
from tests.places import REPOSITORY

LENGTHS = (8, 16, 32)
LANGUAGES = ("python", "kotlin")
RESOURCES = REPOSITORY / "kbert" / "tokenization" / "core_ops"  # unicode_tables.json
KOTLIN_JAR = "KBERT_TOKENIZER_JAR"  # `make test-tokenizers` compiles it, and says where it is
# The seconds that a program may take for all of its questions.
_LIMIT = 600


class Language:
    """One tokenizer with one vocabulary.

    Args:
      name: one of LANGUAGES.
      folder: with vocab.txt and kbert.json; see `write_export`.

    Skips the test where the language cannot be run here.
    """

    def __init__(self, name: str, folder: Path):
        self._folder = folder
        self._ask = _ask_python if name == "python" else functools.partial(_ask_program, _command())

    def words(self, texts) -> list[str]:
        """The words of each text, joined by spaces."""
        return [_text(answer) for answer in self._answers("words", [(text,) for text in texts])]

    def ids(self, texts) -> list[list[int]]:
        return [_numbers(answer) for answer in self._answers("ids", [(text,) for text in texts])]

    def rows(self, texts, pairs=None) -> list[list[list[int]]]:
        """For each text input_ids, input_mask and segment_ids, in the shortest of LENGTHS with room."""
        asked = [(text,) for text in texts] if pairs is None else zip(texts, pairs, strict=True)
        return [[_numbers(part) for part in answer.split("\t")] for answer in self._answers("row", asked)]

    def classified(self, texts, pairs) -> list[str]:
        return self._answers("classify", zip(texts, pairs, strict=True))

    def _answers(self, kind, asked):
        questions = ["\t".join([kind, *map(_codes, texts)]) for texts in asked]
        answers = self._ask(self._folder, questions)
        assert len(answers) == len(questions)
        return answers


def write_export(
    vocab_txt: str, do_lower_case: bool, folder: Path, special_tokens=BERT_TOKENS, **rules
) -> Path:
    """The two files of an export that a tokenizer reads. A vocabulary that makes none is not described."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text(vocab_txt, encoding="utf-8", newline="\n")
    try:
        tokens = read_stripped_lines(folder / "vocab.txt")
        vocabulary = Vocabulary(tokens, do_lower_case, special_tokens=special_tokens, **rules)
    except ValueError:
        vocabulary = Vocabulary(special_tokens, do_lower_case, special_tokens=special_tokens, **rules)
    about = {"task": "x", "vocabulary": vocabulary.describe()}
    (folder / "kbert.json").write_text(json.dumps(about, indent=2), encoding="utf-8")
    return folder


def _command():
    jar = os.environ.get(KOTLIN_JAR)
    if not jar:
        pytest.skip(f"THE TOKENIZER IN KOTLIN WAS NOT RUN: `make test-tokenizers` does ({KOTLIN_JAR}).")
    return ["java", "-cp", f"{jar}{os.pathsep}{RESOURCES}", "AnswerKt"]


def refusal(name: str, folder: Path, lengths=LENGTHS) -> str:
    """What a language says of files that it refuses."""
    if name == "python":
        with pytest.raises(ValueError) as refused:
            [TextInputs(exported_vocabulary(folder), length) for length in lengths]
        return str(refused.value)
    done = _run(_command(), folder, "", lengths)
    assert done.returncode == 1 and done.stderr.startswith("error: "), done.stderr[-2000:]
    return done.stderr


def _run(command, folder, questions, lengths=LENGTHS):
    files = [str(folder / "vocab.txt"), str(folder / "kbert.json")]
    command = [*command, *files, ",".join(map(str, lengths))]
    return subprocess.run(command, input=questions, capture_output=True, text=True, timeout=_LIMIT)


def _ask_program(command, folder, questions):
    done = _run(command, folder, "".join(f"{question}\n" for question in questions))
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split("\n")[:-1]


def _ask_python(folder, questions):
    vocabulary = exported_vocabulary(folder)
    tables = {length: TextInputs(vocabulary, length) for length in LENGTHS}

    def answer(question):
        kind, *texts = question.split("\t")
        text, *pairs = map(_text, texts)
        if kind == "words":
            return _codes(" ".join(split_words(text, **vocabulary.rules.splitting)))
        if kind == "ids":
            return " ".join(map(str, tables[LENGTHS[-1]].tokenizer(text)))
        used = tables[LENGTHS[-1]]([text], pairs or None)["input_mask"].sum()
        inputs = tables[next(n for n in LENGTHS if n >= used)]([text], pairs or None)
        return "\t".join(" ".join(map(str, values[0])) for values in inputs.values())

    return [answer(question) for question in questions]


def _codes(text):
    return " ".join(f"{ord(character):x}" for character in text)


def _text(codes):
    return "".join(chr(int(code, 16)) for code in codes.split())


def _numbers(answer):
    return [int(number) for number in answer.split()]
