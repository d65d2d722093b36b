"""The results of a quickstart -> a table for the terminal."""

import textwrap

from kbert.readable_numbers import readable_seconds
from kbert.reporting.quickstart.wording import (
    classifier_data,
    differences,
    megabytes,
    milliseconds,
    num_seeds,
    over_seeds,
    percent,
    unknown_share,
    versions,
)

_COLUMNS = 99
_NAME_COLUMNS = 17


def results_table(results: dict) -> str:
    """The results as plain text, less than 100 columns wide except for the paths at its end (never cut)."""
    corpus, pretraining = results["corpus"], results["pretraining"]
    classifier, answers = results["classifier"], results["answers"]
    rows = [
        ("text", f"{corpus['documents']:,} documents, {corpus['sentences']:,} sentences"),
        ("records", f"{corpus['examples']:,} examples from {corpus['tokens']:,} tokens"),
        ("vocabulary", f"{results['vocabulary']['size']:,} pieces, {unknown_share(results)} unknown"),
        ("", ""),
        ("pretraining", _pretraining_facts(pretraining)),
        ("  masked words", _masked_words(pretraining)),
        ("  next sentence", f"{percent(pretraining['next_sentence_accuracy'])} right"),
    ]
    for example in results["fill_mask"]:
        rows.append(("  fill-mask", example["text"]))
        for guesses in example["masks"]:
            rows.append(("", "  " + ", ".join(f"{g['token']} {percent(g['probability'])}" for g in guesses)))
    rows += [
        ("", ""),
        ("classifier", classifier_data(classifier)),
        ("  most frequent", f"accuracy {percent(classifier['baseline_accuracy'])}"),
        ("  from scratch", _scores(classifier["from_scratch"])),
        ("  pretrained", _scores(classifier["pretrained"])),
        ("", ""),
        *(
            ("" if number else "  result", line)
            for number, line in enumerate(_wrapped(classifier["verdict"]))
        ),
        ("", ""),
    ]
    for example in answers["examples"]:
        rows.append((_rightness(example), example["text"]))
        rows.append(("", f"(the label is {example['label']})"))
        rows += [("", line) for line in _answer_lines(example["rows"])]
    rows.append(("  differences", differences(answers)))
    rows.append(("", ""))
    sizes = [f"{megabytes(size['bytes']):>9}  {size['what']}" for size in results["sizes"]]
    rows += zip(["sizes"] + [""] * len(sizes), sizes, strict=False)
    rows.append(("", ""))
    seconds = [f"{step['seconds']:>7.1f} s  {step['title']}" for step in results["steps"]]
    rows += zip(["time"] + [""] * len(seconds), seconds, strict=False)
    lines = [_headline(results), ""] + [_clipped(f"{name:<{_NAME_COLUMNS}}{value}") for name, value in rows]
    lines.append("")
    lines += [f"{what:<32}{where}" for what, where in results["paths"].items()]
    return "\n".join(lines)


def _headline(results):
    seconds = readable_seconds(results["total_seconds"])
    return f"Quickstart: {seconds} on {results['cores']} cores ({versions(results)})"


def _pretraining_facts(pretraining):
    return (
        f"{pretraining['num_train_steps']:,} steps at {pretraining['examples_per_second']:,.1f} examples/s, "
        f"{pretraining['num_parameters']:,} parameters"
    )


def _masked_words(pretraining):
    return (
        f"{percent(pretraining['masked_lm_accuracy'])} right "
        f"(always “{pretraining['baseline_token']}”: {percent(pretraining['baseline_accuracy'])}), "
        f"loss {pretraining['masked_lm_loss']:.2f}, {pretraining['num_examples']:,} held-out examples"
    )


def _scores(result):
    """Mean and deviation over the seeds."""
    accuracy, f1, loss = over_seeds(result)
    return f"accuracy {accuracy}, F1 {f1}, loss {loss}, {num_seeds(result)}"


def _wrapped(sentence):
    return textwrap.wrap(sentence, _COLUMNS - _NAME_COLUMNS)


def _rightness(example):
    return "answer, right" if example["is_right"] else "answer, wrong"


def _answer_lines(rows):
    way_width, label_width = (max(len(row[key]) for row in rows) for key in ("way", "label"))
    for row in rows:
        numbers = f"{percent(row['probability']):>6}  {milliseconds(row['latency_ms']):>9}"
        yield f"{row['way']:<{way_width}}  {row['label']:<{label_width}}  {numbers}"


def _clipped(line):
    line = line.rstrip()
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"
