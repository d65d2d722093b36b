"""Configs: what they accept, the sentences they refuse with, and that nothing is lost on the way to JSON."""

import dataclasses
import json
import random
import re
import subprocess
import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from kbert.checks import with_checked_arguments, with_checked_values
from kbert.cli.commands import find_command
from kbert.config import (
    DatasetConfig,
    DistillationConfig,
    EncoderConfig,
    FinetuningConfig,
    FlagOverride,
    OptimizerConfig,
    PhaseConfig,
    PretrainingConfig,
    config_with_settings,
    encoder_presets,
    from_dict,
    load_config,
    to_dict,
)
from kbert.config.config_file import find_override
from kbert.config.lora_config import LoraConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.input_pipelines.data_files import LabelledData
from tests.kbert.mutations import mutate_bytes, mutate_json
from tests.naming import naming
from tests.places import REPOSITORY

CONFIGS = REPOSITORY / "configs"
CONFIG_CLASSES = {"pretraining": PretrainingConfig, "finetuning": FinetuningConfig, "encoders": EncoderConfig}
ENCODERS = sorted(CONFIGS.glob("encoders/*.json"))
EXPERIMENTS = sorted(path for path in CONFIGS.glob("*/*.toml") if path.parent.name in CONFIG_CLASSES)
SCRIPTS = {
    "pretraining": "kbert.scripts.run_pretraining",
    "finetuning": "kbert.scripts.run_finetuning",
}


@pytest.fixture
def write(tmp_path):
    def write(values):
        path = tmp_path / "config.json"
        path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return path

    return write


# ---------------------------------------------------------------------------------- what is there


