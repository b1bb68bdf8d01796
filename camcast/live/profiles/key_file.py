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

from camcast.security.keys import TEXT_CHARACTERS, InvalidKeyError, PublicKey, SecretKey
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.given_file import read_given
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

_SECRET: Final = "camcast-secret-key-1"
_PUBLIC: Final = "camcast-public-key-1"
_FILE_BYTES_MAX: Final = 4096  # chosen: a key's line has 77, and a few comments fit
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_MORE: Final = _OTHERS & ~(stat.S_IRGRP | stat.S_IROTH)
"""The rights of others to write and to execute."""
_ANY_WRITE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_BLANKS: Final = "\ufeff \t"  # what editors put before a line


class KeyFileError(CamcastError, ValueError):
    """A key file is wrong, or cannot be read or written; the message names it and the fault."""


class _OtherKindError(KeyFileError):
    """The file has the other half of a key pair."""


def beside(secret: Path, suffix: str) -> Path:
    """Return the path beside a secret key's: ``ada.pub`` for ``ada.key`` and ``.pub``.

    Where the key's path is a link, the path is beside the file that it names: whichever link a
    command is given, there is one such file.
    """
    if os.path.islink(secret):
        secret = Path(os.path.realpath(secret))
    return secret.with_suffix(suffix) if secret.suffix == ".key" else Path(f"{secret}{suffix}")


def write_key_pair(path: Path, key: SecretKey) -> Path:
    """Write the secret key to `path` with mode 0600, and the public key beside it.

    Returns the public key's path. Raises `KeyFileError` if one of the files exists, and if the
    secret cannot be kept from others there, as on a stick whose file system has no modes.
    """
    if not path.name:
        raise KeyFileError(f"{path} is no name of a file; give one, such as ada.key")
    public = beside(path, ".pub")
    for name in (path, public):
        if os.path.lexists(name):  # without an error for a name that no file can have
            raise _exists(name)
    note = f"# camcast: whoever has this line is {key.public}; keep it to yourself.\n"
    _write_new(path, f"{note}{_SECRET} {key.text}\n", 0o600)
    read_secret_key(path)
    _write_new(public, public_line(key.public), 0o644)
    return public


def write_public_key(path: Path) -> Path:
    """Write the public key beside the secret one at `path`, where it was lost; return its path.

    A file that is there stays. Raises `KeyFileError`, also if that one has another key.
    """
    key, public = read_secret_key(path).public, beside(path, ".pub")
    if not os.path.lexists(public):
        _write_new(public, public_line(key), 0o644)
    elif read_public_key(public) != key:
        raise KeyFileError(f"{public} has another key than that of {path}; move it away")
    return public


def read_secret_key(path: Path) -> SecretKey:
    """Read a secret key; raises `KeyFileError`, also if anybody but its owner may read the file.

    A file as containers mount secrets is taken, with a warning.
    """
    try:
        return SecretKey.parse(_read(path, _SECRET))
    except InvalidKeyError as error:
        raise KeyFileError(f"{path}: {error}") from error


def read_public_key(path: Path) -> PublicKey:
    """Read a public key, also as ``camcast keys show`` prints it; raises `KeyFileError`."""
    try:
        return PublicKey.parse(_read(path, _PUBLIC))
    except InvalidKeyError as error:
        raise KeyFileError(f"{path}: {error}") from error


def read_root(path: Path) -> PublicKey:
    """Read the public key of a trusted root; raises as `read_public_key`.

    Whoever may write the file decides who is trusted, so nobody but its owner may.
    """
    key, mode = read_public_key(path), path.stat().st_mode
    if mode & _OTHERS_WRITE and not _is_read_only(path):
        raise KeyFileError(
            f"{path}: others may write this key (mode {stat.S_IMODE(mode):04o}), and so decide whom"
            f" this process trusts; look whether it is the right one, and run: chmod go-w {path}"
        )
    return key


def read_any_key(path: Path) -> PublicKey:
    """Read a public key, or a secret key's public half; raises as the functions above."""
    try:
        return read_public_key(path)
    except _OtherKindError:
        return read_secret_key(path).public


