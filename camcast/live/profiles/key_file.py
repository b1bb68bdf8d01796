"""Files of keys: only its owner may read a secret key or a passphrase, everybody a public key.

A key file has one line, which says what it is, and comments::

    # camcast: whoever has this line is dpl6…; keep it to yourself.
    camcast-secret-key-1 tjq4…

It is written whole or not at all, and never over another file: a key that is lost cannot be made
again.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from camcast.live.profiles.whole_file import write_whole
from camcast.security.keys import InvalidKeyError, PublicKey, SecretKey
from camcast.vocabulary.errors import CamcastError

_SECRET: Final = "camcast-secret-key-1"
_PUBLIC: Final = "camcast-public-key-1"
_FILE_BYTES_MAX: Final = 4096  # chosen: a key's line has 77, and a few comments fit
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class KeyFileError(CamcastError, ValueError):
    """A key file is wrong, or cannot be read or written; the message names it and the fault."""


class _OtherKindError(KeyFileError):
    """The file has the other half of a key pair."""


def beside(secret: Path, suffix: str) -> Path:
    """Return the path beside a secret key's: ``ada.pub`` for ``ada.key`` and ``.pub``."""
    return secret.with_suffix(suffix) if secret.suffix == ".key" else Path(f"{secret}{suffix}")


def write_key_pair(path: Path, key: SecretKey) -> Path:
    """Write the secret key to `path` with mode 0600, and the public key beside it.

    Returns the public key's path. Raises `KeyFileError` if one of the files exists.
    """
    if not path.name:
        raise KeyFileError(f"{path} is no name of a file; give one, such as ada.key")
    public = beside(path, ".pub")
    if os.path.lexists(public):  # without an error for a name that no file can have
        raise KeyFileError(f"{public} exists; name another file, or move it away")
    note = f"# camcast: whoever has this line is {key.public}; keep it to yourself.\n"
    _write_new(path, f"{note}{_SECRET} {key.text}\n", 0o600)
    _write_new(public, f"{_PUBLIC} {key.public}\n", 0o644)
    return public


def read_secret_key(path: Path) -> SecretKey:
    """Read a secret key; raises `KeyFileError`, also if anybody but its owner may read the file."""
    try:
        return SecretKey.parse(_read(path, _SECRET))
    except InvalidKeyError as error:
        raise KeyFileError(f"{path}: {error}") from error


def read_public_key(path: Path) -> PublicKey:
    """Read a public key; raises `KeyFileError`."""
    try:
        return PublicKey.parse(_read(path, _PUBLIC))
    except InvalidKeyError as error:
        raise KeyFileError(f"{path}: {error}") from error


def read_any_key(path: Path) -> PublicKey:
    """Read a public key, or a secret key's public half; raises as the two functions above."""
    try:
        return read_public_key(path)
    except _OtherKindError:
        return read_secret_key(path).public


def read_passphrase(path: Path) -> str:
    """Read the passphrase of a group from a file of one line; raises as `read_secret_key`."""
    lines, mode = _lines(path)
    _check_private(path, mode)
    if len(lines) != 1:
        raise KeyFileError(f"{path}: not a passphrase: expected one line of text")
    return lines[0]


def _lines(path: Path) -> tuple[list[str], int]:
    """Return the lines of a file, none if it is too large, and its mode."""
    try:
        with path.open("rb") as source:
            mode = os.fstat(source.fileno()).st_mode
            data = source.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
    return (
        data.decode("utf-8", "replace").splitlines() if len(data) <= _FILE_BYTES_MAX else []
    ), mode


def _check_private(path: Path, mode: int) -> None:
    if mode & _OTHERS:
        raise KeyFileError(
            f"{path}: others may read this secret (mode {stat.S_IMODE(mode):04o});"
            f" run: chmod 600 {path}. If they have, make a new one"
        )


def _read(path: Path, kind: str) -> str:
    """Return the key's text in a file of this kind; a secret one must be for its owner alone."""
    lines, mode = _lines(path)
    words = [line.split() for line in lines if line and not line.startswith("#")]
    match words:
        case [[found, text]] if found == kind:
            if kind == _SECRET:
                _check_private(path, mode)
            return text
        case [[found, _]] if found == _SECRET:
            raise _OtherKindError(
                f"{path}: this is the secret key; name {beside(path, '.pub')} instead"
            )
        case [[found, _]] if found == _PUBLIC:
            raise _OtherKindError(
                f"{path}: this is the public key; name the file of the secret one"
            )
    raise KeyFileError(f"{path}: not a key file: expected one line, {kind} and the key")


def _write_new(path: Path, text: str, mode: int) -> None:
    try:
        write_whole(path, text, mode, replace=False)
    except FileExistsError:
        raise KeyFileError(f"{path} exists; name another file, or move it away") from None
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
