"""Tokenizer files of all kinds: out and in again, beside tokenizers and sentencepiece, what is refused."""

import gzip
import itertools
import json
import re
import shutil
import unicodedata

import pytest
import tensorflow as tf
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer, normalizers

from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.hugging_face.sentencepiece_proto import build_model, parse_model
from kbert.checkpoints.hugging_face.tokenizer import read_tokenizer, write_tokenizer
from kbert.checkpoints.hugging_face.tokenizer_json import _template
from kbert.checkpoints.hugging_face.tokenizer_unigram import _HARMLESS
from kbert.checkpoints.hugging_face.tokenizer_wordpiece import MPNET_TOKENS
from kbert.checkpoints.report import Report
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BytePairVocabulary
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.tokenizer import build_tokenizer
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import mostly_long
from tests.kbert.checkpoints import foreign_files
from tests.kbert.tokenization.small_vocabularies import TEXTS, bpe_vocabulary, sentencepiece_model
from tests.places import SHARED_DATA

MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("o", "u"), ("ou", "s"), ("Ġ", "w")]
WORDS = ["the", "play", "##ing", "a", "##b", ",", "."]
KINDS = ("wordpiece", "mpnet", "bpe", "sentencepiece")
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
NORMALIZER = normalizers.BertNormalizer(lowercase=True)
FILLS_MASKS = "RobertaForMaskedLM"
SLOW_FILES = ("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model")


def make(kind):
    if kind == "bpe":
        return bpe_vocabulary(MERGES)
    if kind == "sentencepiece":
        return SentencePieceVocabulary(sentencepiece_model())
    if kind == "mpnet":
        tokens = ["<s>", "<pad>", "</s>", "<unk>", *BERT_TOKENS, *WORDS, "<mask>"]
        return Vocabulary(tokens, True, special_tokens=MPNET_TOKENS)
    return Vocabulary([*BERT_TOKENS, *WORDS], True)


def read(folder, do_lower_case=None, allow=(), architecture="BertModel", **prompts):
    report = Report("hugging_face", str(folder), allow_unmatched=allow)
    return read_tokenizer(folder, do_lower_case, report, prompts, architecture)


def without_slow_files(folder):
    for name in SLOW_FILES:
        (folder / name).unlink(missing_ok=True)


def edit(folder, file, **values):
    """Changes keys of a JSON file; `a__b` is the key b of the object a."""
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    for key, value in values.items():
        inner, *path = content, *key.split("__")
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value
    (folder / file).write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def folders(tmp_path):
    """A function: kind -> a folder with its files."""

    def write(kind):
        (tmp_path / kind).mkdir()
        write_tokenizer(tmp_path / kind, make(kind), 64)
        return tmp_path / kind

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_out_and_in_again_is_the_same_vocabulary(folders, kind, tmp_path):
    folder, vocabulary = folders(kind), make(kind)
    again, longest = read(folder)
    assert (again.fingerprint, again.special_tokens, longest) == (
        vocabulary.fingerprint,
        vocabulary.special_tokens,
        64,
    )
    without_slow_files(folder)
    alone, _ = read(folder)
    assert (alone.tokens, alone.special_tokens) == (vocabulary.tokens, vocabulary.special_tokens)
    (tmp_path / "more").mkdir()
    write_tokenizer(tmp_path / "more", alone)
    more, longest = read(tmp_path / "more")
    assert (more.fingerprint, longest) == (alone.fingerprint, None)


