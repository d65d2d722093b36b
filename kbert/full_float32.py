"""Products of float32 in float32, on GPUs too."""

from kbert.late_tensorflow import tf


def keep_full_float32():
    """Turns TF32 off, for this process.

    By default TensorFlow rounds the factors of float32 products to TF32, with 10 bits of mantissa, on GPUs
    since Ampere. On an H100 a text's vector was then 6.4e-5 from the CPU's; without it 9e-8 (docs/gpu.md).
    PyTorch's default is float32, too.
    """
    tf.config.experimental.enable_tensor_float_32_execution(False)
