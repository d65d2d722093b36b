r"""Script: a model + a text, or a pair -> a page with the attention of its layers and heads.

  kbert attention --run_dir=runs/sst2 --text='A film that stays with you.' \
      --output_file=attention.html
  kbert attention --run_dir=bert-base-uncased --text='Where is the cat?' \
      --text_pair='The cat sat on the mat.' --layers=3,-1 --heads=1,2,3 --output_file=attention.html

The probabilities are those that the model computes with its own weights. The page shows every head small, and
those of --layers and --heads large, with the tokens on both axes; docs/pages.md tells how to read it.
"""

from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.files.output_path import check_output_file
from kbert.scripts.training_flags import define_checkpoint_flag

FLAGS = flags.FLAGS
POSITIONS = ("run_dir", "text")  # of arguments without a flag
_LONGEST = 128  # tokens by default: a larger picture is hard to read


def define_flags():
    flags.DEFINE_string("run_dir", None, "The model: a run directory, or any checkpoint that kbert reads.")
    define_checkpoint_flag()
    flags.DEFINE_string("text", None, "The text; [MASK] in it is the mask token.")
    flags.DEFINE_string("text_pair", None, "The second text of a pair.")
    flags.DEFINE_string("output_file", None, "The .html file to write.")
    flags.DEFINE_list(
        "layers", [], "Layers to draw large: from 1, or -1 for the last one. By default the last."
    )
    flags.DEFINE_list("heads", [], "Heads to draw large, of each of --layers. By default the first.")
    flags.DEFINE_integer(
        "max_seq_length", None, f"Longest sequence in tokens; longer ones are cut. By default {_LONGEST}, or "
        "less if the model has fewer positions.", lower_bound=3,
    )  # fmt: skip
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the checkpoint does not record the casing.",
    )
    flags.DEFINE_bool("overwrite", False, "Replace an output_file that exists.")
    flags.mark_flags_as_required(["run_dir", "text", "output_file"])


def main():
    layers, heads = _numbers("layers", FLAGS.layers), _numbers("heads", FLAGS.heads)
    output_file = Path(FLAGS.output_file)
    if output_file.suffix != ".html":
        raise ValueError(f"--output_file={output_file} must end in .html.")
    check_output_file(output_file, overwrite=FLAGS.overwrite)
    from kbert.inference.loading import open_model  # late: it brings NumPy along

    # TensorFlow loads here, after all checks that do not need it.
    model = open_model(FLAGS.run_dir, FLAGS.do_lower_case, checkpoint=FLAGS.checkpoint)
    from kbert.inference.attention import compute_attention
    from kbert.reports.attention_page import chosen_heads, write_attention_page

    config = model.config
    large = chosen_heads(layers, heads, (config.num_hidden_layers, config.num_attention_heads))
    length = FLAGS.max_seq_length or min(_LONGEST, config.max_position_embeddings)
    attention = compute_attention(model.with_max_seq_length(length), FLAGS.text, FLAGS.text_pair)
    source = Path(model.source).resolve().name
    write_attention_page(attention.tokens, attention.probabilities, large, source, output_file)
    print(f"Attention of {len(attention.tokens)} tokens written to {output_file}.")


def _numbers(name, values):
    try:
        return [int(value) for value in values]
    except ValueError:
        raise ValueError(f"--{name}={','.join(values)}: expected numbers such as 1,-1.") from None


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
