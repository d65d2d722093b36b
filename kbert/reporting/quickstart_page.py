"""The results of a quickstart -> an HTML page, and a table for the terminal.

Both read the same dictionary of results, which kbert/quickstart makes. The page is one file that needs
nothing else: styles and picture are inside, and there are no scripts.
"""

import base64
import textwrap
from html import escape
from pathlib import Path

from kbert.files.whole_file import write_text
from kbert.reporting.bar_pictures import bars
from kbert.reporting.html_page import facts, page, section, table
from kbert.training.measuring.progress import readable_seconds

_COLUMNS = 99


def write_page(results: dict, curves_png: bytes, path: str | Path):
    """Writes the page. The file appears only when it is complete.

    Args:
      results: the results of the quickstart, ready for JSON.
      curves_png: the picture of the training curves.
      path: the .html file to write.
    """
    write_text(_page(results, curves_png), path)


def results_table(results: dict) -> str:
    """The results as plain text, less than 100 columns wide except for the paths at its end (never cut)."""
    corpus, pretraining = results["corpus"], results["pretraining"]
    classifier, answers = results["classifier"], results["answers"]
    rows = [
        ("text", f"{corpus['documents']:,} documents, {corpus['sentences']:,} sentences"),
        ("records", f"{corpus['examples']:,} examples from {corpus['tokens']:,} tokens"),
        ("vocabulary", f"{results['vocabulary']['size']:,} pieces, {_unknown_share(results)} unknown"),
        ("", ""),
        ("pretraining", _pretraining_facts(pretraining)),
        ("  masked words", _masked_words(pretraining)),
        ("  next sentence", f"{_percent(pretraining['next_sentence_accuracy'])} right"),
    ]
    for example in results["fill_mask"]:
        rows.append(("  fill-mask", example["text"]))
        for guesses in example["masks"]:
            rows.append(("", "  " + ", ".join(f"{g['token']} {_percent(g['probability'])}" for g in guesses)))
    rows += [
        ("", ""),
        ("classifier", _classifier_data(classifier)),
        ("  most frequent", f"accuracy {_percent(classifier['baseline_accuracy'])}"),
        ("  from scratch", _scores(classifier["from_scratch"])),
        ("  pretrained", _scores(classifier["pretrained"])),
        ("", ""),
        ("answers", answers["text"]),
    ]
    road_width, label_width = (max(len(row[key]) for row in answers["rows"]) for key in ("road", "label"))
    for row in answers["rows"]:
        numbers = f"{_percent(row['probability']):>6}  {_milliseconds(row['latency_ms']):>9}"
        rows.append(("", f"{row['road']:<{road_width}}  {row['label']:<{label_width}}  {numbers}"))
    rows.append(("  differences", _differences(answers)))
    rows.append(("", ""))
    sizes = [f"{_megabytes(size['bytes']):>9}  {size['what']}" for size in results["sizes"]]
    rows += zip(["sizes"] + [""] * len(sizes), sizes, strict=False)
    rows.append(("", ""))
    seconds = [f"{step['seconds']:>7.1f} s  {step['title']}" for step in results["steps"]]
    rows += zip(["time"] + [""] * len(seconds), seconds, strict=False)
    lines = [_headline(results), ""] + [_clipped(f"{name:<17}{value}") for name, value in rows]
    lines.append("")
    lines += [f"{what:<32}{where}" for what, where in results["paths"].items()]
    return "\n".join(lines)


# ------------------------------------------------------------------------------ wording


def _headline(results):
    seconds = readable_seconds(results["total_seconds"])
    return f"Quickstart: {seconds} on {results['cores']} cores ({_versions(results)})"


def _versions(results):
    return f"kbert {results['kbert_version']}, Python {results['python']}, TensorFlow {results['tensorflow']}"


def _pretraining_facts(pretraining):
    return (
        f"{pretraining['num_train_steps']:,} steps at {pretraining['examples_per_second']:,.1f} examples/s, "
        f"{pretraining['num_parameters']:,} parameters"
    )


def _masked_words(pretraining):
    return (
        f"{_percent(pretraining['masked_lm_accuracy'])} right "
        f"(always “{pretraining['baseline_token']}”: {_percent(pretraining['baseline_accuracy'])}), "
        f"loss {pretraining['masked_lm_loss']:.2f}, {pretraining['num_examples']:,} held-out examples"
    )


def _classifier_data(classifier):
    return (
        f"{classifier['num_train_examples']:,} training and {classifier['num_test_examples']:,} test "
        f"passages, {len(classifier['labels'])} labels"
    )


def _scores(result):
    return f"accuracy {_percent(result['accuracy'])}, F1 {_percent(result['f1'])}, loss {result['loss']:.2f}"


