r"""Script: a model + a text, or a pair -> a page with the attention of its layers and heads.

  kbert attention --run_dir=runs/sst2 --text='A film that stays with you.' \
      --output_file=attention.html
  kbert attention --run_dir=bert-base-uncased --text='Where is the cat?' \
      --text_pair='The cat sat on the mat.' --layers=3,-1 --heads=1,2,3 --output_file=attention.html

The probabilities are those that the model computes with its own weights. The page shows every head small, and
those of --layers and --heads large, with the tokens on both axes; docs/pages.md tells how to read it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from kbert.bounds import Bounds
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.files.output_path import check_output_file
from kbert.inference import attention, loading
from kbert.reports import attention_page
from kbert.scripts.training_flags import Checkpoint

POSITIONS = ("run_dir", "text")  # of arguments without a flag
_LONGEST = 128  # tokens by default: a larger picture is hard to read


def draw_attention(
    run_dir: str | Path,
    text: str,
    output_file: str | Path,
    text_pair: str | None = None,
    layers: Sequence[int] = (),
    heads: Sequence[int] = (),
    max_seq_length: Annotated[int, Bounds(3)] | None = None,
    checkpoint: str | int | None = None,
    do_lower_case: bool | None = None,
    overwrite: bool = False,
):
    """Writes the page of a text's attention.

    Args:
      run_dir: the model: a run directory, or any checkpoint that kbert reads.
      text: the text; [MASK] in it is the mask token.
      output_file: the .html file to write.
      text_pair: the second text of a pair.
      layers: layers to draw large: from 1, or -1 for the last one. By default the last.
      heads: heads to draw large, of each of `layers`. By default the first.
      max_seq_length: longest sequence in tokens; longer ones are cut. By default 128, or less if the model
        has fewer positions.
      checkpoint, do_lower_case: as for `kbert.load`.
      overwrite: replace an `output_file` that exists.
    """
    if Path(output_file).suffix != ".html":
        raise ValueError(f"--output_file={output_file} must end in .html.")
    check_output_file(output_file, overwrite=overwrite)
    # TensorFlow loads here, after all checks that do not need it.
    model = loading.open_model(run_dir, do_lower_case, checkpoint=checkpoint)
    config = model.config
    large = attention_page.chosen_heads(layers, heads, (config.num_hidden_layers, config.num_attention_heads))
    length = max_seq_length or min(_LONGEST, config.max_position_embeddings)
    computed = attention.compute_attention(model.with_max_seq_length(length), text, text_pair)
    source = Path(model.source).resolve().name
    attention_page.write_attention_page(computed.tokens, computed.probabilities, large, source, output_file)
    print(f"Attention of {len(computed.tokens)} tokens written to {output_file}.")


def define_flags():
    declare_flags(draw_attention, Checkpoint)


def main():
    draw_attention(**flag_values(draw_attention))


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