@pytest.mark.parametrize("kind", KINDS)
def test_the_package_tokenizers_gives_the_ids_of_the_graph(folders, kind):
    tokenizer = Tokenizer.from_file(str(folders(kind) / "tokenizer.json"))
    texts = [*TEXTS, "the  house,\tplaying a b.", "don't\n漢字 é", "", " we", "outhouse the"]
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert build_tokenizer(make(kind))(tf.constant(texts)).to_list() == expected and any(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_package_tokenizers_packs_texts_and_finds_masks_as_kbert_does(folders, kind):
    folder, vocabulary = folders(kind), make(kind)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    first, second = (tokenizer.encode(text, add_special_tokens=False).ids for text in ("the house", "a play"))
    assert first and second and first != second
    cls, sep = vocabulary.cls_id, vocabulary.sep_id
    pair = tokenizer.encode("the house", "a play")
    assert pair.ids == [cls, *first, *[sep] * vocabulary.pair_separators, *second, sep]
    segments = len(second) + 1 if kind == "wordpiece" else 0
    assert pair.type_ids == [0] * (len(pair.ids) - segments) + [1] * segments
    masked = tokenizer.encode(f"the {vocabulary.special_tokens.mask} house", add_special_tokens=False)
    the = tokenizer.encode("the", add_special_tokens=False).ids
    house = tokenizer.encode(" house", add_special_tokens=False).ids
    assert masked.ids == [*the, vocabulary.mask_id, *house]


def test_a_model_file_that_is_made_again_gives_the_ids_of_the_first():
    model = sentencepiece_model()
    again = build_model(parse_model(model, "model"))
    assert parse_model(again, "again") == parse_model(model, "model")
    one, other = (SentencePieceProcessor(model_proto=content) for content in (model, again))
    texts = [*TEXTS, "  two\u3000spaces ", "ﬁ ½ x̂", "", "漢字"]
    assert one.encode(texts) == other.encode(texts) and any(one.encode(texts))


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_with_a_token_that_is_never_split_is_refused(folders, kind):
    """Where `added_tokens` is allowed, texts with one are read as characters, but no prompt is."""
    folder, vocabulary = folders(kind), make(kind)
    mask, last = vocabulary.special_tokens.mask, len(vocabulary)
    with pytest.raises(ValueError, match=rf"the prompt 'query' .* never splits {re.escape(repr(mask))}"):
        read(folder, query=f"{mask} ")
    edit(folder, "tokenizer_config.json", added_tokens_decoder={str(last): {"content": "[Q]"}})
    with pytest.raises(ValueError, match=r"has 1 added tokens \(\[Q\]\)"):
        read(folder)
    with pytest.raises(ValueError, match=r"the prompt 'query' is '\[Q\] '.* never splits '\[Q\]'.*=prompts"):
        read(folder, allow=["added_tokens"], query="[Q] ")
    read(folder, allow=["added_tokens", "prompts"], query="[Q] ")
    read(folder, allow=["added_tokens"], query="Q: ", document="")
    edit(folder, "tokenizer_config.json", added_tokens_decoder={}, extra_special_tokens=["[Q]"])
    with pytest.raises(ValueError, match=r"never splits '\[Q\]'.*=prompts"):
        read(folder, allow=["added_tokens"], query="[Q] ")


# Steps and processors that published tokenizer.json files have, and that give the same ids.
SAME_IDS = [
    ("sentencepiece", {"model__type": None}),
    ("bpe", {"model__type": None}),
    ("bpe", {"model__merges": [" ".join(pair) for pair in MERGES]}),
    ("sentencepiece", {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}}),
    (
        "sentencepiece",
        {
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [
                    {"SpecialToken": {"id": "<s>", "type_id": 0}},
                    {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}},
                ],
                "pair": [
                    {"SpecialToken": {"id": "<s>", "type_id": 0}},
                    {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}},
                    {"Sequence": {"id": "B", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}},
                ],
                "special_tokens": {
                    "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                    "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
                },
            }
        },
    ),
]


