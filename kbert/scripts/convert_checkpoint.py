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

from kbert.checkpoints.convert import convert as convert_checkpoint
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.scripts.training_flags import Checkpoint

POSITIONS = ("from", "to")  # of arguments without a flag
_CALLED = {"source": "from", "target": "to"}


def define_flags():
    declare_flags(convert_checkpoint, Checkpoint, called=_CALLED)


def main():
    read, written = convert_checkpoint(**flag_values(convert_checkpoint, _CALLED))
    print(f"read: {read}\n\nwritten: {written}")


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
