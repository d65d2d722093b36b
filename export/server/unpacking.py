"""Packed bodies of requests."""

import zlib

_CHUNK = 4096  # bytes; what follows a part of gzip is copied, up to so many
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # zlib's numbers for the two formats


class BodyRefused(Exception):
    """A body that is not read to its end."""

    def __init__(self, http_status: int, message: str):
        super().__init__(message)
        self.http_status, self.message = http_status, message


def unpacked(body: bytes | bytearray, packing: str, max_bytes: int) -> bytes:
    """A body as it was before it was packed.

    Args:
      body: as it was sent.
      packing: the value of Content-Encoding, in lower case.
      max_bytes: of the unpacked body; no more memory is taken.

    Raises:
      BodyRefused: 415 for another packing than gzip and deflate, 413 for too much, 400 for damaged bytes.
    """
    if packing not in _WINDOW:
        raise BodyRefused(
            415, f"Content-Encoding {packing[:60]!r} is not read; send gzip, or the JSON as it is."
        )
    whole, position = bytearray(), 0
    unpacker = zlib.decompressobj(_WINDOW[packing])
    try:
        while position < len(body):
            if unpacker.eof:  # gzip may have several parts, one behind the other
                unpacker = zlib.decompressobj(_WINDOW[packing])
            chunk = memoryview(body)[position : position + _CHUNK]
            whole += unpacker.decompress(chunk, max_bytes + 1 - len(whole))
            if len(whole) > max_bytes:
                raise BodyRefused(
                    413,
                    f"The unpacked body has over {max_bytes} bytes (--max_message_bytes); send fewer texts.",
                )
            position += len(chunk) - len(unpacker.unused_data)
        if body and not unpacker.eof:
            raise zlib.error("it ends too early")
    except zlib.error as error:
        raise BodyRefused(400, f"The body is no {packing}, as Content-Encoding says: {error}") from None
    return bytes(whole)