@pytest.mark.parametrize(("kind", "values"), SAME_IDS)
@pytest.mark.parametrize("tokenizer_class", [None, "own"])
def test_other_files_with_the_same_meaning_are_read(folders, kind, values, tokenizer_class):
    folder = folders(kind)
    edit(folder, "tokenizer.json", **values)
    if tokenizer_class is None:
        edit(folder, "tokenizer_config.json", tokenizer_class=None)
        # As of multilingual sentence encoders: the files are of another kind than the family's, and decide.
        family = "xlm-roberta" if kind == "sentencepiece" else "bert"
        other = "bert" if kind == "sentencepiece" else "xlm-roberta"
        for model_type in (family, other):
            (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
            assert read(folder)[0].fingerprint == make(kind).fingerprint
    assert read(folder)[0].fingerprint == make(kind).fingerprint


@pytest.mark.parametrize("has_split", [True, False])
@pytest.mark.parametrize("steps", [s for size in range(4) for s in itertools.permutations("_ms", size)])
def test_steps_of_xlmr_that_are_read_treat_blanks_as_sentencepiece(folders, has_split, steps):
    """Where the class follows tokenizer.json; XLMRobertaTokenizer has its own."""
    folder, vocabulary = folders("sentencepiece"), make("sentencepiece")
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    harmless = dict(zip("_ms", _HARMLESS, strict=True))
    normalizers = [content["normalizer"], *(harmless[step] for step in steps)]
    edit(folder, "tokenizer.json", normalizer={"type": "Sequence", "normalizers": normalizers})
    if not has_split:
        edit(folder, "tokenizer.json", pre_tokenizer=content["pre_tokenizer"]["pretokenizers"][1])
    assert read(folder)[0].fingerprint == vocabulary.fingerprint
    edit(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    texts = ["the we", "the we ", "the  we", "  the we", "the we  ", "the\nwe\n", "\tthe   we   ", " ", ""]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    if build_tokenizer(vocabulary)(tf.constant(texts)).to_list() == theirs:
        read(folder, allow=[] if steps[:2] != ("_", "m") else ["normalizer"])
    else:
        with pytest.raises(ValueError, match="its steps keep a blank at the end .*=normalizer.$"):
            read(folder)


@pytest.mark.parametrize(
    ("kind", "tokens", "name"),
    [("bpe", BERT_TOKENS, "RobertaTokenizer"), ("wordpiece", MPNET_TOKENS, "BertTokenizerFast")],
)
def test_special_tokens_of_another_family_than_the_class_are_refused(tmp_path, kind, tokens, name):
    """The classes of transformers 5 pack pairs by their own rule, whatever tokenizer.json says."""
    if kind == "bpe":
        pieces = [token for token in bpe_vocabulary(MERGES).tokens if token not in ROBERTA_TOKENS]
        vocabulary = BytePairVocabulary([*tokens, *pieces], MERGES, tokens)
    else:
        vocabulary = make("mpnet")
    write_tokenizer(tmp_path, vocabulary)
    assert read(tmp_path)[0].fingerprint == vocabulary.fingerprint
    edit(tmp_path, "tokenizer_config.json", tokenizer_class=name)
    with pytest.raises(
        ValueError, match=f"transformers' {name} makes .* b .*, but kbert .*tokenizer_class.$"
    ):
        read(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "modernbert"}')  # whose class does not count
    assert read(tmp_path)[0].fingerprint == vocabulary.fingerprint
    edit(tmp_path, "tokenizer_config.json", tokenizer_class=None)  # that of the model's family is taken
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "roberta" if kind == "bpe" else "bert"}))
    with pytest.raises(
        ValueError, match=f"transformers' {name.removesuffix('Fast')} makes .* tokenizer.json"
    ):
        read(tmp_path)