@pytest.mark.parametrize("path", ENCODERS + EXPERIMENTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_config_of_the_repository_loads_and_comes_back_from_json(path, write):
    config_class = CONFIG_CLASSES[path.parent.name]
    config = load_config(config_class, path)
    assert from_dict(config_class, to_dict(config)) == config
    assert load_config(config_class, write(to_dict(config))) == config  # what a run records


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_experiment_says_what_it_is_for_its_command_and_what_to_expect(path):
    text = path.read_text(encoding="utf-8")
    comment = text.partition("\n\n")[0]
    assert all(line.startswith("#") for line in comment.splitlines())
    folder = path.parent.name
    assert f"{find_command(SCRIPTS[folder])} --config=configs/{folder}/{path.name} " in comment
    assert "\n# Expected" in comment
    assert load_config(CONFIG_CLASSES[folder], path).description
    assert all(len(line) <= 110 for line in text.splitlines())


def test_presets_are_the_published_shapes():
    shapes = {
        name: (config.num_hidden_layers, config.hidden_size, config.num_attention_heads)
        for name in encoder_presets()
        for config in [from_dict(EncoderConfig, name)]
    }
    assert shapes == {
        "bert_base": (12, 768, 12),
        "bert_large": (24, 1024, 16),
        "bert_medium": (8, 512, 8),
        "bert_mini": (4, 256, 4),
        "bert_small": (4, 512, 8),
        "bert_tiny": (2, 128, 2),
        "modernbert_base": (22, 768, 12),
    }
    for name in encoder_presets():
        if name == "modernbert_base":
            continue
        config = from_dict(EncoderConfig, name)
        assert config.intermediate_size == 4 * config.hidden_size
        assert (config.vocab_size, config.type_vocab_size, config.max_position_embeddings) == (30522, 2, 512)
        assert (config.hidden_act, config.layer_norm_eps, config.initializer_range) == ("gelu", 1e-12, 0.02)


def test_defaults_are_those_of_bert_base():
    assert EncoderConfig() == from_dict(EncoderConfig, "bert_base")


def test_configs_load_without_tensorflow():
    code = (
        "import sys, kbert.config, kbert.features, kbert.manifest, kbert.input_pipelines.labelled_files\n"
        "assert not {'tensorflow', 'keras', 'numpy'} & set(sys.modules), 'heavy imports'"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, timeout=60)


# ------------------------------------------------------------------------------------- refusals

REFUSED = {
    "unknown key": (
        PretrainingConfig,
        {"num_train_step": 5},
        "unknown key 'num_train_step' for PretrainingConfig. Did you mean 'num_train_steps'?",
    ),
    "a name of other libraries": (FinetuningConfig, {"lr": 1}, "Did you mean 'optimizer.learning_rate'"),
    "misspelt, of a group": (FinetuningConfig, {"learnig_rate": 1}, "mean 'optimizer.learning_rate'?"),
    "a setting of the whole below a table": (
        FinetuningConfig,
        {"optimizer": {"num_train_epochs": 3}},
        "setting of the whole config: write it above the first [table]",
    ),
    "unknown key without a likeness": (FinetuningConfig, {"zzz": 5}, "unknown key 'zzz'"),
    "unknown nested key": (
        FinetuningConfig,
        {"optimizer": {"learning_rat": 1.0}},
        "optimizer: unknown key 'learning_rat' for OptimizerConfig. Did you mean 'learning_rate'?",
    ),
    "not divisible": (
        PretrainingConfig,
        {"encoder": {"hidden_size": 100, "num_attention_heads": 12}},
        "encoder: hidden_size=100 is not divisible by num_attention_heads=12; choose a multiple of 12, for "
        "example 96 or 108.",
    ),
    "string for a number": (
        PretrainingConfig,
        {"num_train_steps": "5"},
        "num_train_steps: expected int, received '5'; write 5.",
    ),
    "bool for an integer": (PretrainingConfig, {"seed": True}, "seed: expected int, received True."),
    "Python's writing of a bool": (
        FinetuningConfig,
        {"freeze_encoder": "True"},
        "freeze_encoder: expected bool, received 'True'; write true.",
    ),
    "number for a bool": (
        PretrainingConfig,
        {"jit_compile": 1},
        "jit_compile: expected bool or str, received 1.",
    ),
    "another word for a bool": (
        PretrainingConfig,
        {"jit_compile": "on"},
        "jit_compile='on' is not known; choose true, false or \"auto\".",
    ),
    "nothing left to train": (
        FinetuningConfig,
        {"freeze_encoder": True, "frozen": {"layers": 1}, "reinit_layers": 1, "padding": "pack"},
        "freeze_encoder leaves nothing of the encoder to train: leave out frozen, reinit_layers, "
        'padding="pack".',
    ),
    "text for a list": (
        FinetuningConfig,
        {"dataset": {"labels": "yes"}},
        "dataset: labels: expected a list, received 'yes'; in --override it is JSON, in quotes of the shell: "
        '\'NAME=["a", "b"]\'.',
    ),
    "a truth value for a text": (
        FinetuningConfig,
        {"dataset": {"positive_label": True}},
        'dataset: positive_label: expected str, received True; if you mean the text, write "true", in a '
        "shell with single quotes around the override.",
    ),
    "a fraction in a list of texts": (
        FinetuningConfig,
        {"dataset": {"labels": [0.0, 1.0]}},
        'dataset: labels: expected str, received 0.0; if you mean the text, write "0.0", in a shell',
    ),
    "list for an object": (PretrainingConfig, {"optimizer": [1]}, "expected an object of settings, received"),
    "unknown preset": (
        PretrainingConfig,
        {"encoder": "bert_huge"},
        "unknown encoder preset 'bert_huge'; choose one of bert_base, bert_large, bert_medium, ",
    ),
    "unknown activation": (
        PretrainingConfig,
        {"encoder": {"hidden_act": "swish"}},
        "hidden_act='swish' is not known; choose one of gelu, gelu_erf, relu, tanh, linear.",
    ),
    "unknown pooling": (
        PretrainingConfig,
        {"encoder": {"classifier_pooling": "max"}},
        "classifier_pooling='max' is not known; choose one of cls, mean.",
    ),
    "a window without its layers": (
        PretrainingConfig,
        {"encoder": {"local_attention": 8}},
        "local_attention=8 and global_attn_every_n_layers=None belong together; set both or neither.",
    ),
    "a base for local layers alone": (
        PretrainingConfig,
        {"encoder": {"local_rope_theta": 8}},
        "local_rope_theta=8.0 needs global_rope_theta; set it too.",
    ),
    "heads of an odd size": (
        PretrainingConfig,
        {"encoder": {"global_rope_theta": 8, "hidden_size": 12, "num_attention_heads": 4}},
        "global_rope_theta=8.0 turns pairs of numbers, but heads have 3; choose hidden_size and num_atte",
    ),
    "two kinds of positions": (
        PretrainingConfig,
        {"encoder": {"global_rope_theta": 8, "relative_attention_num_buckets": 8}},
        "relative_attention_num_buckets=8 goes with neither global_rope_theta nor local_attention; leave",
    ),
    "unknown precision": (
        PretrainingConfig,
        {"precision": "float64"},
        "precision='float64' is not known; choose one of float32, bfloat16, float16.",
    ),
    "long warm-up": (
        PretrainingConfig,
        {"num_train_steps": 5, "num_warmup_steps": 6},
        "num_warmup_steps=6 must lie between 0 and num_train_steps=5.",
    ),
    "unknown optimizer": (
        PretrainingConfig,
        {"optimizer": {"name": "sgd"}},
        "optimizer.name='sgd' is not known; choose one of adam_weight_decay, adamw, lamb.",
    ),
    "unknown decay": (
        PretrainingConfig,
        {"optimizer": {"decay": "exponential"}},
        "optimizer.decay='exponential' is not known; choose one of linear, linear_after_warmup, polynomial, "
        "cosine, constant, budget.",
    ),
    "power of a linear decay": (
        PretrainingConfig,
        {"optimizer": {"decay_power": 2}},
        "optimizer.decay_power=2.0 needs decay=\"polynomial\", not 'linear'.",
    ),
    "the warm-up of a budget without one": (
        PretrainingConfig,
        {"optimizer": {"budget_warmup_proportion": 0.1}},
        "optimizer.budget_warmup_proportion=0.1 is for decay=\"budget\", not 'linear'; leave it out.",
    ),
    "the warm-up of steps beside a budget": (
        FinetuningConfig,
        {"optimizer": {"decay": "budget", "train_minutes": 5}, "warmup_proportion": 0.2},
        'warmup_proportion=0.2 is not read with optimizer.decay="budget"; leave it out, or set optimizer.',
    ),
    "a temperature without soft labels": (
        FinetuningConfig,
        {"distillation": {"temperature": 2, "soft_label_weight": 0, "hidden_weight": 1}},
        "distillation.temperature=2.0 is that of the soft labels, but distillation.soft_label_weight is 0;",
    ),
    "an end above the start": (
        PretrainingConfig,
        {"optimizer": {"end_learning_rate": 1}},
        "optimizer.end_learning_rate=1.0 must lie between 0 and learning_rate=0.0001.",
    ),
    "an end of a constant rate": (
        PretrainingConfig,
        {"optimizer": {"decay": "constant", "end_learning_rate": 1e-5}},
        'optimizer.end_learning_rate=1e-05 is never reached with decay="constant"; leave it out.',
    ),
    "a budget without time": (
        PretrainingConfig,
        {"optimizer": {"decay": "budget"}},
        "optimizer.train_minutes=None cannot be combined with decay='budget': decay=\"budget\" needs",
    ),
    "time without a budget": (
        PretrainingConfig,
        {"optimizer": {"train_minutes": 5}},
        "optimizer.train_minutes=5.0 cannot be combined with decay='linear'",
    ),
    "a budget for phases": (
        PretrainingConfig,
        {"optimizer": {"decay": "budget", "train_minutes": 5}, "phases": [{}, {}]},
        'optimizer.decay="budget" ends the run after a time, so it cannot be combined with phases',
    ),
    "layers that learn faster below": (
        FinetuningConfig,
        {"optimizer": {"layer_decay": 1.5}},
        "optimizer.layer_decay=1.5 must be above 0 and at most 1.",
    ),
    "a broken pattern": (
        FinetuningConfig,
        {"optimizer": {"exclude_from_weight_decay": ["bias", "("]}},
        "optimizer.exclude_from_weight_decay holds '(', which is not a regular expression (",
    ),
    "varying shapes under XLA": (
        FinetuningConfig,
        {"jit_compile": True},
        "jit_compile=true needs fixed shapes: set pad_to_longest=false as well.",
    ),
    "repeated label": (
        FinetuningConfig,
        {"dataset": {"labels": ["a", "b", "a"]}},
        "dataset.labels repeats ['a']; name each label once.",
    ),
    "positive label unlisted": (
        FinetuningConfig,
        {"dataset": {"labels": ["a", "b"], "positive_label": "c"}},
        "dataset.positive_label='c' is not among labels=['a', 'b'].",
    ),
    "unnamed column": (
        FinetuningConfig,
        {"dataset": {"column_names": ["sentence", "label"]}},
        "dataset column 'text' is not among column_names=['sentence', 'label'].",
    ),
    "unnamed column of labels": (
        FinetuningConfig,
        {"dataset": {"column_names": ["text", "text_pair", "score"], "label": "scoer"}},
        "dataset column 'scoer' is not among column_names=['text', 'text_pair', 'score'].",
    ),
    "unnamed column of a choice": (
        FinetuningConfig,
        {"dataset": {"column_names": ["text", "ending0", "label"], "choices": ["ending0", "ending1"]}},
        "dataset column 'ending1' is not among column_names=['text', 'ending0', 'label'].",
    ),
    "one column for two texts": (
        FinetuningConfig,
        {"dataset": {"text_pair": "text", "negatives": ["n", "n"]}},
        "text_pair, choices and negatives name ['n', 'text'] twice",
    ),
    "nothing between labels": (
        FinetuningConfig,
        {"dataset": {"label_separator": ""}},
        "dataset.label_separator='' separates nothing; give a text such as \";\", or leave it out.",
    ),
    "an unknown padding": (
        PretrainingConfig,
        {"padding": "no"},
        "padding='no' is not known; choose one of auto,",
    ),
    "rows without packing": (
        PretrainingConfig,
        {"packed_rows": 4},
        "packed_rows=4 cannot be combined with padding='auto'",
    ),
    "rows of many numbers under XLA": (
        PretrainingConfig,
        {"padding": "pack", "jit_compile": True},
        "takes as many rows as each batch needs: give packed_rows",
    ),
    "packed rows of many lengths": (
        FinetuningConfig,
        {"padding": "pack", "packed_rows": 8, "pad_to_longest": True},
        "needs batches of one shape",
    ),
    "a phase of warm-up alone": (
        PretrainingConfig,
        {"phases": [{}, {"num_train_steps": 5, "num_warmup_steps": 10}]},
        "phases.1: num_warmup_steps=10 must lie between 0 and num_train_steps=5",
    ),
    "more frozen layers than there are": (
        FinetuningConfig,
        {"encoder": "bert_tiny", "frozen": {"layers": 3}},
        "frozen.layers=3 is more than the encoder's num_hidden_layers=2",
    ),
    "rates of layers that are all frozen": (
        FinetuningConfig,
        {"encoder": "bert_tiny", "frozen": {"layers": 2}, "optimizer": {"layer_decay": 0.9}},
        "layer_decay=0.9 needs a layer that is trained, but frozen.layers=2 freezes all",
    ),
    "frozen layers with adapters": (
        FinetuningConfig,
        {"lora": {}, "frozen": {"layers": 1}},
        "lora freezes the whole encoder: leave out",
    ),
    "new layers with adapters": (
        FinetuningConfig,
        {"lora": {}, "reinit_layers": 2},
        "reinit_layers=2 layers would keep random numbers",
    ),
    "adapters of nothing": (
        FinetuningConfig,
        {"lora": {"targets": []}},
        "names no projection; choose some of",
    ),
    "adapters of the unknown": (
        FinetuningConfig,
        {"lora": {"targets": ["quer"]}},
        "holds 'quer', which is not known",
    ),
    "adapters twice": (
        FinetuningConfig,
        {"lora": {"targets": ["key", "key"]}},
        "holds 'key', which is not known or",
    ),
    "a cold teacher": (
        FinetuningConfig,
        {"distillation": {"temperature": 0}},
        "distillation.temperature=0.0 must be at least 0.001 and at most 1000.0.",
    ),
    "a teacher of nothing": (
        FinetuningConfig,
        {"distillation": {"soft_label_weight": 0}},
        "distillation needs something to learn from the teacher: set one of",
    ),
    "a layer before the first": (
        FinetuningConfig,
        {"distillation": {"init_layers": [0, -1]}},
        "distillation.init_layers=[0, -1]: layers are counted from 0.",
    ),
    "a seed of no split": (
        FinetuningConfig,
        {"dev_split_seed": 3},
        "dev_split_seed=3 chooses the examples of",
    ),
    "unknown file format": (
        FinetuningConfig,
        {"dataset": {"file_format": "xml"}},
        "dataset.file_format='xml' is not known; choose one of tsv, csv, ",
    ),
}


@pytest.mark.parametrize(("config_class", "values", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_name_the_file_what_came_and_the_mend(write, config_class, values, sentence):
    path = write(values)
    with pytest.raises(ValueError) as error:
        load_config(config_class, path)
    assert sentence in str(error.value)
    assert str(error.value).startswith(str(path))


# ----------------------------------------------------------------------------------------- TOML


@pytest.fixture
def write_toml(tmp_path):
    def write_toml(text):
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_toml


def test_steps_that_a_budget_does_not_read_are_not_compared():
    budget = OptimizerConfig(decay="budget", train_minutes=1.0)
    assert PretrainingConfig(optimizer=budget, num_train_steps=50).num_warmup_steps == 10_000


def test_toml_and_json_say_the_same(write, write_toml):
    values = {"encoder": "bert_tiny", "num_warmup_steps": 2, "optimizer": {"learning_rate": 1e-3}}
    path = write(values | {"phases": [{}, {"num_train_steps": 5}]})
    text = """
        encoder = "bert_tiny"
        num_warmup_steps = 2
        [optimizer]
        learning_rate = 1e-3
        [[phases]]
        [[phases]]
        num_train_steps = 5
    """
    overrides = ["phases.0.num_train_steps=7", "encoder.hidden_dropout_prob=0", "optimizer.name=lamb"]
    for more in ([], overrides):
        config = load_config(PretrainingConfig, write_toml(text), more, vocab_size=40)
        assert config == load_config(PretrainingConfig, path, more, vocab_size=40)
    assert config.phases[0].num_train_steps == 7 and config.encoder.hidden_dropout_prob == 0


# ----------------------------------------------------------------- encoders and the vocabulary's size


@pytest.mark.parametrize(
    ("encoder", "overrides", "changes"),
    [
        ({"preset": "bert_tiny", "num_hidden_layers": 1}, [], {"num_hidden_layers": 1}),
        ({"preset": "bert_tiny", "vocab_size": 800}, [], {"vocab_size": 800}),
        ("bert_tiny", ["encoder.hidden_dropout_prob=0"], {"hidden_dropout_prob": 0.0}),
    ],
)
def test_a_preset_with_keys_of_its_own_in_the_file_or_by_an_override(write, encoder, overrides, changes):
    config = load_config(PretrainingConfig, write({"encoder": encoder}), overrides, vocab_size=777)
    tiny = from_dict(EncoderConfig, "bert_tiny")
    assert config.encoder == dataclasses.replace(tiny, **{"vocab_size": 777} | changes)


def test_a_table_smaller_than_the_vocabulary_is_refused(write):
    path = write({"encoder": {"preset": "bert_tiny", "vocab_size": 700}})
    with pytest.raises(
        ValueError, match="encoder.vocab_size=700 is smaller than the vocabulary, which has 777"
    ):
        load_config(PretrainingConfig, path, vocab_size=777)


# ------------------------------------------------------------------------------------ overrides


def test_overrides_change_numbers_texts_and_lists(write):
    path = write({"seed": 1, "dataset": {"text": "sentence"}})
    overrides = [
        "seed=3",
        "optimizer.learning_rate=3e-5",
        "dataset.label=answer",
        'dataset.labels=["no", "yes"]',
        "dataset.positive_label=no",
        "pad_to_longest=false",
        "num_train_epochs=2",
    ]
    config = load_config(FinetuningConfig, path, overrides)
    assert config.seed == 3
    assert config.optimizer == OptimizerConfig(learning_rate=3e-5)
    assert config.dataset == DatasetConfig(
        text="sentence", label="answer", labels=("no", "yes"), positive_label="no"
    )
    assert config.pad_to_longest is False and config.num_train_epochs == 2.0


def test_labels_and_columns_that_are_numbers_need_no_quotes(write):
    overrides = ["dataset.positive_label=0", "dataset.labels=[1, 0]", "dataset.text=2"]
    dataset = load_config(FinetuningConfig, write({}), overrides).dataset
    assert (dataset.positive_label, dataset.labels, dataset.text) == ("0", ("1", "0"), "2")
    for wrong in ("dataset.text=true", "dataset.text=1.5"):
        with pytest.raises(ValueError, match="expected str"):
            load_config(FinetuningConfig, write({}), [wrong])


def test_an_override_into_a_group_that_a_run_recorded_as_null_makes_it(write):
    path = write(to_dict(FinetuningConfig()))
    overrides = ["lora.rank=4", 'distillation.teacher="runs/teacher"', "encoder.vocab_size=50"]
    config = load_config(FinetuningConfig, path, overrides)
    assert config.lora == LoraConfig(rank=4) and config.encoder == EncoderConfig(vocab_size=50)
    assert config.distillation == DistillationConfig(teacher="runs/teacher")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("seed", "--override='seed' must look like path.to.field=value, for example"),
        ("=3", "--override='=3' must look like"),
        ("seed.x=3", "--override='seed.x=3': 'seed' is not a group of settings."),
        ("sead=3", "--override='sead=3': unknown key 'sead' for PretrainingConfig. Did you mean 'seed'?"),
        ("peak_flops.x=1", "--override='peak_flops.x=1': peak_flops: expected float, received {'x': 1}."),
        ("seed=many", "--override='seed=many': seed: expected int, received 'many'."),
        ("seed=07", "--override='seed=07': seed: expected int, received '07'; write 7."),
        (
            "peak_flops=.2",
            "--override='peak_flops=.2': peak_flops: expected float, received '.2'; write 0.2.",
        ),
        (
            "learning_rate=3e-5",
            "--override=learning_rate is no setting by itself; write "
            "--override=optimizer.learning_rate=3e-5.",
        ),
        (
            "per_device_train_batch_size=8",
            "--override=per_device_train_batch_size is no setting by itself; write "
            "--override=train_batch_size=8. It is the batch of a whole step, on all devices: multiply by "
            "their number, and by gradient_accumulation_steps, which here divides it.",
        ),
    ],
)
def test_bad_overrides_are_refused_by_name(write, override, sentence):
    with pytest.raises(ValueError) as error:
        load_config(
            PretrainingConfig, write({"seed": 1}), ["log_every_steps=3", override, "keep_checkpoints=2"]
        )
    assert str(error.value).startswith(sentence)


def test_a_flag_of_its_own_is_named_as_it_was_typed(write):
    flag = FlagOverride("jit_compile=true", "--jit=on")
    with pytest.raises(ValueError, match="^--jit=on: jit_compile=true needs fixed shapes"):
        load_config(FinetuningConfig, write({"pad_to_longest": True}), [flag])


def test_an_override_of_a_group_leaves_its_other_settings(write):
    overrides = ['optimizer={"name": "lamb"}', "optimizer.learning_rate=1e-3"]
    values = {"optimizer": {"weight_decay": 0.5}, "task_settings": {"head": "bilstm"}}
    for ordered in (overrides, overrides[::-1]):
        optimizer = load_config(FinetuningConfig, write(values), ordered).optimizer
        assert (optimizer.name, optimizer.learning_rate, optimizer.weight_decay) == ("lamb", 1e-3, 0.5)
    kept = config_with_settings(
        FinetuningConfig, write(values), {"task_settings": {"class_weights": "balanced"}}
    )
    assert kept.task_settings == {"head": "bilstm", "class_weights": "balanced"}
    assert config_with_settings(FinetuningConfig, write(values), {"task_settings": {}}).task_settings == {}
    with pytest.raises(ValueError, match="max_seq_length: expected int"):
        config_with_settings(FinetuningConfig, write(values), {"max_seq_length": {"a": 1}})
    made = config_with_settings(FinetuningConfig, write(values), {"optimizer": OptimizerConfig(name="lamb")})
    assert made.optimizer == OptimizerConfig(name="lamb")
    with pytest.raises(ValueError, match="'seed=1' and --override='seed=2' both say seed; leave one"):
        load_config(FinetuningConfig, write({}), ["seed=1", "max_seq_length=64", "seed=2"])
    twice = (
        ["encoder=bert_tiny", "encoder.preset=bert_mini"],
        ['optimizer={"name": "lamb"}', "optimizer.name=adamw"],
    )
    for both in twice:
        with pytest.raises(ValueError, match=f"{both[1]}' both say {both[1].partition('=')[0]}"):
            load_config(FinetuningConfig, write({}), both)
    listed = write({"encoder": to_dict(EncoderConfig(vocab_size=9, hidden_size=8, num_attention_heads=2))})
    with pytest.raises(ValueError, match="own hidden_size .* write encoder=bert_mini to replace them all"):
        load_config(FinetuningConfig, listed, ["encoder.preset=bert_mini"])
    for lost, later in (
        ("lora.rank=2", "lora=null"),
        ("lora=null", "lora.rank=2"),
        ("task_settings.head=x", "task_settings={}"),
        ("task_settings.pooling.include_prompt=false", 'task_settings={"pooling": {"mode": "cls"}}'),
        ("task_settings.pooling.include_prompt=false", 'task_settings.pooling={"mode": "cls"}'),
        ('task_settings.class_weights={"a": 2}', 'task_settings.class_weights={"b": 3}'),
    ):
        with pytest.raises(ValueError, match=re.escape(f"{lost.partition('=')[0]}") + ".* both say"):
            load_config(FinetuningConfig, write({}), [lost, later])


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("optimizer.learning_rate=1", True),
        ('optimizer={"learning_rate": 1}', True),
        ('optimizer={"decay": "polynomial", "end_learning_rate": 1e-6}', False),
        ("optimizer=learning_rate", False),
        ('description={"learning_rate": 1}', False),
    ],
)
def test_an_override_says_a_setting_by_its_name_or_in_its_group(override, says):
    found = find_override(["seed=1", override], "optimizer.learning_rate")
    assert found == (override if says else None)
    assert find_override([override, "seed=1"], "seed") == "seed=1"


