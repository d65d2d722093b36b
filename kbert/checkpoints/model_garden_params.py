"""params.yaml, where Model Garden's train.py keeps all settings of a training: what no tensor shows.

Source: tensorflow/models, official/modeling/hyperparams/params_dict.py, `save_params_dict_to_yaml`: a setting
in each line, and lists in brackets, which may take several.
"""

import dataclasses
import re
from pathlib import Path

from kbert.checkpoints.bert_config_file import CONFIG_FILE
from kbert.checkpoints.report import Report
from kbert.config import ACTIVATIONS, EncoderConfig

_FILE = "params.yaml"
# The folder below that of the training, where train.py keeps its best checkpoint.
_BEST_FOLDER = re.compile(r"^\s*best_checkpoint_export_subdir:\s*['\"]?([^\s'\"]+)", re.MULTILINE)
_PARAM = re.compile(r"^\s*(norm_first|hidden_activation|mlm_activation):\s*['\"]?(\w+)", re.MULTILINE)
_CLASS_NAMES = re.compile(r"^\s*class_names: \[(.*?)\]$", re.MULTILINE | re.DOTALL)
# YAML's three forms of a text: in '...', where '' is one mark; in "...", where others than ASCII, and the
# marks " and \ themselves, are escaped.
_CLASS_NAME = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"][^,]*)""")
_ESCAPE = re.compile(r"""\\(?:x([0-9A-F]{2})|u([0-9A-F]{4})|U([0-9A-F]{8})|(["\\]))""")


class Params:
    """The settings of a training, for a checkpoint in its folder or its best one in the folder below; none
    where no file has them."""

    def __init__(self, folder: Path):
        beside, above = folder / _FILE, folder.resolve().parent / _FILE
        is_best = folder.resolve().name in _BEST_FOLDER.findall(_content(above))
        self._path = above if is_best and not beside.is_file() else beside
        self._text = _content(self._path)

    def refuse_others(self, hidden_act: str, report: Report):
        """Refuses norms in front, and another activation than that of the config; see `Report.conflict`."""
        ours = {"norm_first": "false", "hidden_activation": hidden_act}
        for name, value in _PARAM.findall(self._text):
            if value.lower() != ours.get(name, value.lower()):
                report.conflict(
                    name,
                    f"{self._path} says {name}: {value}, but kbert takes {ours[name]}; another activation is "
                    f"read from a {CONFIG_FILE} (hidden_act)",
                )

    def class_names(self, num_labels: int, report: Report) -> tuple[str, ...]:
        """The names of a tagger's outputs (official/nlp/tasks/tagging.py); empty where there are none.

        Args:
          num_labels: the number of outputs.
          report: see `Report.conflict`: another number of names, or a repeated one, is `class_names`.
        """
        listed = _CLASS_NAMES.search(self._text)
        if not (listed and num_labels):
            return ()
        names = tuple(
            single.replace("''", "'") or _ESCAPE.sub(_character, double) or plain.strip()
            for single, double, plain in _CLASS_NAME.findall(listed[1])
        )
        if not names or len(set(names)) == len(names) == num_labels:
            return names
        report.conflict(
            "class_names",
            f"{self._path} has {len(names)} class_names, {len(set(names))} of them different, but the head "
            f"has {num_labels} outputs",
        )
        return ()

    def with_masked_lm(self, config: EncoderConfig, report: Report) -> EncoderConfig:
        """The config with the activation of a masked-LM head, unless bert_config.json says it."""
        if config.masked_lm_hidden_act:
            return config
        act = dict(_PARAM.findall(self._text)).get("mlm_activation", "").lower().replace("null", "linear")
        if act in ACTIVATIONS:
            report.note(f"the masked-LM head's activation is {act}, from {self._path}")
            return dataclasses.replace(config, masked_lm_hidden_act=None if act == config.hidden_act else act)
        if act:
            report.conflict(
                "mlm_activation",
                f"{self._path} says mlm_activation: {act}, but kbert has {', '.join(ACTIVATIONS)}; the "
                f"encoder's ({config.hidden_act}) would be taken",
            )
            return config
        report.note(
            "no file says the activation of the masked-LM head: it is the encoder's; BertPretrainerV2 "
            f'without mlm_activation has none: then add "masked_lm_hidden_act": "linear" to {CONFIG_FILE}'
        )
        return config


def _content(path):
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def _character(escaped):
    return escaped[4] or chr(int(escaped[1] or escaped[2] or escaped[3], 16))