def _differences(answers):
    return (
        f"at most {answers['max_difference']:.1e} in float32, "
        f"{answers['max_difference_int8']:.1e} with dynamic int8"
    )


def _unknown_share(results):
    return f"{100 * results['vocabulary']['unknown_share']:.2f}%"


def _percent(share):
    return f"{100 * share:.1f}%"


def _milliseconds(value):
    return f"{value:.1f} ms"


def _megabytes(num_bytes):
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 50_000 else f"{num_bytes / 1e3:.1f} kB"


def _clipped(line):
    line = line.rstrip()
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"


# ------------------------------------------------------------------------------ page


def _page(results, curves_png):
    sections = [
        section("Text", _text_section(results["corpus"])),
        section("Vocabulary", _vocabulary_section(results)),
        section("Records", _records_section(results["corpus"])),
        section("Pretraining", _pretraining_section(results["pretraining"], curves_png)),
        section("Fill-mask", _fill_mask_section(results["fill_mask"])),
        section("Classifier", _classifier_section(results["classifier"])),
        section("One sentence, every way", _answers_section(results["answers"])),
        section("Sizes", _sizes_section(results["sizes"])),
        section("Commands", _commands_section(results["steps"])),
        section("Where everything is", _paths_section(results)),
    ]
    note = f"{_CAUTION} {escape(_versions(results))}."
    return page("kbert quickstart", _summary(results), note, sections, _STYLE)


_CAUTION = (
    "Every number on this page was measured once, by this run, on this machine. It is a small demonstration "
    "that every stage works, not a benchmark: model, text and test set are tiny."
)


def _summary(results):
    pretraining, classifier = results["pretraining"], results["classifier"]
    seconds, scratch = readable_seconds(results["total_seconds"]), classifier["from_scratch"]
    return (
        f"In <b>{seconds}</b> on {results['cores']} cores, from plain text to answers in "
        f"{len(results['answers']['rows'])} ways: a BERT of {pretraining['num_parameters']:,} "
        f"parameters, pretrained for {pretraining['num_train_steps']:,} steps, finds "
        f"<b>{_percent(pretraining['masked_lm_accuracy'])}</b> of the masked words (always answering "
        f"“{escape(pretraining['baseline_token'])}” finds {_percent(pretraining['baseline_accuracy'])}), and "
        f"its classifier is right on <b>{_percent(classifier['pretrained']['accuracy'])}</b> of "
        f"{classifier['num_test_examples']:,} new passages ({_percent(scratch['accuracy'])} "
        f"without pretraining, {_percent(classifier['baseline_accuracy'])} for always answering the most "
        "frequent label)."
    )


def _text_section(corpus):
    return facts({"documents": f"{corpus['documents']:,}", "sentences": f"{corpus['sentences']:,}"})


def _vocabulary_section(results):
    size = results["vocabulary"]["size"]
    return facts({"WordPieces learned": f"{size:,}", "of the text unknown": _unknown_share(results)})


def _records_section(corpus):
    return facts({"tokens": f"{corpus['tokens']:,}", "pretraining examples": f"{corpus['examples']:,}"})


def _pretraining_section(pretraining, curves_png):
    picture = base64.b64encode(curves_png).decode("ascii")
    return (
        facts(
            {
                "steps": f"{pretraining['num_train_steps']:,}",
                "examples a second": f"{pretraining['examples_per_second']:,.1f}",
                "parameters": f"{pretraining['num_parameters']:,}",
            }
        )
        + "<div class='wide'><img class='curves' alt='Losses, scores and learning rate of the pretraining by "
        + f"step' src='data:image/png;base64,{picture}'></div>\n"
        + f"<p>On {pretraining['num_examples']:,} held-out examples, at the end:</p>\n"
        + facts(
            {
                "masked words found": _percent(pretraining["masked_lm_accuracy"]),
                f"by always answering “{pretraining['baseline_token']}”": _percent(
                    pretraining["baseline_accuracy"]
                ),
                "masked LM loss": f"{pretraining['masked_lm_loss']:.2f}",
                "next sentence right": _percent(pretraining["next_sentence_accuracy"]),
            }
        )
    )


def _fill_mask_section(examples):
    blocks = ["<p>The tokens that the pretrained model predicts for a mask, with their probabilities.</p>"]
    for example in examples:
        sentence = escape(example["text"]).replace("[MASK]", "<mark>[MASK]</mark>")
        blocks.append(f"<p class='sentence'>{sentence}</p>")
        for number, guesses in enumerate(example["masks"], start=1):
            name = f"<li class='which'>mask {number}</li>" if len(example["masks"]) > 1 else ""
            items = name + "".join(
                f"<li><b>{escape(guess['token'])}</b> {_percent(guess['probability'])}</li>"
                for guess in guesses
            )
            blocks.append(f"<ol class='guesses'>{items}</ol>")
    return "\n".join(blocks)


