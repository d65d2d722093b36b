"""`kbert.finetune`: texts and labels in Python -> a fine-tuned model, by the way of `run_finetuning`."""

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

from kbert.config import FinetuningConfig, load_config
from kbert.config.setting_paths import path_of_setting, suggested_setting
from kbert.inference.texts import text_batch

CONFIG = "configs/finetuning/small_data.toml"


def finetune(
    texts,
    labels,
    init,
    run_dir=None,
    text_pairs=None,
    dev_texts=None,
    dev_labels=None,
    dev_text_pairs=None,
    config=CONFIG,
    **settings,
):
    """Fine-tunes a checkpoint on texts and their labels, on one device.

    This is `run_finetuning` for lists: they are written to a file, and the same config, run directory and
    training follow. A run that was killed goes on with the same call.

    Args:
      texts: a list of texts.
      labels: one label for each: a text or a whole number for a class; a list of these for
        task="multi_label_classification"; a number for task="sequence_regression".
      init: the checkpoint to start from, a path or a name such as "bert-base-uncased".
      run_dir: the folder of the run; None uses a temporary one, so that only the returned model remains.
      text_pairs: the second texts, or None.
      dev_texts, dev_labels, dev_text_pairs: examples to evaluate on while it trains.
      config: the config whose columns are called text, text_pair and label; the default is made for a few
        hundred to a few thousand texts.
      **settings: settings of `FinetuningConfig` by name, such as num_train_epochs=3, learning_rate=3e-5,
        dev_split=0.1, task="sequence_regression".

    Returns:
      The trained model, a `LoadedModel`: `finetune(...).predict("a text")`.

    Raises:
      ValueError: when texts and labels do not go together, a setting is unknown, or the checkpoint cannot be
        read, before any training.

    Example:
      >>> import kbert
      >>> texts, labels = ["jump the a", "walk a", "walk", "jump"] * 4, ["loud", "quiet", "quiet", "loud"] * 4
      >>> model = kbert.finetune(texts, labels, init=run_dir, max_seq_length=16, num_train_epochs=1)
      >>> sorted(model.predict("jump a")["probabilities"])
      ['loud', 'quiet']
    """
    overrides = _overrides(settings, text_pairs is not None, dev_texts is not None)
    train_lines = _lines(texts, labels, text_pairs, "")
    dev_lines = _dev_lines(dev_texts, dev_labels, dev_text_pairs)
    settled = load_config(FinetuningConfig, config, overrides)

    # TensorFlow loads here, after all checks that do not need it.
    from kbert.experiments.finetuning import run_finetuning
    from kbert.inference.loaded_model import load

    with contextlib.ExitStack() as stack:
        aside = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kbert_")))
        files = {"train_file": train_lines, "dev_file": dev_lines}
        paths: dict[str, Any] = {name: aside / f"{name}.jsonl" for name in files if files[name] is not None}
        for name, path in paths.items():
            path.write_text("".join(f"{line}\n" for line in files[name] or ()), encoding="utf-8")
        run_dir = aside / "run" if run_dir is None else run_dir
        run_finetuning(settled, run_dir, **paths, init_checkpoint=init, strategy="one_device")
        return load(run_dir)


def _overrides(settings, has_pairs, has_dev):
    overrides = ["dataset.text_pair=text_pair"] if has_pairs else []
    if not has_dev and not settings.get("dev_split"):
        overrides.append("eval_every_epochs=null")  # there is nothing to evaluate on
    for name, value in settings.items():
        path = path_of_setting(name, [FinetuningConfig])
        if path is None:
            near = suggested_setting(name, [FinetuningConfig])
            hint = f" Did you mean {near.rpartition('.')[2]}?" if near else ""
            raise ValueError(
                f"{name}={value!r:.60} is no setting of a fine-tuning (docs/finetuning.md).{hint}"
            )
        overrides.append(f"{path}={json.dumps(value)}")
    return overrides


def _dev_lines(texts, labels, text_pairs):
    """The development examples as lines of JSON; None without any."""
    if texts is not None:
        return _lines(texts, labels, text_pairs, "dev_")
    for name, values in (("dev_labels", labels), ("dev_text_pairs", text_pairs)):
        if values is not None:
            raise ValueError(f"{name} is given without dev_texts, which it belongs to; give both or neither.")
    return None


def _lines(texts, labels, text_pairs, prefix):
    """The examples as lines of JSON."""
    given = {f"{prefix}texts": texts, f"{prefix}labels": labels, f"{prefix}text_pairs": text_pairs}
    for name, values in given.items():
        if isinstance(values, str) or (values is None and not name.endswith("pairs")):
            raise ValueError(f"{name} is {values!r:.60}; expected a list with one entry for each example.")
    batch = text_batch(texts, text_pairs)
    labels = [label.tolist() if hasattr(label, "tolist") else label for label in labels]  # NumPy's numbers
    if len(labels) != len(batch.texts):
        raise ValueError(
            f"{len(batch.texts)} {prefix}texts but {len(labels)} {prefix}labels; give one label for each "
            "text."
        )
    rows = [{"text": text, "label": label} for text, label in zip(batch.texts, labels, strict=True)]
    for row, pair in zip(rows, batch.pairs or [], strict=False):
        row["text_pair"] = pair
    return [json.dumps(row, ensure_ascii=False) for row in rows]
