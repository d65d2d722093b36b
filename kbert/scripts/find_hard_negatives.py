r"""Script: pairs of texts + a model -> rows with hard negatives, to train a model for search.

  kbert hard-negatives --run_dir=runs/search --pairs_file=pairs.jsonl \
      --corpus_file=corpus.jsonl --output_file=rows.jsonl --num_negatives=3
  kbert hard-negatives --run_dir=bm25 --pairs_file=pairs.csv --output_file=rows.jsonl

kbert finetune reads the rows for task=multiple_negatives_ranking, with
dataset.negatives=["negative_1", "negative_2", "negative_3"] (docs/search.md).
"""

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.experiments.retrieval.hard_negatives import hard_negatives
from kbert.scripts.training_flags import Checkpoint

POSITIONS = ("run_dir", "pairs_file", "output_file")  # of arguments without a flag


def define_flags():
    declare_flags(hard_negatives, Checkpoint)
    define_json_flag()


def main():
    values = flag_values(hard_negatives)
    result = {"num_rows": hard_negatives(**values)}
    print_result(result, result | {"rows": str(values["output_file"])}, "")


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
