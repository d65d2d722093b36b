"""How long many devices would compute and sum gradients in a step: a calculation, not a measurement.

Every device computes its own batch, then all sum their gradients in a ring: each sends 2 (N - 1) / N times
the bytes of all gradients (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009, section 3). kbert
begins the sum when the whole backward pass is done, so the two times add up. Latency, and links that are
shared or faster within a machine, are left out.
"""

import math
from dataclasses import dataclass

from kbert.config import EncoderConfig, from_dict
from kbert.training.measuring.training_flops import Heads, StepWork, training_flops

DEVICES = (8, 64, 512)
PRESETS = {"bert_base": "BERT-base", "bert_large": "BERT-large"}
# Examples, tokens, predictions of the batch that a device works on at a time.
BATCH = (32, 128, 20)
ENOUGH = 0.9  # the share of computing in a step that accumulation should reach


@dataclass(frozen=True)
class Link:
    """How a device is joined to the next, by assumption.

    Args:
      name: its name in the table.
      bytes_per_second: bandwidth of each device, each way.
      most_devices: how many devices it joins.
    """

    name: str
    bytes_per_second: float
    most_devices: float = math.inf


# NVLink 4 of an H100: 900 GB/s, half of it each way; it joins the GPUs of a machine.
LINKS = (Link("NVLink, 450 GB/s", 450e9, 8), Link("100 Gb/s", 12.5e9), Link("10 Gb/s", 1.25e9))


@dataclass(frozen=True)
class StepOnPaper:
    """A step of one device among several.

    Args:
      compute_seconds: forward and backward pass of one part of a batch.
      gradient_bytes: bytes of all gradients in the dtype of the all-reduce.
    """

    compute_seconds: float
    gradient_bytes: float

    def all_reduce_seconds(self, devices: int, link: Link) -> float:
        return 2 * (devices - 1) / devices * self.gradient_bytes / link.bytes_per_second

    def efficiency(self, devices: int, link: Link, parts: int = 1) -> float:
        """The share of the step in which the device computes, with so many parts of a batch a step."""
        compute = parts * self.compute_seconds
        return compute / (compute + self.all_reduce_seconds(devices, link))

    def parts_for(self, efficiency: float, devices: int, link: Link) -> int:
        """The fewest `gradient_accumulation_steps` that reach an efficiency; each part is a whole BATCH."""
        ratio = self.all_reduce_seconds(devices, link) / self.compute_seconds
        return max(1, math.ceil(efficiency / (1 - efficiency) * ratio - 1e-9))


def step_of(preset: str, flops_per_second: float, bytes_per_number: int) -> StepOnPaper:
    """A pretraining step (masked LM and next sentence) of a preset on BATCH.

    Args:
      preset: the encoder's name.
      flops_per_second: what a device reaches in training, by assumption.
      bytes_per_number: 4 for float32, 2 for bfloat16 and float16.
    """
    # Late: this loads Keras.
    from kbert.checkpoints.model_variables import model_shapes, parts_of

    encoder = from_dict(EncoderConfig, {"preset": preset})
    flops = training_flops(encoder, StepWork.of_batch(*BATCH), Heads(masked_lm=True, pooled_labels=2))
    shapes = model_shapes(encoder, parts_of("pretraining").values())
    parameters = sum(math.prod(shape) for shape in shapes.values())
    return StepOnPaper(flops / flops_per_second, parameters * bytes_per_number)


def table(flops_per_second: float) -> str:
    """Markdown: a row for each model and link; float32 first, then 16 bits."""
    sizes = " / ".join(map(str, DEVICES))
    rows = [
        f"| model | link of a device | MB a step | compute, ms | all-reduce at {sizes}, ms | efficiency at "
        f"{sizes} | in 16 bits | parts for {ENOUGH:.0%}, 32 and 16 bits |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for preset, name in PRESETS.items():
        whole, half = (step_of(preset, flops_per_second, size) for size in (4, 2))
        rows += [f"| {name} | {_cells(whole, half, link)} |" for link in LINKS]
    return "\n".join(rows)


def _cells(whole, half, link) -> str:
    devices = [number for number in DEVICES if number <= link.most_devices]

    def at_each(figure):
        return " / ".join(figure(number) if number in devices else "-" for number in DEVICES)

    cells = [
        link.name,
        f"{whole.gradient_bytes / 1e6:,.0f}, {half.gradient_bytes / 1e6:,.0f}",
        f"{whole.compute_seconds * 1e3:.0f}",
        at_each(lambda number: f"{whole.all_reduce_seconds(number, link) * 1e3:,.0f}"),
        at_each(lambda number: f"{whole.efficiency(number, link):.0%}"),
        at_each(lambda number: f"{half.efficiency(number, link):.0%}"),
        ", ".join(str(step.parts_for(ENOUGH, devices[-1], link)) for step in (whole, half)),
    ]
    return " | ".join(cells)
