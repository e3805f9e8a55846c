"""Writes PNG files whose bytes depend only on the pixels.

The pixels are stored, not compressed: deflate's output differs between zlib's versions and between
processors, and the worlds' images are grainy, so little would be gained.
"""

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

STORED_BLOCK = 65535  # the longest that deflate allows
TRUE_COLOUR = 2


def png_bytes(pixels: UInt8[np.ndarray, "height width 3"]) -> bytes:
    """Return the image as an 8-bit RGB file in PNG form.

    >>> png_bytes(np.zeros((2, 2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = pixels.shape
    unfiltered = np.zeros((height, 1 + 3 * width), np.uint8)  # each line begins with filter 0
    unfiltered[:, 1:] = pixels.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, TRUE_COLOUR, 0, 0, 0)
    raw = unfiltered.tobytes()
    packed = b"\x78\x01" + stored(raw) + struct.pack(">I", zlib.adler32(raw))
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", packed), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def stored(data: bytes) -> bytes:
    """Return `data` as a deflate stream of stored blocks.

    >>> zlib.decompress(stored(b"as it is"), -15)
    b'as it is'
    """
    starts = range(0, max(1, len(data)), STORED_BLOCK)
    blocks = []
    for start in starts:
        block = data[start : start + STORED_BLOCK]
        last = start + STORED_BLOCK >= len(data)
        blocks.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"".join(blocks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
