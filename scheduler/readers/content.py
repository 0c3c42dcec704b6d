"""The bytes of a file, decompressed from gzip, bzip2 or xz, up to a maximum size.

A small file can decompress to any size, and a pipe may never end. The maximum keeps both from filling the memory.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import IO, NamedTuple

from cagematch.problems.errors import InputError

LARGEST = 2**30  # bytes of text: about ten million Sudokus
ANY_RATIO = 2**26  # bytes: a file up to this size may have any compression ratio
RATIO = 100  # the largest ratio of a larger file; puzzles have 2 to 4, because clues are random
BLOCK = 2**20  # bytes
SUFFIX = re.compile(r"(?<=.)\.(gz|bz2|xz)$", re.IGNORECASE)


class Packing(NamedTuple):
    """A compression format: its name, the start of its files, and a function that decompresses them."""

    name: str
    begins: re.Pattern[bytes]
    open: Callable[[BytesIO], IO[bytes]]


PACKINGS = (
    Packing("gzip", re.compile(rb"\x1f\x8b"), lambda packed: gzip.GzipFile(fileobj=packed)),  # type: ignore[arg-type, return-value]
    Packing("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2File),
    Packing("xz", re.compile(rb"\xfd7zXZ\0"), lzma.LZMAFile),
)
UNREAD = {"ZIP": b"PK\x03\x04", "Zstandard": b"\x28\xb5\x2f\xfd", "7z": b"7z\xbc\xaf\x27\x1c"}


def without_suffix(name: str) -> str:
    """Return the name of a file without the suffix of its compression format."""
    return SUFFIX.sub("", name)


def content(stream: IO[bytes], shown: str) -> bytes:
    """Read and decompress a stream.

    Parameters
    ----------
    shown
        The name of the stream in messages.

    Raises
    ------
    InputError
        The contents are damaged, too large, or an archive of an unsupported format.
    """
    data = _all(stream, LARGEST)
    if data is None:
        raise InputError(f"{shown} is larger than {_size(LARGEST)}, the maximum; split it")
    for name, begins in UNREAD.items():
        if data.startswith(begins):
            raise InputError(f"{shown} is a {name} archive, expected text, or text compressed with gzip, bzip2 or xz")
    packing = next((packing for packing in PACKINGS if packing.begins.match(data)), None)
    return _unpacked(packing, data, shown) if packing else data


def _unpacked(packing: Packing, data: bytes, shown: str) -> bytes:
    most = min(LARGEST, max(ANY_RATIO, RATIO * len(data)))
    try:
        with packing.open(BytesIO(data)) as stream:
            text = _all(stream, most)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{shown} is not a complete {packing.name} file: {error}") from None
    if text is None:
        raise InputError(
            f"{shown} ({_size(len(data))}) decompresses to more than {_size(most)}, the maximum for a compressed file "
            "of that size; decompress it first, or split it"
        )
    return text


def _all(stream: IO[bytes], most: int) -> bytes | None:
    """Return the rest of a stream; None if it has more than ``most`` bytes."""
    data = bytearray()
    while block := stream.read(BLOCK):
        data += block
        if len(data) > most:
            return None
    return bytes(data)


def _size(count: int) -> str:
    """Return a size as text: ``1 GiB``, ``64 MiB``, ``203 KiB``."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count // unit:,} {name}"
    return f"{count} bytes"
