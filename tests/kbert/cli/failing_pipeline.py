"""Run in a process of its own: a script whose input pipeline fails."""

from kbert.cli import script


def main():
    import tensorflow as tf

    from kbert.input_pipelines.packing import pack

    mask = tf.data.Dataset.from_tensors({"input_mask": tf.ones((3, 8), tf.int32)})
    batches = iter(pack(mask, num_rows=1).prefetch(2))
    tf.function(lambda: next(batches))()


if __name__ == "__main__":
    script.run(main)
