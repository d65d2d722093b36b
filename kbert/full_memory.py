"""A full memory, of a GPU or of the machine, as TensorFlow finds it: one MemoryError that says what helps."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# What TensorFlow's allocators, XLA and CUDA say; "Dst tensor" is that of a copy to a GPU without room for it.
# Other resources are exhausted too, such as a disk.
_FULL = re.compile(
    r"\bOOM\b|out.of.memory|failed to allocate|ALLOC_FAILED|Dst tensor is not initialized", re.I
)
# What CUDA's libraries say where TensorFlow itself got little of a card, which it takes as a whole.
_HELD = re.compile(
    r"StreamExecutor without (BLAS|DNN) support|Blas \w+ launch failed|DNN library initialization failed"
    r"|failed to create cu\w+ handle|Failed call to cublasCreate|CU(BLAS|DNN)_STATUS_NOT_INITIALIZED",
    re.I,
)
_DEVICE = re.compile(r"device:([CGT]PU:\d+)")


@contextmanager
def naming_full_memory(what: str, mend: str) -> Iterator[None]:
    """Inside, or in the function that it decorates, TensorFlow's report of a full memory is one sentence.

    Args:
      what: what does not fit.
      mend: what a user changes.

    Raises:
      MemoryError: instead of TensorFlow's error.
    """
    try:
        yield
    except Exception as error:
        tensorflow = sys.modules.get("tensorflow")
        is_report = tensorflow is not None and isinstance(error, tensorflow.errors.OpError)
        if is_report and _HELD.search(str(error)):
            raise MemoryError(
                "CUDA's libraries cannot start on the GPU, mostly because another process holds its memory "
                "(see nvidia-smi): end that one, or start both with TF_FORCE_GPU_ALLOW_GROWTH=true."
            ) from error
        if not (is_report and _FULL.search(str(error))):
            raise
        device = _DEVICE.search(str(error))
        where = f"the memory of {device[1]}" if device else "memory"
        if device and device[1].startswith("GPU"):
            where = f"{where}, or what other processes leave of it (nvidia-smi)"
        raise MemoryError(f"{what} does not fit into {where}: {mend}.") from error