@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize(("role", "token"), [("bos_token", "[CLS]"), ("eos_token", "<sep>")])
def test_xlmr_begins_and_ends_a_text_with_other_tokens_only_where_no_class_takes_them(
    folders, file, role, token
):
    folder = folders("sentencepiece")
    edit(folder, file, **{role: token})
    with pytest.raises(ValueError, match=f"{role} is '.*{token[1:-1]}.', not .*=special_tokens.$"):
        read(folder)
    edit(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")  # follows tokenizer.json
    assert read(folder)[0].fingerprint == make("sentencepiece").fingerprint


@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_segments_of_a_template_count_where_the_model_has_segments(folders, kind, second):
    """The others add nothing for a second text, so their files may number segments either way."""
    folder, vocabulary = folders(kind), make(kind)
    edit(folder, "tokenizer.json", post_processor=_template(vocabulary, second))
    ours = 2 - vocabulary.pair_separators
    for architecture, values in (
        ("BertModel", {}),
        ("RobertaModel", {}),
        ("BertModel", {"type_vocab_size": 1}),
    ):
        (folder / "config.json").write_text(json.dumps(values))
        if second != ours and architecture == "BertModel" and not values:
            with pytest.raises(ValueError, match="has other segments"):
                read(folder, architecture=architecture)
        else:
            assert read(folder, architecture=architecture)[0].fingerprint == vocabulary.fingerprint


def test_a_mask_that_is_a_text_alone_takes_its_blank_as_in_transformers_4(folders):
    """RobertaTokenizer of transformers 5 keeps the blank, and so do the classes of the file in both."""
    folder = folders("bpe")
    edit(folder, "tokenizer.json", added_tokens=[])
    report = Report("hugging_face", str(folder))
    read_tokenizer(folder, None, report, architecture=FILLS_MASKS)
    assert "as in transformers 4, but not in transformers 5" in str(report)
    edit(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    with pytest.raises(
        ValueError, match="lstrip=false, but kbert finds a mask with lstrip=true.*mask_token.$"
    ):
        read(folder, architecture=FILLS_MASKS)


@pytest.mark.parametrize("name", ["lstrip", "rstrip", "single_word"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_that_takes_other_blanks_is_refused_where_masks_are_filled(folders, kind, name):
    """Blanks are parts of pieces in byte-level BPE alone."""
    folder, vocabulary = folders(kind), make(kind)
    mask = vocabulary.special_tokens.mask
    text = f"the {mask} the" + f"a{mask}b" * (name == "single_word")
    tokens = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    ours = next(token for token in tokens if token["content"] == mask)
    theirs = ours | {name: not ours[name]}
    edit(folder, "tokenizer.json", added_tokens=[theirs if token == ours else token for token in tokens])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found = build_tokenizer(vocabulary).tokenize_with_masks(tf.constant([text])).to_list()[0]
    is_other = tokenizer.encode(text, add_special_tokens=False).ids != found
    assert is_other == (kind == "bpe" or name == "single_word")
    if is_other:
        with pytest.raises(ValueError, match=f"{name}={json.dumps(theirs[name])}, but .*mask_token.$"):
            read(folder, architecture=FILLS_MASKS)
        read(folder, allow=["mask_token"], architecture=FILLS_MASKS)
        # transformers takes this one where there are two.
        edit(folder, "tokenizer_config.json", added_tokens_decoder={str(vocabulary.mask_id): ours})
        read(folder, architecture=FILLS_MASKS)
        edit(folder, "tokenizer_config.json", added_tokens_decoder={})
    read(folder, architecture="RobertaModel" if is_other else FILLS_MASKS)


@pytest.mark.parametrize("file", ["special_tokens_map.json", "tokenizer_config.json"])
@pytest.mark.parametrize("name", ["lstrip", "rstrip"])
def test_a_mask_that_an_object_describes_is_read_where_no_list_has_it(folders, file, name):
    folder, mask = folders("bpe"), make("bpe").special_tokens.mask
    (folder / "tokenizer.json").unlink()
    entry = {"content": mask, "lstrip": True, "rstrip": False, "single_word": False, "normalized": False}
    edit(folder, file, mask_token=entry)
    read(folder, architecture=FILLS_MASKS)
    edit(folder, file, mask_token=entry | {name: not entry[name]})
    with pytest.raises(ValueError, match=f"{name}={json.dumps(not entry[name])}, but .*mask_token.$"):
        read(folder, architecture=FILLS_MASKS)


def test_masks_that_are_cut_as_words_are_refused(folders):
    folder = folders("wordpiece")
    edit(folder, "tokenizer_config.json", split_special_tokens=True)
    read(folder)
    with pytest.raises(ValueError, match="split_special_tokens=true cuts"):
        read(folder, architecture="BertForMaskedLM")


def test_a_roberta_processor_without_all_keys_packs_as_berts(folders):
    folder, vocabulary = folders("bpe"), make("bpe")
    full = json.loads((folder / "tokenizer.json").read_text())["post_processor"]
    ends = {key: full[key] for key in ("type", "sep", "cls")}
    edit(folder, "tokenizer.json", post_processor=ends)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("a", "a").ids.count(vocabulary.sep_id) == 2 < vocabulary.pair_separators + 1
    with pytest.raises(ValueError, match="post_processor"):
        read(folder)


@pytest.mark.parametrize("tokens", [[["a"]], {"a": ["b"]}, [{"content": ["a"]}]])
def test_tokens_that_are_no_texts_are_one_sentence(folders, tokens):
    folder = folders("wordpiece")
    edit(folder, "tokenizer_config.json", extra_special_tokens=tokens)
    with pytest.raises(ValueError, match="extra_special_tokens"):
        read(folder)


@pytest.mark.parametrize(("strips", "lower_cases"), [(False, True), (True, False)])
def test_accents_of_a_modernbert_stand_in_both_files(folders, strips, lower_cases):
    """transformers 4 takes those of its BertTokenizer, transformers 5 those of tokenizer.json."""
    folder = folders("wordpiece")
    edit(folder, "tokenizer.json", normalizer__lowercase=lower_cases, normalizer__strip_accents=None)
    values = {"tokenizer_class": "BertTokenizer", "do_lower_case": lower_cases, "strip_accents": strips}
    edit(folder, "tokenizer_config.json", **values)
    for model_type in ("bert", "modernbert"):
        (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
        if model_type == "modernbert":
            with pytest.raises(
                ValueError, match=f"strip_accents={strips}, but tokenizer.json strip_accents="
            ):
                read(folder, allow=["do_lower_case"])
            edit(folder, "tokenizer.json", normalizer__strip_accents=strips)
        vocabulary, _ = read(folder, allow=["do_lower_case"])
        assert vocabulary.rules.strip_accents == strips


@pytest.mark.parametrize(("tokenizer_class", "said"), [("BertTokenizer", 1), ("PreTrainedTokenizerFast", 0)])
def test_another_longest_word_is_said_where_transformers_5_takes_its_own(folders, tokenizer_class, said):
    folder = folders("wordpiece")
    edit(folder, "tokenizer.json", model__max_input_chars_per_word=150)
    edit(folder, "tokenizer_config.json", tokenizer_class=tokenizer_class)
    report = Report("hugging_face", str(folder))
    vocabulary, *_ = read_tokenizer(folder, None, report)
    assert vocabulary.rules.max_input_chars_per_word == 150
    assert str(report).count("BertTokenizer of transformers 5 takes 100") == said


# (kind, file, changed values, the beginning of the sentence, the setting that allows)
SETTINGS = [
    ("bpe", "tokenizer_config.json", {"add_prefix_space": True}, "add_prefix_space=true; in kbert a", None),
    ("bpe", "tokenizer.json", {"pre_tokenizer__add_prefix_space": True}, "add_prefix_space=true", None),
    (
        "bpe",
        "tokenizer.json",
        {"pre_tokenizer__use_regex": False},
        "is 'ByteLevel', not GPT",
        "pre_tokenizer",
    ),
    ("bpe", "tokenizer.json", {"pre_tokenizer": None}, "pre_tokenizer is None, not GPT-2's", "pre_tokenizer"),
    ("bpe", "tokenizer.json", {"normalizer": {"type": "NFC"}}, "normalizer is 'NFC', not null", "normalizer"),
    ("bpe", "tokenizer.json", {"model__dropout": 0.1}, "its dropout is 0.1, not 0.0", "dropout"),
    ("bpe", "tokenizer.json", {"model__ignore_merges": True}, "its ignore_merges is True", "ignore_merges"),
    ("bpe", "tokenizer.json", {"post_processor__cls": ["<s>", 9]}, "does not make <s> a </s> </s> b", None),
    ("bpe", "tokenizer_config.json", {"mask_token": "[MASK]"}, "mask_token is '\\[MASK\\]', not", None),
    ("bpe", "tokenizer.json", {"added_tokens": [{"id": 300, "content": "x"}]}, "has 1 added tokens", None),
    ("sentencepiece", "tokenizer_config.json", {"add_prefix_space": False}, "always puts a space", None),
    ("sentencepiece", "tokenizer_config.json", {"add_prefix_space": None}, "add_prefix_space=null; in", None),
    ("sentencepiece", "tokenizer.json", {"pre_tokenizer": {"type": "Digits"}}, "'Digits', not 'White", None),
    ("sentencepiece", "tokenizer.json", {"model__byte_fallback": True}, "byte_fallback is True", None),
    ("sentencepiece", "tokenizer.json", {"post_processor": None}, "does not make <s> a </s> </s> b", None),
    ("mpnet", "tokenizer.json", {"post_processor": None}, "does not make <s> a </s> </s> b </s>", None),
    ("mpnet", "tokenizer_config.json", {"unk_token": "<unk>"}, "unk_token is '<unk>', not", None),
]


@pytest.mark.parametrize(("kind", "file", "values", "sentence", "setting"), SETTINGS)
def test_settings_with_other_ids_are_refused_by_name(folders, kind, file, values, sentence, setting):
    folder = folders(kind)
    edit(folder, file, **values)
    with pytest.raises(ValueError, match=sentence) as error:
        read(folder)
    setting = str(error.value).rstrip(".").rsplit("allow_unmatched=", 1)[1] if setting is None else setting
    assert str(error.value).endswith(f"pass allow_unmatched={setting}.")
    assert read(folder, allow=[setting])[0].tokens == make(kind).tokens


@pytest.mark.parametrize("is_modernbert", [False, True])
def test_a_tagger_puts_a_space_before_each_word(tmp_path, is_modernbert, caplog):
    """As run_ner.py of transformers asks for. The model beside it says that it is a tagger."""
    folder, tagger = tmp_path, "RobertaForTokenClassification"
    made = make("bpe")
    if is_modernbert:
        made = BytePairVocabulary([*BERT_TOKENS, *made.tokens], made.merges, special_tokens=BERT_TOKENS)
    assert made.is_modernbert == is_modernbert
    write_tokenizer(folder, made, architecture=tagger)
    assert json.loads((folder / "tokenizer_config.json").read_text("utf-8"))["add_prefix_space"]
    with pytest.raises(ValueError, match="add_prefix_space"):
        read(folder, architecture=None)
    (folder / "config.json").write_text(json.dumps({"architectures": [tagger]}))
    vocabulary, _ = read(folder, architecture=None)
    assert "kbert does so in token_classification alone" in caplog.text
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    words = ["the", "dog", "ran"]
    ours = build_tokenizer(vocabulary).tokenize_words(tf.constant(words)).to_list()
    assert ours == [theirs.encode(word, add_special_tokens=False).ids for word in words]
    assert "add_prefix_space is not true" not in caplog.text
    file = "tokenizer.json" if is_modernbert else "tokenizer_config.json"  # by the class
    edit(folder, file, **{"pre_tokenizer__add_prefix_space" if is_modernbert else "add_prefix_space": False})
    read(folder, architecture=tagger)
    assert "add_prefix_space is not true; kbert puts a space before each word" in caplog.text
    caplog.clear()
    read(folder, architecture=None)  # there is nothing to say of a tokenizer alone
    assert not caplog.text


@pytest.mark.parametrize("kind", ["wordpiece", "mpnet"])
def test_steps_of_berts_words_may_stand_in_a_list_of_one(folders, kind):
    folder = folders(kind)
    rules = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    own, words = rules["normalizer"], rules["pre_tokenizer"]
    lists = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [words]}}
    for steps in ([own], [{"type": "Lowercase"}, own]):  # the second is sentence-transformers'
        edit(folder, "tokenizer.json", normalizer={"type": "Sequence", "normalizers": steps}, **lists)
        assert read(folder)[0].fingerprint == make(kind).fingerprint
        both = Tokenizer.from_file(str(folder / "tokenizer.json"))
        text = "Plà\u0130 THE, playing \u212b\u1e9e"
        assert both.normalizer.normalize_str(text) == NORMALIZER.normalize_str(text)
    for steps in ([{"type": "Lowercase"}, own | {"lowercase": False}], [own, {"type": "NFC"}]):
        edit(folder, "tokenizer.json", normalizer={"type": "Sequence", "normalizers": steps})
        with pytest.raises(ValueError, match="its normalizer is '.*', '.*', not 'BertNormalizer'"):
            read(folder)


def test_a_text_is_not_lower_cased_for_a_flag(folders):
    with pytest.raises(ValueError, match="a tokenizer of type BPE, which does not lower-case"):
        read(folders("bpe"), do_lower_case=True)
    folder = folders("sentencepiece")
    edit(folder, "tokenizer_config.json", do_lower_case=True)  # of no effect there either
    assert read(folder, do_lower_case=False)[0].fingerprint == make("sentencepiece").fingerprint


def _cut_model(folder):
    path = folder / "sentencepiece.bpe.model"
    path.write_bytes(path.read_bytes()[:-200])


def _no_model(folder):
    (folder / "sentencepiece.bpe.model").write_bytes(b"no model")


def _other_merges(folder):
    (folder / "merges.txt").write_text("#version: 0.2\nx y\n")


def _gap(folder):
    edit(folder, "vocab.json", **{"<mask>": 9999})


def _other_model(folder):
    edit(folder, "tokenizer.json", model__merges=[list(pair) for pair in MERGES[:-1]])


def _other_scores(folder):
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["vocab"][7][1] -= 1.0
    (folder / "tokenizer.json").write_text(json.dumps(content))


def _odd_family(folder):
    edit(folder, "tokenizer_config.json", tokenizer_class=None)
    (folder / "config.json").write_text('{"model_type": ["bert"]}')


BROKEN = [
    ("wordpiece", _odd_family, "config.json: model_type should be a text"),
    ("sentencepiece", _cut_model, "is no whole SentencePiece model .*; copy the file again"),
    ("sentencepiece", _no_model, "is no whole SentencePiece model .*; copy the file again"),
    ("sentencepiece", _other_scores, r"sentencepiece.bpe.model \(.* tokenizer.json \(.*not the same"),
    ("bpe", _other_merges, "merge 1, 'x' \\+ 'y', needs the token 'xy', .*; copy both files of one model"),
    ("bpe", _gap, "vocab.json: expected its tokens to be numbered 0, 1, 2 ... without gaps"),
    ("bpe", _other_model, r"vocab.json \(.* tokenizer.json \(.* are not the same vocabulary; remove"),
    (
        "bpe",
        lambda folder: (folder / "merges.txt").unlink(),
        "merges.txt does not exist; byte-level BPE needs",
    ),
]


@pytest.mark.parametrize(("kind", "damage", "sentence"), BROKEN)
def test_broken_files_have_their_sentence(folders, kind, damage, sentence):
    folder = folders(kind)
    damage(folder)
    with pytest.raises(ValueError, match=sentence):
        read(folder)


def test_mpnets_four_special_tokens_come_before_berts_pieces(tmp_path, caplog):
    (tmp_path / "vocab.txt").write_text("\n".join([*BERT_TOKENS, *WORDS]) + "\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "MPNetTokenizer"}')
    vocabulary, _ = read(tmp_path)
    assert vocabulary.tokens == ("<s>", "<pad>", "</s>", "<unk>", *BERT_TOKENS, *WORDS)
    assert vocabulary.special_tokens == MPNET_TOKENS._replace(mask="[MASK]")
    assert "<unk> are put before them, where transformers puts them last" in caplog.text
    (tmp_path / "again").mkdir()
    write_tokenizer(tmp_path / "again", vocabulary)
    assert read(tmp_path / "again")[0].fingerprint == vocabulary.fingerprint


MPNET_ROLES = dict(zip(ROLES, MPNET_TOKENS, strict=True))
OLD_MPNETS = {  # tokenizer_config.json, special_tokens_map.json, config.json
    "nothing but the family": ({}, {}, {}),
    "the roles": ({}, MPNET_ROLES, {}),
    "the roles alone, of no known family": ({}, MPNET_ROLES, None),
    "the class": ({}, {}, {"tokenizer_class": "MPNetTokenizer"}),
    "a class of the file": ({"tokenizer_class": "PreTrainedTokenizerFast"}, MPNET_ROLES, {}),
}


@pytest.mark.parametrize("has_file", [False, True])
@pytest.mark.parametrize(("settings", "roles", "config"), OLD_MPNETS.values(), ids=OLD_MPNETS)
def test_an_mpnet_is_known_by_its_class_its_roles_or_its_family(tmp_path, settings, roles, config, has_file):
    """transformers takes the class of the family where none is named; the vocabulary holds [CLS] and <s>."""
    write_tokenizer(tmp_path, make("mpnet"))
    if not has_file:
        (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True} | settings))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(roles))
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "mpnet"} | config))
    assert read(tmp_path)[0].fingerprint == make("mpnet").fingerprint
    if config == {} and not settings:  # the files may say that it has BERT's
        berts = dict(zip(ROLES, BERT_TOKENS, strict=True))
        (tmp_path / "special_tokens_map.json").write_text(json.dumps(berts))
        with pytest.raises(ValueError, match=r"MPNetTokenizer makes \[CLS\] a|added_tokens.$"):
            read(tmp_path)