def test_an_override_that_a_later_one_completes_is_not_blamed(write):
    """early_stopping_patience needs eval_every_steps, wherever that stands."""
    overrides = ["early_stopping_patience=2", "eval_every_steps=5"]
    assert load_config(FinetuningConfig, write({}), overrides).early_stopping_patience == 2
    with pytest.raises(ValueError, match="^--override='num_train_epochs=-1': num_train_epochs"):
        load_config(FinetuningConfig, write({}), [*overrides, "num_train_epochs=-1"])


# ------------------------------------------------------------------------- numbers that are none

CLASSES_WITH_NUMBERS = (EncoderConfig, OptimizerConfig, PretrainingConfig, FinetuningConfig, PhaseConfig)
# What makes each of them a setting of a whole config, and what else it needs to be looked at at all.
PLACES = {
    EncoderConfig: lambda values: (PretrainingConfig, {"encoder": values}),
    OptimizerConfig: lambda values: (PretrainingConfig, {"optimizer": values}),
    PhaseConfig: lambda values: (PretrainingConfig, {"phases": [{"num_train_steps": 10**5} | values]}),
}
NEEDED = {
    "train_minutes": {"decay": "budget"},
    "decay_power": {"decay": "polynomial"},
    "budget_warmup_proportion": {"decay": "budget", "train_minutes": 5},
    "packed_rows": {"padding": "pack", "pad_to_longest": False},
    "early_stopping_patience": {"eval_every_steps": 1},
}


