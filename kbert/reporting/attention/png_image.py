"""A matrix of numbers from 0 to 1 -> a PNG of one colour, transparent where the number is 0."""

import base64
import struct
import zlib

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED = 3  # the colour type of an image with a palette


def png(shares: np.ndarray, colour: tuple[int, int, int]) -> bytes:
    """A PNG with a pixel for each number, which can stand on a light and on a dark page.

    Args:
      shares: float array of shape (rows, columns), from 0, transparent, to 1, opaque.
      colour: red, green and blue, from 0 to 255.

    Reference: the PNG specification (W3C, 2003), sections 11.2.2 to 11.3.2: a palette of 256 times the same
    colour, whose transparency grows with the index.
    """
    pixels = np.rint(np.clip(shares, 0.0, 1.0) * 255).astype(np.uint8)
    height, width = pixels.shape
    # Every row begins with the number of its filter, 0 for none.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, _INDEXED, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", bytes(colour) * 256),
        (b"tRNS", bytes(range(256))),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def data_uri(image: bytes) -> str:
    """A PNG as the address of an image that is in the page itself."""
    return f"data:image/png;base64,{base64.b64encode(image).decode('ascii')}"


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