def test_mpnets_special_tokens_may_be_objects(tmp_path):
    vocabulary = make("mpnet")
    write_tokenizer(tmp_path, vocabulary)
    tokens = zip(ROLES, vocabulary.special_tokens, strict=True)
    edit(tmp_path, "tokenizer_config.json", **{role: {"content": token} for role, token in tokens})
    assert read(tmp_path)[0].fingerprint == vocabulary.fingerprint


@pytest.mark.parametrize("has_both", [True, False])
def test_white_space_is_a_token_of_chinese_bert(tmp_path, has_both):
    """In tokenizer.json it stands as it is; the line of a vocab.txt is stripped."""
    expected = Vocabulary([*BERT_TOKENS, "", "的", "##"], do_lower_case=True)
    write_tokenizer(tmp_path, expected)
    rules = json.loads((tmp_path / "tokenizer.json").read_text())
    vocab = rules["model"]["vocab"]
    rules["model"]["vocab"] = {{"": "\u2028", "##": "##\u2028"}.get(k, k): i for k, i in vocab.items()}
    (tmp_path / "tokenizer.json").write_text(json.dumps(rules))
    if not has_both:
        (tmp_path / "vocab.txt").unlink(missing_ok=True)
    assert read(tmp_path)[0].fingerprint == expected.fingerprint