def number_settings(*kinds):
    """(class, field) of every setting that holds a number of these kinds."""
    for config_class in CLASSES_WITH_NUMBERS:
        for name, hint in typing.get_type_hints(config_class).items():
            if hint in kinds or set(typing.get_args(hint)) - {type(None)} in ({kind} for kind in kinds):
                yield config_class, name


def with_value(config_class, name, text):
    """A whole config's class and its JSON text, with `text` for one setting of one of its parts."""
    needed = {key: value for key, value in NEEDED.get(name, {}).items() if hasattr(config_class(), key)}
    whole, values = PLACES.get(config_class, lambda values: (config_class, values))(needed | {name: "HERE"})
    return whole, json.dumps(values).replace('"HERE"', text)


def refused_by_name(write, config_class, name, text):
    """The path and the sentence with which a value of a setting is refused."""
    whole, content = with_value(config_class, name, text)
    path = write(content)
    with pytest.raises(ValueError, match=name) as error:
        load_config(whole, path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
    return str(path), str(error.value)


@pytest.mark.parametrize("text", ["NaN", "1e999", "-1e999", "-Infinity", "1" + "0" * 400])
def test_every_number_is_finite(write, text):
    settings = list(number_settings(float))
    assert len(settings) > 10
    for config_class, name in settings:
        if name == "global_clipnorm" and text.startswith("1"):
            continue  # ways to say "no clipping", see below
        with naming(config_class, name):
            path, sentence = refused_by_name(write, config_class, name, text)
            assert len(sentence) < len(path) + 250


@pytest.mark.parametrize("text", ["1" + "0" * 30, "-1", "1.5", "true", '"8"', "[8]", "{}", "NaN"])
def test_every_whole_number_has_a_largest_one(write, text):
    settings = list(number_settings(int))
    assert len(settings) > 30
    for config_class, name in settings:
        with naming(config_class, name):
            refused_by_name(write, config_class, name, text)


def test_the_largest_published_encoders_are_accepted():
    for hidden, layers, vocabulary in ((1024, 24, 501_153), (2560, 48, 29_056), (4096, 48, 250_880)):
        config = from_dict(
            EncoderConfig,
            {
                "hidden_size": hidden,
                "num_hidden_layers": layers,
                "vocab_size": vocabulary,
                "num_attention_heads": hidden // 64,
                "intermediate_size": 4 * hidden,
            },
        )
        assert config.hidden_size == hidden


# ---------------------------------------------------------------------------------- no clipping


@pytest.mark.parametrize("text", ["null", "Infinity", "1e999"])
def test_no_clipping_is_recorded_as_null_and_reads_back_equal(write, text):
    config = load_config(PretrainingConfig, write('{"optimizer": {"global_clipnorm": %s}}' % text))
    assert config.optimizer.global_clipnorm is None
    assert config == load_config(PretrainingConfig, write({}), [f"optimizer.global_clipnorm={text}"])
    recorded = json.dumps(to_dict(config), allow_nan=False)
    assert from_dict(PretrainingConfig, json.loads(recorded)) == config
    assert OptimizerConfig(global_clipnorm=float("inf")).global_clipnorm is None


@pytest.mark.parametrize("group", ["optimizer", "dataset", "frozen"])
def test_no_group_of_settings_is_none(group):
    with pytest.raises(ValueError, match=f"^{group} must not be null; leave it out for its defaults.$"):
        FinetuningConfig(**{group: None})
    with pytest.raises(ValueError, match="^phases must not be null"):
        PretrainingConfig(phases=None)


# --------------------------------------------------------------------------- files that are strange


def test_configs_damaged_at_random_are_refused_in_a_sentence_or_equal_after_json(tmp_path):
    path, accepted = tmp_path / "config.json", 0
    whole = {
        "encoder": dataclasses.asdict(EncoderConfig()),
        "optimizer": dataclasses.asdict(OptimizerConfig()),
    }
    wholes = {
        PretrainingConfig: json.dumps(to_dict(PretrainingConfig(phases=(PhaseConfig(20_000),))) | whole),
        FinetuningConfig: json.dumps(to_dict(FinetuningConfig(dataset=DatasetConfig(labels=("a",)))) | whole),
    }
    for case in range(400):
        rng = random.Random(case)
        config_class = rng.choice((PretrainingConfig, FinetuningConfig))
        if rng.random() < 0.8:
            path.write_text(mutate_json(wholes[config_class], rng))
        else:
            path.write_bytes(mutate_bytes(wholes[config_class].encode(), rng))
        try:
            config = load_config(config_class, path)
        except ValueError as error:
            assert str(error).isprintable() and len(str(error)) < 1500, f"case {case}: {error!r}"
            assert str(error).startswith(str(path)), f"case {case}: {error!r}"
        else:
            accepted += 1
            recorded = json.loads(json.dumps(to_dict(config), allow_nan=False))
            assert from_dict(config_class, recorded) == config, f"case {case}"
    assert 20 < accepted < 300


def test_paths_in_the_home_folder_are_found_in_python_and_texts_keep_their_tilde(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    received = with_checked_arguments(lambda *paths, **by_name: (*paths, by_name))
    home, rows = tmp_path / "a", [{"text": "~/a"}]
    columns = {"text": ["~/a"]}
    found = received("~/a", Path("~/a"), ["~/a", "b"], {"dev": "~/a"}, "a~/b", rows, columns, to="~/a")
    assert found == (
        str(home), home, [str(home), "b"], {"dev": str(home)}, "a~/b", rows, columns, {"to": str(home)}
    )  # fmt: skip


@with_checked_values
def _declared(
    path: str | Path,
    some: str | Path | Sequence[str] = (),
    rows: LabelledData = None,
    quick: bool | None = None,
    others: Mapping[str, LabelledData] | None = None,
    name: str | None = None,
    step: str | int | None = None,
    share: float = 0.0,
    layers: Sequence[int] = (),
    columns: tuple[str, ...] = (),
    allowed: Sequence[str] | str = (),
    files: Annotated[Sequence[str | Path], object()] = (),
    config: DatasetConfig | None = None,
):
    return path, some, rows, quick


class _OnDisk:
    def __fspath__(self):
        return "a"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"path": 5}, "path=5 must be a path, as a text or a pathlib.Path."),
        ({"path": ["a"]}, r"path=\['a'\] must be a path"),
        ({"path": ""}, "path='' has an empty path; give one, or leave it out."),
        ({"path": "a", "some": ["b", ""]}, r"some=\['b', ''\] has an empty path"),
        ({"path": "a", "rows": ""}, "rows='' has an empty path"),
        ({"path": "a", "files": ("",)}, r"files=\(''.*\) has an empty path"),
        ({"path": True}, "path=True must be a path"),
        ({"path": "a", "some": {"a": "b"}}, "some={'a': 'b'} must be a path"),
        ({"path": "a", "quick": "no"}, "quick='no' must be True or False."),
        ({"path": "a", "quick": 1}, "quick=1 must be True or False."),
        ({"path": "a", "others": 5}, "others=5 must be a dict."),
        ({"path": "a", "others": ["b"]}, r"others=\['b'\] must be a dict."),
        ({"path": "a", "name": 5}, "name=5 must be a text."),
        ({"path": "a", "step": 1.5}, "step=1.5 must be a text or a whole number."),
        ({"path": "a", "share": "1"}, "share='1' must be a number."),
        ({"path": "a", "layers": "01"}, "layers='01' must be a list of whole numbers."),
        ({"path": "a", "layers": [True]}, r"layers=\[True\] must be a list of whole numbers."),
        ({"path": "a", "columns": "ab"}, "columns='ab' must be a list of texts."),
        ({"path": "a", "columns": ("a", 1)}, r"columns=\('a', 1\) must be a list of texts."),
        ({"path": "a", "allowed": 5}, "allowed=5 must be a list of texts or a text."),
        ({"path": "a", "files": "ab"}, "files='ab' must be a list of paths."),
        ({"path": "a", "files": Path("a")}, "must be a list of paths."),
        ({"path": "a", "files": [5]}, r"files=\[5\] must be a list of paths."),
        ({"path": "a", "config": {"text": "a"}}, "config={'text': 'a'} must be a DatasetConfig."),
    ],
    ids=str,
)
def test_arguments_of_another_type_are_refused_by_their_names(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        _declared(**arguments)


def test_arguments_that_are_unknown_or_missing_are_refused_by_the_name_of_the_function():
    for arguments, sentence in (
        ({"path": "a", "device": "cpu"}, "got an unexpected keyword argument 'device'"),
        ({}, "missing a required argument: 'path'"),
    ):
        with pytest.raises(
            TypeError, match=rf"^_declared\(\) {sentence}; it takes path, some, rows, quick, "
        ):
            _declared(**arguments)


def test_arguments_of_the_types_that_are_declared_pass():
    values = {"name": "b", "step": 1, "share": 1, "layers": range(2), "columns": ["b"], "allowed": "b"}
    _declared("a", **values, files=[Path("a"), "b"], others={"c": {"text": ["b"]}}, config=DatasetConfig())
    _declared("a", step=np.int64(1), share=np.float32(1), layers=np.arange(2), name=np.str_("b"))
    for path in ("a", Path("a"), _OnDisk()):
        for quick in (None, True, np.bool_(False)):
            assert _declared(path, ["b"], iter([]), quick)[0] is path


def test_numbers_of_numpy_are_those_of_python():
    plain = FinetuningConfig(
        task="sequence_classification",
        optimizer=OptimizerConfig(learning_rate=5e-5, weight_decay=0.25),
        dataset=DatasetConfig(labels=("0", "1"), skip_empty_rows=True),
        task_settings={"class_weights": [1, 2.5]},
        seed=3,
        num_train_epochs=2.0,
        dev_split=0.5,
    )
    from_numpy = dataclasses.replace(
        plain,
        optimizer=OptimizerConfig(learning_rate=np.float64(5e-5), weight_decay=np.float32(0.25)),
        dataset=DatasetConfig(labels=np.array(["0", "1"]), skip_empty_rows=np.bool_(True)),
        task_settings={"class_weights": [np.int64(1), np.float16(2.5)]},
        seed=np.int64(3),
        num_train_epochs=np.float16(2),
        dev_split=np.float32(0.5),
    )
    assert repr(from_numpy) == repr(plain)
    assert to_dict(from_numpy) == to_dict(plain)
    settings = {"seed": np.uint8(3), "labels": np.array(["0", "1"]), "learning_rate": np.float64(5e-5)}
    assert repr(config_with_settings(FinetuningConfig, plain, settings)) == repr(plain)
    weights = dict(zip(np.unique([0, 1]), np.array([1, 2.5]), strict=True))  # as scikit-learn's are made
    by_class = config_with_settings(FinetuningConfig, plain, {"task_settings": {"class_weights": weights}})
    assert by_class.task_settings == {"class_weights": {"0": 1.0, "1": 2.5}}


def test_a_type_of_numpy_is_no_number():
    with pytest.raises(ValueError, match="precision="):
        FinetuningConfig(precision=np.float32)


def test_a_dataclass_takes_no_text_for_a_truth_value():
    with pytest.raises(ValueError, match="normalize='no' must be True or False"):
        PoolingConfig(normalize="no")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"num_train_steps": 90_000, "phases": [{"num_train_steps": 5, "num_warmup_steps": 1}]},
            "num_train_steps=90000 is read by no phase, because each has its own; leave it out, and change",
        ),
        (
            {"optimizer": {"learning_rate": 1e-3}, "phases": [{"learning_rate": 1e-5}]},
            "optimizer.learning_rate=0.001 is read by no phase",
        ),
        (
            {"optimizer": {"decay": "budget", "train_minutes": 60}, "num_warmup_steps": 500},
            'num_warmup_steps=500 is not read with optimizer.decay="budget"; make it 0, and set optimizer.',
        ),
        (
            {"encoder": {"local_rope_theta": 8, "global_rope_theta": 9}},
            "local_rope_theta=8.0 is that of local attention, but there is none; leave it out, or set",
        ),
    ],
)
def test_a_setting_that_nothing_reads_is_refused(values, sentence):
    config = from_dict(PretrainingConfig, values)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        config.require_settings_read()


