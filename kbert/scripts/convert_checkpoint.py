r"""Script: converts a BERT checkpoint to another format, and reports what became of every tensor.

  kbert convert --from=uncased_L-12_H-768_A-12 --to=runs/base --format=kbert
  kbert convert --from=runs/sst2 --to=sst2_hf --format=hugging_face
  kbert convert --from=bert-base-hf --to=bert-base-tf1 --format=google
  kbert convert --from=hf://org/name --to=runs/name
  kbert convert --from=runs/sst2 --to=sst2_preset --format=keras_hub

--from is a run directory of kbert, a Hugging Face folder, a KerasHub preset or a TF1 checkpoint (its folder,
or .../bert_model.ckpt); kbert recognises the format by the content. It can also be a name:
hf://org/name@revision or keras_hub://preset. The report is printed and also written to the new folder.
"""

from absl import flags

from kbert.checkpoints import FORMATS
from kbert.checkpoints.convert import convert as convert_checkpoint
from kbert.cli import script

FLAGS = flags.FLAGS
POSITIONS = ("from", "to")  # of arguments without a flag


def define_flags():
    flags.DEFINE_string("from", None, "The checkpoint to read.")
    flags.DEFINE_string("to", None, "The folder to make.")
    flags.DEFINE_enum("format", "kbert", FORMATS, "The format to write.")
    flags.DEFINE_list(
        "allow_unmatched",
        [],
        "Names or globs of tensors, and names of settings, that may be left over, missing or different; "
        "the error messages name the tensors and settings that do not match.",
    )
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the checkpoint does not record the casing.",
    )
    flags.DEFINE_bool("encoder_only", False, "Leave out all heads.")
    flags.DEFINE_bool(
        "takes_pairs", None, "Whether a classifier takes pairs of texts; only runs of kbert record this."
    )
    flags.DEFINE_list("layers", [], "Keep only these layers, counted from 0, for example 0,2,5.")
    flags.DEFINE_integer(
        "max_position_embeddings", None, "A new maximum length; additional positions repeat the trained ones."
    )
    flags.DEFINE_string(
        "vocab_file", None, "A new vocabulary, of the same casing; new tokens get the mean of the old ones."
    )
    flags.DEFINE_bool("overwrite", False, "Replace an earlier conversion in --to.")
    flags.mark_flags_as_required(["from", "to"])


def _layers(numbers) -> list[int]:
    if not all(number.strip().isdecimal() for number in numbers):
        raise ValueError(f"--layers={','.join(numbers)}: expected whole numbers such as 0,2,5.")
    return [int(number) for number in numbers]


def main():
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
        _layers(FLAGS.layers),
    )
    print(f"read: {read}\n\nwritten: {written}")


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
