"""Compressed files are read like plain ones; damaged and oversized files are refused within bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import subprocess
import sys

import pytest
from commanding import ROOT

from cagematch.problems.errors import InputError
from cagematch.scheduler.batches.puzzle_sets import find_source, load
from cagematch.scheduler.readers import content as reading
from cagematch.scheduler.readers.content import ANY_RATIO, content

P = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
TEXT = f"{P} a label\n{P}\n".encode()
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
packings = pytest.mark.parametrize("ending", PACKED)


@packings
def test_a_compressed_file_is_read_as_its_content(tmp_path, ending):
    file = tmp_path / f"mine.txt.{ending}"
    file.write_bytes(PACKED[ending](TEXT))

    loaded = load(find_source(str(file)), None, None, skip_invalid=False)

    assert loaded.source.name == "mine"
    assert [(line, label) for _, _, line, label in loaded.rows] == [(1, "a label"), (2, "")]


@packings
def test_compression_is_detected_by_content(tmp_path, ending):
    """The name of the file is irrelevant, and several compressed parts may follow each other."""
    file = tmp_path / "mine.txt"
    file.write_bytes(PACKED[ending](TEXT) + PACKED[ending](TEXT))

    assert len(load(find_source(str(file)), None, None, skip_invalid=False).rows) == 4


@packings
def test_faults_have_their_place_in_decompressed_text(tmp_path, ending):
    file = tmp_path / f"mine.csv.{ending}"
    file.write_bytes(PACKED[ending](TEXT + b"nonsense\n"))

    with pytest.raises(InputError, match=r"mine\.csv\.\w+:3:.*only the first column of a CSV file"):
        load(find_source(str(file)), None, None, skip_invalid=False)


@packings
@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:20] + b"\0\xff" * 9 + data[38:]])
def test_a_damaged_file_is_refused(ending, damage):
    damaged = damage(PACKED[ending](TEXT))

    with pytest.raises(InputError, match=r"mine is not a complete (gzip|bzip2|xz) file: "):
        content(io.BytesIO(damaged), "mine")


@packings
def test_a_decompression_bomb_is_refused(ending):
    bomb = PACKED[ending](bytes(ANY_RATIO + 1))
    assert len(bomb) < 100_000

    with pytest.raises(InputError, match=r"mine \(\d+ \w+\) decompresses to more than 64 MiB, the maximum"):
        content(io.BytesIO(bomb), "mine")


def test_any_ratio_is_accepted_below_the_bound():
    assert content(io.BytesIO(gzip.compress(bytes(ANY_RATIO))), "mine") == bytes(ANY_RATIO)


def test_uncompressed_files_have_a_size_limit(monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 2**20)

    assert len(content(io.BytesIO(bytes(2**20)), "mine")) == 2**20
    with pytest.raises(InputError, match="mine is larger than 1 MiB, the maximum; split it"):
        content(io.BytesIO(bytes(2**20 + 1)), "mine")


@pytest.mark.parametrize(("begins", "name"), [(b"PK\3\4", "ZIP"), (b"\x28\xb5\x2f\xfd", "Zstandard")])
def test_unsupported_archives_are_named(begins, name):
    with pytest.raises(InputError, match=f"mine is a {name} archive, expected text, or text compressed with gzip"):
        content(io.BytesIO(begins + bytes(100)), "mine")


def test_a_decompression_bomb_uses_bounded_memory(tmp_path):
    """The file decompresses to 1 GiB, and the process has 0.5 GiB of address space."""
    bomb = tmp_path / "bomb.txt.gz"
    bomb.write_bytes(gzip.compress(bytes(2**24)) * 64)
    code = f"""
import resource
from cagematch.scheduler.batches.puzzle_sets import find_source, load
resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
load(find_source({str(bomb)!r}), None, None, skip_invalid=False)
"""

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    last = done.stderr.splitlines()[-1]
    assert re.search(r"InputError: .*bomb\.txt\.gz \(1,?\d* \w+\) decompresses to more than", last), done.stderr
