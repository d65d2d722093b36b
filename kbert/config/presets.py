"""Encoder presets: the files in configs/encoders, with the keys of BERT's own bert_config.json."""

from kbert.checks import require
from kbert.files.json_file import read_json_object
from kbert.files.json_values import shown
from kbert.shipped_configs import configs_directory

_DIRECTORY = configs_directory() / "encoders"

# Keys of Google's multilingual and Chinese `bert_config.json` that describe an unused pooler variant.
# BERT's original reader accepts them, and no code uses them.
UNUSED_BERT_KEYS = (
    "directionality",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
)


def encoder_presets() -> list[str]:
    """The names under configs/encoders, for example `bert_tiny`."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.json"))


def expand_encoder(values, where: str):
    """Replaces a preset's name, or an object with `preset`, by an object of EncoderConfig's keys.

    Args:
      values: the value of `encoder` in a config; values of other types are returned unchanged.
      where: what to call it in an error.

    Raises:
      ValueError: when there is no such preset.
    """
    if isinstance(values, str):
        values = {"preset": values}
    if not isinstance(values, dict):
        return values
    values = {key: value for key, value in values.items() if key not in UNUSED_BERT_KEYS}
    values.pop("description", None)
    preset = values.pop("preset", None)
    if preset is None:
        return values
    require(
        preset in encoder_presets(),  # a name, never a path
        f"{where}: unknown encoder preset {shown(preset)}; choose one of {', '.join(encoder_presets())}.",
    )
    path = _DIRECTORY / f"{preset}.json"
    return {**expand_encoder(read_json_object(path), str(path)), **values}
