"""Text files: the whole text, or the lines of a file that has no header."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from camcast.research.workloads.publication import WorkloadError

_COMPRESSED: Final = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"PK\x03\x04": ("zip", "unzip"),
}
"""The first bytes of compressed files, what they are, and what unpacks them."""


def read_text(path: Path, wanted: str) -> str:
    """Return the text of a file; raises `WorkloadError` if it cannot be read or is not UTF-8.

    `wanted` names the content of the file for the error.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WorkloadError(
            path, None, f"cannot be read ({error.strerror}); give a file with {wanted}"
        ) from None
    for sign, (form, program) in _COMPRESSED.items():
        if content.startswith(sign):
            raise WorkloadError(
                path, 1, f"the file is compressed ({form}); unpack it with {program}"
            )
    try:
        return content.decode("utf-8-sig")  # an editor may put a BOM first
    except UnicodeDecodeError as error:
        wrong, before = error.object[error.start], error.object[: error.start]
        raise WorkloadError(
            path, before.count(b"\n") + 1, f"byte {wrong:#04x} is not UTF-8; save it as UTF-8"
        ) from None


def read_lines(path: Path, wanted: str) -> list[str]:
    r"""Return the lines of a file, which end with ``\n`` or ``\r\n``.

    `wanted` names the content of the file for errors. Raises `WorkloadError` as `read_text` does,
    and for an empty file.
    """
    text = read_text(path, wanted)
    if not text.strip():
        raise WorkloadError(path, 1, f"the file is empty; write {wanted} into it")
    # not splitlines(): a form feed or U+2028 would shift the numbers of the lines below it
    return text.removesuffix("\n").replace("\r\n", "\n").split("\n")