def _classifier_section(classifier):
    scratch, pretrained = classifier["from_scratch"], classifier["pretrained"]
    shares = [
        ("always the most frequent label", classifier["baseline_accuracy"], "var(--pale)"),
        ("trained from scratch", scratch["accuracy"], "var(--second)"),
        ("pretrained, then fine-tuned", pretrained["accuracy"], "var(--first)"),
    ]
    scores = [
        [name, _percent(result["accuracy"]), _percent(result["f1"]), f"{result['loss']:.2f}"]
        for name, result in (("from scratch", scratch), ("pretrained", pretrained))
    ]
    return (
        f"<p>{escape(_classifier_data(classifier))}. Accuracy on the test passages:</p>\n"
        + bars(shares)
        + table(["", "accuracy", "F1", "loss"], scores)
        + "<p>The answers of the pretrained classifier: each row is a true label, each column an answer, and "
        + "each cell a number of test passages.</p>\n"
        + _confusion_table(classifier["labels"], pretrained["confusion"])
    )


def _confusion_table(labels, confusion):
    heads = "".join(f"<th class='turned' scope='col'><span>{escape(label)}</span></th>" for label in labels)
    rows = []
    for label, counts in zip(labels, confusion, strict=True):
        total = max(sum(counts), 1)
        cells = "".join(f"<td style='--share:{count / total:.2f}'>{count}</td>" for count in counts)
        rows.append(f"<tr><th scope='row'>{escape(label)}</th>{cells}</tr>")
    return (
        f"<div class='wide'><table class='confusion'><thead><tr><td></td>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _answers_section(answers):
    rows = [
        [row["road"], row["label"], _percent(row["probability"]), _milliseconds(row["latency_ms"])]
        for row in answers["rows"]
    ]
    return (
        f"<p class='sentence'>{escape(answers['text'])}</p>\n"
        + table(["way", "answer", "probability", "time"], rows, num_text_columns=2)
        + f"<p>The probabilities differ from those of Keras by {escape(_differences(answers))}.</p>"
    )


def _sizes_section(sizes):
    return table(["", "size"], [[size["what"], _megabytes(size["bytes"])] for size in sizes])


def _commands_section(steps):
    blocks = []
    for step in steps:
        log = escape(step["log"], quote=True)
        blocks.append(
            f"<li><div class='step'><b>{escape(step['title'])}</b>"
            f"<span>{step['seconds']:.1f} s · <a href='{log}'>log</a></span></div>"
            f"<pre>{_unbroken_words(step['command'])}</pre></li>"
        )
    return f"<ol class='steps'>{''.join(blocks)}</ol>"


def _unbroken_words(command):
    """Keeps each flag in one piece when a long command wraps: browsers would break it at its hyphens."""
    return " ".join(f"<span>{escape(word)}</span>" for word in command.split(" "))


def _paths_section(results):
    rows = "".join(
        f"<dt>{escape(what)}</dt><dd><code>{escape(str(where))}</code></dd>"
        for what, where in results["paths"].items()
    )
    return (
        f"<p>Everything of this run is in <code>{escape(results['directory'])}</code>.</p>\n"
        f"<dl class='paths'>{rows}</dl>"
    )


_STYLE = textwrap.dedent("""
    .curves { display: block; width: 100%; min-width: 640px; border-radius: 6px; }
    .confusion td { text-align: center; padding: .3rem; min-width: 2.4rem; border: 2px solid var(--paper);
                    background: rgb(0 114 178 / calc(var(--share, 0) * .65)); }
    .confusion th { border: 0; padding: .2rem .6rem .2rem 0; }
    .confusion .turned { vertical-align: bottom; padding: 0 0 .4rem; text-align: center; }
    .turned span { writing-mode: vertical-rl; transform: rotate(180deg); }
    .guesses { list-style: none; display: flex; flex-wrap: wrap; gap: .4rem; margin: .3rem 0 1.2rem;
               padding: 0; font-size: .92rem; }
    .guesses li { background: var(--faint); border-radius: 4px; padding: .1rem .6rem; }
    .guesses .which { background: none; color: var(--pale); padding: .1rem .4rem 0 0; }
    .steps { padding-left: 1.6rem; }
    .step { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
    .step span { color: var(--pale); white-space: nowrap; font-variant-numeric: tabular-nums; }
    pre { margin: .2rem 0 .9rem; padding: .5rem .7rem; background: var(--faint); border-radius: 4px;
          white-space: pre-wrap; overflow-wrap: anywhere; font-size: .82rem; line-height: 1.45; }
    pre span { display: inline-block; max-width: 100%; white-space: pre-wrap; }
    .paths { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; }
    .paths dd { margin: 0; }
    """)
