r"""Script: a BERT checkpoint of any format -> one of another, with an account of every name.

  python -m kbert.scripts.convert_checkpoint --from=uncased_L-12_H-768_A-12 --to=runs/base --format=kbert
  python -m kbert.scripts.convert_checkpoint --from=runs/sst2 --to=sst2_hf --format=hugging_face
  python -m kbert.scripts.convert_checkpoint --from=bert-base-hf --to=bert-base-tf1 --format=google
  python -m kbert.scripts.convert_checkpoint --from=hf://org/name --to=runs/name
  python -m kbert.scripts.convert_checkpoint --from=runs/sst2 --to=sst2_preset --format=keras_hub

The format of --from is found from its content: a run directory of kbert, a Hugging Face folder, a KerasHub
preset, or a TF1 checkpoint (its folder, or .../bert_model.ckpt); or it is a name, hf://org/name@revision or
keras_hub://preset. The report is printed and lies in the new folder.
"""

import dataclasses

from absl import flags

from kbert import command_line
from kbert.checkpoints.conversion.resizing import with_positions, with_vocabulary
from kbert.checkpoints.formats import FORMATS, read_checkpoint, require_free, write_checkpoint
from kbert.tokenization.vocabulary import Vocabulary

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("from", None, "The checkpoint to read.")
    flags.DEFINE_string("to", None, "The folder to make.")
    flags.DEFINE_enum("format", "kbert", FORMATS, "What to write.")
    flags.DEFINE_list(
        "allow_unmatched",
        [],
        "Names or globs of tensors, and names of settings, that may be left over, missing or different; "
        "error messages say which.",
    )
    flags.DEFINE_bool("do_lower_case", None, "The casing, where the checkpoint does not say it.")
    flags.DEFINE_bool("encoder_only", False, "Leave all heads out.")
    flags.DEFINE_bool("takes_pairs", None, "A classifier of pairs of texts; only runs of kbert record it.")
    flags.DEFINE_integer(
        "max_position_embeddings", None, "Another longest sequence; new positions repeat the trained ones."
    )
    flags.DEFINE_string(
        "vocab_file", None, "Another vocabulary, of the same casing; new tokens start as the mean of the old."
    )
    flags.DEFINE_bool("overwrite", False, "Replace an earlier conversion that is in --to, once it is whole.")
    flags.mark_flags_as_required(["from", "to"])


def convert_checkpoint(
    source,
    target,
    format,
    allow_unmatched=(),
    do_lower_case=None,
    encoder_only=False,
    takes_pairs=None,
    max_position_embeddings=None,
    vocab_file=None,
    overwrite=False,
):
    """Reads `source`, writes `target`; see the flags.

    Returns:
      (report of the reading, report of the writing).

    Raises:
      ValueError, OSError: one sentence; `target` is then what it was before.
    """
    require_free(target, overwrite, inputs=[path for path in (source, vocab_file) if path is not None])
    checkpoint = read_checkpoint(source, do_lower_case, allow_unmatched)
    if encoder_only:
        checkpoint = checkpoint.encoder_alone()
    if takes_pairs is not None:
        checkpoint = dataclasses.replace(checkpoint, takes_pairs=takes_pairs)
    if max_position_embeddings is not None:
        checkpoint = with_positions(checkpoint, max_position_embeddings)
    if vocab_file is not None:
        vocabulary = Vocabulary.from_file(vocab_file, checkpoint.vocabulary.do_lower_case)
        checkpoint = with_vocabulary(checkpoint, vocabulary)
    written = write_checkpoint(checkpoint, target, format, allow_unmatched, overwrite)
    return checkpoint.report, written


def main(argv):
    del argv
    read, written = convert_checkpoint(
        FLAGS["from"].value,
        FLAGS.to,
        FLAGS.format,
        FLAGS.allow_unmatched,
        FLAGS.do_lower_case,
        FLAGS.encoder_only,
        FLAGS.takes_pairs,
        FLAGS.max_position_embeddings,
        FLAGS.vocab_file,
        FLAGS.overwrite,
    )
    print(f"read: {read}\n\nwritten: {written}")


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
