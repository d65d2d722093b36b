r"""Benchmark: how fast several classifiers answer the same texts, in turns.

  python -m benchmarks.answering --models=runs/teacher,runs/student --eval_file=SST-2/dev.tsv --text=sentence

Each model gets the texts in batches, padded to their longest, tokenization included. The models take turns in
every round, so that a slow minute of the machine hits all of them; the median over rounds counts. CPU seconds
of the process are shown too: on a machine with other work they say more than the clock. Ends with one JSON
line.
"""

import statistics
import time

from absl import flags

from benchmarks.figures import closing_line
from kbert import command_line
from kbert.config import DatasetConfig

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_list("models", None, "Checkpoints; the first is what the others are compared with.")
    flags.DEFINE_string("eval_file", None, "A file with texts.")
    flags.DEFINE_string("text", "text", "The column of the texts.")
    flags.DEFINE_integer("max_seq_length", 64, "Tokens of a text at most.", lower_bound=4)
    flags.DEFINE_integer("batch_size", 32, "Texts of a batch.", lower_bound=1)
    flags.DEFINE_enum("graph", "answering", ["answering", "keras"], "What is exported, or what was trained.")
    flags.DEFINE_integer("rounds", 5, "Turns of every model.", lower_bound=1)
    flags.mark_flags_as_required(["models", "eval_file"])


def main(argv):
    del argv
    from kbert.input_pipelines.labelled_files import read_rows

    rows = read_rows(FLAGS.eval_file, DatasetConfig(text=FLAGS.text), with_labels=False)
    texts = [row.text for row in rows]
    batches = [texts[at : at + FLAGS.batch_size] for at in range(0, len(texts), FLAGS.batch_size)]
    contestants = [Answering(name) for name in FLAGS.models]
    for one in contestants:  # every shape is traced before the clock runs
        one.answer(batches)
    for _ in range(FLAGS.rounds):
        for one in contestants:
            one.time(batches)
    first = contestants[0]
    results = [one.result(len(texts), first) for one in contestants]
    for result in results:
        print(
            f"{result['model']}: {result['parameters']:,} parameters ({result['times_smaller']:.2f} times "
            f"smaller), {result['texts_per_second']:.0f} texts/s ({result['times_faster']:.2f} times), "
            f"{result['texts_per_cpu_second']:.0f} texts a CPU second ({result['times_less_cpu']:.2f})"
        )
    closing_line.close("answering", {"results": results})


class Answering:
    """One model, and the seconds that it took for all texts in each round."""

    def __init__(self, path):
        import tensorflow as tf

        from kbert.inference.loaded_model import load

        self.path = path
        self._model = load(path).with_max_seq_length(FLAGS.max_seq_length)
        model = self._model.model if FLAGS.graph == "keras" else self._model.answering_model
        self._run = tf.function(lambda inputs: model(inputs, training=False), reduce_retracing=True)
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []

    @property
    def num_parameters(self) -> int:
        return sum(variable.shape.num_elements() for variable in self._model.model.trainable_variables)

    def answer(self, batches):
        for batch in batches:
            self._run(self._model.inputs(batch))["logits"].numpy()

    def time(self, batches):
        began, cpu = time.perf_counter(), time.process_time()
        self.answer(batches)
        self.seconds.append(time.perf_counter() - began)
        self.cpu_seconds.append(time.process_time() - cpu)

    def result(self, num_texts: int, first: "Answering") -> dict:
        seconds, of_first = statistics.median(self.seconds), statistics.median(first.seconds)
        cpu, cpu_of_first = statistics.median(self.cpu_seconds), statistics.median(first.cpu_seconds)
        return {
            "model": self.path,
            "parameters": self.num_parameters,
            "times_smaller": first.num_parameters / self.num_parameters,
            "texts_per_second": num_texts / seconds,
            "times_faster": of_first / seconds,
            "texts_per_cpu_second": num_texts / cpu,
            "times_less_cpu": cpu_of_first / cpu,
        }


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
