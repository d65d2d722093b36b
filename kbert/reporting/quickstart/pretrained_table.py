"""The results of the quickstart on a pretrained encoder -> a table for the terminal."""

from kbert.readable_numbers import readable_seconds
from kbert.reporting.quickstart.wording import percent


def pretrained_table(figures: dict) -> str:
    """Encoder, licence, scores on texts that were not trained on, some answers, and how to serve it.

    Args:
      figures: `encoder`, `licence`, `errors` and `serve`; `test`, the metrics of the evaluation;
        `examples`, a list of `ShownExample`; `total_seconds`.
    """
    test = figures["test"]
    lines = [
        f"Quickstart on a pretrained encoder: {readable_seconds(figures['total_seconds'])}",
        "",
        f"encoder        {figures['encoder']}",
        f"  licence      {figures['licence']}",
        f"accuracy       {percent(test['accuracy'])} of {test['num_examples']:,} texts it was not trained on",
        f"  always the most frequent label: {percent(test['baseline_accuracy'])}",
        "",
    ]
    for example in figures["examples"]:
        if example.is_right:
            lines.append(f"right          {example.answer}")
        else:
            lines.append(f"wrong          {example.answer}; the label is {example.label}")
        lines.append(f"               {_shortened(example.text)}")
    lines += ["", f"all errors     {figures['errors']}", f"serve it       {figures['serve']}"]
    return "\n".join(lines)


def _shortened(text, width=84):
    return text if len(text) <= width else text[: width - 1] + "…"