# ---------------------------------------------------------------------------- beside weights


def beside_weights(folder, kind, rows):
    """A BERT with the tokenizer files of a kind."""
    names = foreign_files.hugging_face_names(foreign_files.random_weights(vocab_size=rows))
    foreign_files.write_hugging_face(folder, names, vocab_size=rows)
    (folder / "vocab.txt").unlink()
    write_tokenizer(folder, make(kind), 16)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_a_row_for_each_id(tmp_path, kind):
    size = len(make(kind))
    checkpoint = read_checkpoint(beside_weights(tmp_path / "fits", kind, size))
    assert checkpoint.vocabulary.fingerprint == make(kind).fingerprint
    with pytest.raises(
        ValueError, match=f"has {size} tokens, but .* vocab_size is {size - 1}: ids would fall"
    ):
        read_checkpoint(beside_weights(tmp_path / "small", kind, size - 1))
    with pytest.raises(
        ValueError, match=f"vocab_size is {size + 301}: not the vocabulary .*matched=vocab_size"
    ):
        read_checkpoint(beside_weights(tmp_path / "large", kind, size + 301))


# ---------------------------------------------------------------------------- golden texts


def golden(name):
    folder = SHARED_DATA / "golden" / "tokenizers" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    with gzip.open(folder / "ids.jsonl.gz", "rt", encoding="utf-8") as file:
        return folder, [json.loads(line) for line in file]


