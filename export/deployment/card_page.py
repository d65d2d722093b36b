"""The card as a page for people: one file with its styles inside."""

from html import escape

from kbert.reporting.html_page import facts, page, section, table
from kbert.reporting.run_metrics import is_loss, is_score, words

_MOST_LABELS = 50


def card_page(model_name: str, version: int, card: dict) -> str:
    """The HTML of a card, see `model_card`."""
    sections = [
        section("What it takes", _figures(card)),
        section("Signatures", _signatures(card)),
        section("How it was trained", _training(card)),
        section("Beside the Keras model", _differences(card)),
        section("Where it runs", _servers(card)),
    ]
    if card["labels"]:
        sections.insert(2, section("Labels", _labels(card["labels"])))
    encoder = card["encoder"]
    lead = (
        f"A <b>{escape(card['task'].replace('_', ' '))}</b> model, {encoder['layers']} layers and "
        f"{encoder['hidden_size']} wide, in <b>{escape(card['precision'])}</b>, for texts of up to "
        f"{card['max_seq_length']} tokens."
    )
    return page(f"{model_name}, version {version}", lead, _NOTE, sections, "")


_NOTE = (
    "Written by the export, from what it measured and from what the run recorded. Times and memory are those "
    "of the machine that exported; another one has others."
)


def _figures(card):
    values = {"parameters": f"{card['parameters']:,}", "on disk": _megabytes(card["bytes"])}
    measured = card["measured"]
    if not measured:
        return facts(values) + "<p>Time and memory were not measured.</p>"
    own = measured["resident_bytes"] - measured["resident_bytes_without"]
    values["resident, warm"] = _megabytes(measured["resident_bytes"])
    values["of it the model"] = _megabytes(own)
    values["loading"] = f"{measured['load_seconds']:.1f} s"
    values["warming up"] = f"{measured['warmup_seconds']:.1f} s"
    rows = [
        [size, f"{value:.1f}", f"{1000 * int(size) / value:,.0f}"]
        for size, value in measured["milliseconds"].items()
    ]
    told = (
        f"<p>Texts of about {measured['num_tokens']} tokens, tokenization included, by the session loader "
        f"with {measured['num_threads']} threads; medians. Memory is that of a Python process with all "
        "signatures loaded and warm.</p>"
    )
    return facts(values) + table(["batch", "ms", "texts a second"], rows, num_text_columns=1) + told


def _signatures(card):
    rows = []
    for name, one in card["signatures"].items():
        for kind in ("inputs", "outputs"):
            for key, shown in one[kind].items():
                rows.append([name, kind[:-1], key, shown])
    return table(["signature", "", "name", "tensor"], rows, num_text_columns=4)


def _labels(labels):
    shown = ", ".join(f"<code>{escape(label)}</code>" for label in labels[:_MOST_LABELS])
    rest = len(labels) - _MOST_LABELS
    return f"<p>{shown}{f' and {rest} more' if rest > 0 else ''}</p>"


def _training(card):
    if not card["training"]:
        return f"<p>Unknown: it comes from the checkpoint {escape(card['checkpoint'])}.</p>"
    body = table(
        ["setting", ""], [[words(k), str(v)] for k, v in card["training"].items()], num_text_columns=2
    )
    rows = [
        [words(name), f"{value:,}" if isinstance(value, int) else f"{value:.4f}"]
        for name, value in card["metrics"].items()
        if is_loss(name) or is_score(name) or name.startswith("baseline")
    ]
    if not rows:
        return body + "<p>The run recorded no evaluation.</p>"
    return body + table([f"evaluation at step {card['metrics']['step']:,}", ""], rows)


def _differences(card):
    agreement = card["answers_agree"]
    values = {
        "largest difference": f"{card['max_difference']:.2g}",
        "mean difference": f"{card['mean_difference']:.2g}",
        "answers that agree": "–" if agreement is None else f"{100 * agreement:.2f} %",
        "answers compared": f"{card['answers_compared']:,}",
    }
    return facts(values) + f"<p>Compared on {escape(card['compared_on'])}.</p>"


def _servers(card):
    ops = ", ".join(f"<code>{escape(op)}</code>" for op in card["text_ops"]) or "none"
    batching = card["batching"]
    batched = (
        f"up to {batching['batch_sizes'][-1]}, {batching['num_batch_threads']} threads"
        if batching
        else f"not possible: {card['not_batched']}"
    )
    vocabulary = card["vocabulary"]
    rows = [
        ["oldest TensorFlow Serving", card["oldest_server"]],
        ["different ops", str(card["num_ops"])],
        ["requests to warm up with", str(card["num_warmup_requests"])],
        ["batches of requests", batched],
        [
            "vocabulary",
            f"{vocabulary['size']:,} pieces, {'uncased' if vocabulary['do_lower_case'] else 'cased'}",
        ],
        ["checkpoint", card["checkpoint"]],
    ]
    docker = f"<p>In Docker: <code>{escape(card['docker'])}</code></p>"
    return table(["", ""], rows, num_text_columns=2) + f"<p>Ops of TF-Text: {ops}.</p>{docker}"


def _megabytes(size):
    return f"{size / 1e6:,.1f} MB"
