"""CRC-32C (Castagnoli) of many byte strings at once, by NumPy. Source: RFC 3720, appendix B.4."""

from collections.abc import Sequence

import numpy as np

_POLYNOMIAL = np.uint32(0x82F63B78)  # with its bits reversed
# These four bytes bring a register of zeros to all ones, where the checksum begins.
_TO_ALL_ONES = bytes.fromhex("54641f64")


def _shifted(registers, num_bits):
    """Registers after so many bits of zeros."""
    for _ in range(num_bits):
        registers = registers >> np.uint32(1) ^ (registers & np.uint32(1)) * _POLYNOMIAL
    return registers


# Four bytes are taken at a time: what their lower and their upper half make of the register.
_LOWER = _shifted(np.arange(1 << 16, dtype=np.uint32), 32)
_UPPER = _shifted(np.arange(1 << 16, dtype=np.uint32) << np.uint32(16), 32)


def crc32c(contents: Sequence[bytes]) -> np.ndarray:
    """The checksum of each: uint32 (contents,). Memory holds them once more, all as long as the longest.

    Examples:
      >>> hex(crc32c([b"123456789"])[0])
      '0xe3069283'
    """
    size = -(-max(map(len, contents), default=0) // 4) * 4 + len(_TO_ALL_ONES)
    # Zeros in front leave a register of zeros as it is.
    padded = b"".join([(_TO_ALL_ONES + content).rjust(size, b"\0") for content in contents])
    columns = np.ascontiguousarray(np.frombuffer(padded, "<u4").reshape(len(contents), size // 4).T)
    registers = np.zeros(len(contents), np.uint32)
    for column in columns:
        indices = (registers ^ column).astype(np.intp)
        registers = _LOWER.take(indices & 0xFFFF) ^ _UPPER.take(indices >> 16)
    return ~registers