def read_passphrase(path: Path) -> str:
    """Read the passphrase of a group from a file of one line; raises as `read_secret_key`.

    `camcast.security.passphrase.check_passphrase` says which texts are one passphrase.
    """
    data, found = _content(path)
    _check_private(path, found)
    try:
        lines = data.decode().strip().splitlines()
    except UnicodeDecodeError:
        raise KeyFileError(f"{path}: not a passphrase: it is no UTF-8; save it as UTF-8") from None
    if len(lines) != 1:
        raise KeyFileError(f"{path}: not a passphrase: expected one line of text")
    return lines[0]


def write_passphrase(path: Path, passphrase: str) -> None:
    """Write a passphrase into a new file, which only its owner may read. Raises `KeyFileError`."""
    _write_new(path, f"{passphrase}\n", 0o600)


def _content(path: Path) -> tuple[bytes, os.stat_result]:
    """Return what is in a file, and its state."""
    try:
        data, found = read_given(path, _FILE_BYTES_MAX)
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
    if len(data) > _FILE_BYTES_MAX:
        says = f"not a key file or passphrase: longer than {_FILE_BYTES_MAX:,} bytes"
        raise KeyFileError(f"{path}: {says}")
    return data, found


def _check_private(path: Path, found: os.stat_result) -> None:
    """Refuse a secret that others may read, but for those that nobody here could protect.

    [PostgreSQL, ssl_key_file] Root's own file may be readable for the group that a process is in.
    Orchestrators mount secrets read-only: 0440 for a group, or 0444 where the mount cannot be
    written to.
    """
    mode, name = found.st_mode, stat.S_IMODE(found.st_mode)
    if not mode & _OTHERS:
        return
    given = found.st_uid == 0 != os.geteuid()
    of_group = not mode & stat.S_IRWXO and (given or not mode & _ANY_WRITE)
    if not mode & _OTHERS_MORE and (of_group or given or _is_read_only(path)):
        _log.warning(
            "%s: others may read this secret (mode %04o); it is taken, since secrets of containers"
            " are mounted so. Better: defaultMode: 0400, or a user of its own",
            path,
            name,
        )
        return
    raise KeyFileError(
        f"{path}: others may read this secret (mode {name:04o}); run: chmod 600 {path} (a secret of"
        " a container: mount it with mode 0400; a stick without modes: with umask=077). If they"
        " have, make a new one"
    )


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _read(path: Path, kind: str) -> str:
    """Return the key's text in a file of this kind; a secret one must be for its owner alone."""
    data, found = _content(path)
    if not data:
        raise KeyFileError(
            f"{path}: not a key file: it is empty, as where camcast keys new was killed; remove it"
        )
    lines = (line.strip(_BLANKS) for line in data.decode("utf-8", "replace").splitlines())
    words = [line.split() for line in lines if line and not line.startswith("#")]
    match words:
        case [[kind_found, text]] if kind_found == kind:
            if kind == _SECRET:
                _check_private(path, found)
            return text
        case [[text]] if kind == _PUBLIC and len(text) == TEXT_CHARACTERS:
            return text
        case [[kind_found, _]] if kind_found == _SECRET:
            raise _OtherKindError(
                f"{path}: this is the secret key; name {beside(path, '.pub')} instead (camcast keys"
                " public makes it)"
            )
        case [[kind_found, _]] if kind_found == _PUBLIC:
            raise _OtherKindError(
                f"{path}: this is the public key; name the file of the secret one"
            )
    raise KeyFileError(f"{path}: not a key file: expected one line, {kind} and the key")


def public_line(key: PublicKey) -> str:
    """Return the text of a file of a public key."""
    return f"{_PUBLIC} {key}\n"


def _exists(path: Path) -> KeyFileError:
    return KeyFileError(f"{path} exists; name another file, or move it away")


def _write_new(path: Path, text: str, mode: int) -> None:
    try:
        write_lasting(path, text.encode(), mode, replace=False)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