def other_texts(folder, vocabulary, rows):
    """The golden texts for which the package tokenizers gives other ids with our tokenizer.json."""
    write_tokenizer(folder, vocabulary)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found = tokenizer.encode_batch([row["text"] for row in rows], add_special_tokens=False)
    return [row["text"] for row, ours in zip(rows, found, strict=True) if ours.ids != row["ids"]]


@pytest.mark.parametrize(
    "name", mostly_long(["byte_level_bpe", "byte_level_bpe_small"], ["byte_level_bpe_small"])
)
def test_the_package_tokenizers_gives_the_golden_ids_of_bpe(tmp_path, name):
    folder, rows = golden(name)
    shutil.copytree(folder, tmp_path / "in")
    vocabulary, _ = read(tmp_path / "in")
    assert (vocabulary.kind, vocabulary.special_tokens) == ("bpe", ROBERTA_TOKENS)
    assert isinstance(vocabulary, BytePairVocabulary) and len(rows) > 2000
    assert other_texts(tmp_path, vocabulary, rows) == []
    assert read(tmp_path)[0].fingerprint == vocabulary.fingerprint


def test_the_package_tokenizers_gives_the_golden_ids_of_sentencepiece_but_for_combined_characters(tmp_path):
    """The package normalizes a letter and its marks together, SentencePiece the longest match in its map."""
    folder, rows = golden("sentencepiece_xlmr")
    vocabulary, _ = read(folder)
    other = other_texts(tmp_path, vocabulary, rows)
    assert len(rows) > 2000 and len(other) <= 77
    combined = [text for text in other if any(unicodedata.category(c)[0] in "MC" for c in text)]
    assert len(other) - len(combined) <= 2  # a half-width sound mark, and a tie of two scores


def test_golden_folders_have_their_tokenizers():
    folder = SHARED_DATA / "golden" / "encoders"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    sizes = {"RobertaModel": ("bpe", 3261), "XLMRobertaModel": ("sentencepiece", 8002)}
    sizes |= {"MPNetModel": ("wordpiece", 1004), "BertModel_xlmr_tokenizer": ("sentencepiece", 8002)}
    for name, expected in sizes.items():
        vocabulary, _ = read(folder / name)
        assert (vocabulary.kind, len(vocabulary)) == expected
