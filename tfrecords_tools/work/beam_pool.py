"""Work on a cluster: a function over many items as an Apache Beam pipeline.

Apache Beam is an optional extra; nothing else imports it.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator

from kbert.extras import require


class BeamPool:
    """Like `WorkerPool`, for functions that write their results to files and return nothing.

    Each `map` is one pipeline. Its workers need this project installed, and a file system that shows the
    same paths to all of them (NFS, Lustre, a mounted bucket), with input, vocabulary and output on it.

    Args:
      options: Beam's own options, as on its command line, for example
        "--runner=FlinkRunner --flink_master=host:8081 --environment_type=LOOPBACK". An empty string runs
        the pipeline on this machine.

    Raises:
      ValueError: when Apache Beam is not installed.
    """

    num_workers = 1  # as seen from here: all results come together, when the pipeline ends

    def __init__(self, options: str = ""):
        require("beam", "--runner=beam")
        from apache_beam.options.pipeline_options import PipelineOptions

        self._options = PipelineOptions(shlex.split(options))

    def __enter__(self) -> "BeamPool":
        return self

    def __exit__(self, *exception):
        pass

    def map(self, function: Callable, items: Iterable) -> Iterator[None]:
        """Runs the function over all items, then yields None for each of them.

        Raises:
          Whatever the pipeline raises when one of the items fails for good.
        """
        import apache_beam as beam

        items = list(items)
        if items:
            with beam.Pipeline(options=self._options) as pipeline:
                _ = pipeline | beam.Create(items) | beam.Reshuffle() | beam.Map(function)
        yield from (None for _ in items)