@pytest.mark.parametrize("value", [100_000, 99_999])
def test_what_is_given_by_name_and_read_by_no_phase_is_refused_whatever_its_value(tmp_path, value):
    """The default as well: the run would take another number of steps than the command says."""
    config = tmp_path / "phases.toml"
    config.write_text("num_warmup_steps = 1\n[[phases]]\nnum_train_steps = 5\nlearning_rate = 1e-5\n")
    sentence = f"num_train_steps={value} is read by no phase"
    with pytest.raises(ValueError, match=f"^--override='num_train_steps={value}': {sentence}"):
        load_config(PretrainingConfig, config, [f"num_train_steps={value}"])
    for made in (config, load_config(PretrainingConfig, config)):
        with pytest.raises(ValueError, match=sentence):
            config_with_settings(PretrainingConfig, made, {"num_train_steps": value})
        with pytest.raises(ValueError, match=r"optimizer\.learning_rate=.* is read by no phase"):
            config_with_settings(PretrainingConfig, made, {"optimizer": {"learning_rate": 1e-4}})
        same = config_with_settings(PretrainingConfig, made, {"optimizer": OptimizerConfig(), "seed": 1})
        assert same.phase_configs[0].num_train_steps == 5
        phases = (PhaseConfig(num_train_steps=7, num_warmup_steps=1),)
        for given in (phases, [{"num_train_steps": 7, "num_warmup_steps": 1}]):
            assert config_with_settings(PretrainingConfig, made, {"phases": given}).phases == phases


def test_a_setting_of_before_is_refused_where_it_was_turned_on(write):
    """Each run has it in its config.json."""
    assert load_config(FinetuningConfig, write({"deterministic_ops": False})) == FinetuningConfig()
    with pytest.raises(ValueError, match="delete it, and train with TF_DETERMINISTIC_OPS=1"):
        load_config(FinetuningConfig, write({"deterministic_ops": True}))
