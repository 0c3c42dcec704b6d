"""Removing the temporary folders of keepers and sandboxes."""

from __future__ import annotations


def remove_folder(folder: str) -> None:
    """Remove a folder with its contents, as far as possible."""
    from shutil import rmtree  # loads the compression libraries, which would slow the keeper's start

    rmtree(folder, ignore_errors=True)
