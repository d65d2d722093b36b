"""The devices that a training uses, as given by flags."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Devices:
    """The arguments of `kbert.training.devices.distribution.make_strategy`, before TensorFlow is loaded.

    Args:
      strategy, num_devices, cluster, tpu: see `make_strategy`; `strategy` is its `name`.
    """

    strategy: str = "auto"
    num_devices: int | None = None
    cluster: str = "tf_config"
    tpu: str | None = None

    def make_strategy(self):
        """The tf.distribute strategy. Call it before anything that runs TensorFlow operations."""
        from kbert.training.devices.distribution import make_strategy

        return make_strategy(self.strategy, self.num_devices, self.cluster, self.tpu)
