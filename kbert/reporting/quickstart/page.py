"""The results of a quickstart -> an HTML page.

The page is one file that needs nothing else: styles and picture are inside, and there are no scripts.
"""

import base64
import textwrap
from html import escape
from pathlib import Path

from kbert.files.whole_file import write_text
from kbert.readable_numbers import readable_seconds
from kbert.reporting.bar_pictures import HorizontalBar, bars
from kbert.reporting.html_page import facts, page, section, table
from kbert.reporting.quickstart.wording import (
    classifier_data,
    differences,
    megabytes,
    milliseconds,
    num_seeds,
    over_seeds,
    percent,
    points,
    unknown_share,
    versions,
)


def write_page(results: dict, curves_png: bytes, path: str | Path):
    """Writes the page. The file appears only when it is complete.

    Args:
      results: the results of the quickstart, ready for JSON.
      curves_png: the picture of the training curves.
      path: the .html file to write.
    """
    write_text(_page(results, curves_png), path)


def _page(results, curves_png):
    sections = [
        section("Text", _text_section(results["corpus"])),
        section("Vocabulary", _vocabulary_section(results)),
        section("Records", _records_section(results["corpus"])),
        section("Pretraining", _pretraining_section(results["pretraining"], curves_png)),
        section("Fill-mask", _fill_mask_section(results["fill_mask"])),
        section("Classifier", _classifier_section(results["classifier"])),
        section("A right and a wrong answer, every way", _answers_section(results["answers"])),
        section("Sizes", _sizes_section(results["sizes"])),
        section("Commands", _commands_section(results["steps"])),
        section("Where everything is", _paths_section(results)),
    ]
    note = f"{_CAUTION} {escape(versions(results))}."
    return page("kbert quickstart", _summary(results), note, sections, _STYLE)


_CAUTION = (
    "Every number on this page was measured by this run, on this machine. It is a small demonstration "
    "that every stage works, not a benchmark: model, text and test set are tiny."
)


def _summary(results):
    pretraining, classifier = results["pretraining"], results["classifier"]
    seconds, scratch = readable_seconds(results["total_seconds"]), classifier["from_scratch"]
    return (
        f"In <b>{seconds}</b> on {results['cores']} cores, from plain text to answers in "
        f"{len(results['answers']['examples'][0]['rows'])} ways: a BERT of {pretraining['num_parameters']:,} "
        f"parameters, pretrained for {pretraining['num_train_steps']:,} steps, finds "
        f"<b>{percent(pretraining['masked_lm_accuracy'])}</b> of the masked words (always answering "
        f"“{escape(pretraining['baseline_token'])}” finds {percent(pretraining['baseline_accuracy'])}), and "
        f"its classifier is right on <b>{percent(classifier['pretrained']['accuracy']['mean'])}</b> of "
        f"{classifier['num_test_examples']:,} new passages ({percent(scratch['accuracy']['mean'])} "
        f"without pretraining, {percent(classifier['baseline_accuracy'])} for always answering the most "
        f"frequent label). {escape(classifier['verdict'])}"
    )


def _text_section(corpus):
    return facts({"documents": f"{corpus['documents']:,}", "sentences": f"{corpus['sentences']:,}"})


def _vocabulary_section(results):
    size = results["vocabulary"]["size"]
    return facts({"WordPieces learned": f"{size:,}", "of the text unknown": unknown_share(results)})


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
                "masked words found": percent(pretraining["masked_lm_accuracy"]),
                f"by always answering “{pretraining['baseline_token']}”": percent(
                    pretraining["baseline_accuracy"]
                ),
                "masked LM loss": f"{pretraining['masked_lm_loss']:.2f}",
                "next sentence right": percent(pretraining["next_sentence_accuracy"]),
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
                f"<li><b>{escape(guess['token'])}</b> {percent(guess['probability'])}</li>"
                for guess in guesses
            )
            blocks.append(f"<ol class='guesses'>{items}</ol>")
    return "\n".join(blocks)


def _classifier_section(classifier):
    scratch, pretrained = classifier["from_scratch"], classifier["pretrained"]
    shares = [
        HorizontalBar("always the most frequent label", classifier["baseline_accuracy"], "var(--pale)"),
        _bar("trained from scratch", scratch, "var(--second)"),
        _bar("pretrained, then fine-tuned", pretrained, "var(--first)"),
    ]
    scores = [
        [name, *over_seeds(result), " ".join(percent(value) for value in result["accuracy"]["values"])]
        for name, result in (("from scratch", scratch), ("pretrained", pretrained))
    ]
    return (
        f"<p>{escape(classifier_data(classifier))}. Accuracy on the test passages, mean of "
        f"{num_seeds(pretrained)}; the line on a bar is one deviation to either side:</p>\n"
        + bars(shares)
        + f"<p><b>{escape(classifier['verdict'])}</b></p>\n"
        + table(["", "accuracy", "F1", "loss", "accuracy by seed"], scores)
        + "<p>The answers of the first seed's pretrained classifier: each row is a true label, each column "
        + "an answer, and each cell a number of test passages.</p>\n"
        + _confusion_table(classifier["labels"], classifier["confusion"])
    )


def _bar(name, result, colour):
    accuracy = result["accuracy"]
    text = f"{percent(accuracy['mean'])} ± {points(accuracy)}"
    return HorizontalBar(name, accuracy["mean"], colour, text, accuracy["deviation"])


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
    parts = []
    for example in answers["examples"]:
        rows = [
            [row["way"], row["label"], percent(row["probability"]), milliseconds(row["latency_ms"])]
            for row in example["rows"]
        ]
        mark = "right" if example["is_right"] else "wrong"
        parts.append(
            f"<p class='sentence'>{escape(example['text'])}</p>\n<p>Its label is "
            f"<b>{escape(example['label'])}</b>: the answer is <mark>{mark}</mark>.</p>\n"
            + table(["way", "answer", "probability", "time"], rows, num_text_columns=2)
        )
    parts.append(f"<p>The probabilities differ from those of Keras by {escape(differences(answers))}.</p>")
    return "".join(parts)


def _sizes_section(sizes):
    return table(["", "size"], [[size["what"], megabytes(size["bytes"])] for size in sizes])


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
