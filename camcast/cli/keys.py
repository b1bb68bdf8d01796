"""``camcast keys``: make key files, and look at them.

PyNaCl is imported where it is used, here as in the other commands that sign.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from camcast.cli import options
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, print_line
from camcast.cli.printed import NewKey, PublicFile, ShownKey
from camcast.cli.strict_command import Command

keys = typer.Typer(name="keys", no_args_is_help=True, rich_markup_mode=None)


@keys.callback(epilog="Example: camcast keys new ada.key")
def _keys() -> None:
    """Make key files, and look at them.

    A key says who a process is. Its secret half stays in its file, which only its owner may read;
    the public half is for everybody.
    """


@keys.command(cls=Command, epilog="Example: camcast keys new root.key")
def new(
    file: Annotated[Path, typer.Argument(help="The file of the secret key, e.g. ada.key.")],
    json: options.Json = False,
) -> None:
    """Make a key: the secret one in FILE, the public one beside it (ada.key, ada.pub).

    Prints the public key. Whoever can read FILE is its owner, so it gets mode 0600, and a file is
    never written over: keep a copy of it, since nobody can make it again.
    """
    from camcast.live.profiles.key_file import write_key_pair
    from camcast.security.keys import KEY_BYTES, SecretKey

    with clear_failures():
        key = SecretKey(os.urandom(KEY_BYTES))
        public = write_key_pair(file, key)
        if json:
            made = NewKey(
                key=key.public.text,
                peer=key.public.peer_id.hex(),
                secret_file=str(file),
                public_file=str(public),
            )
            print_json(made, "keys-new/1")
        else:
            print_line(key.public.text)


@keys.command(cls=Command, epilog="Example: camcast keys passphrase group.pass")
def passphrase(
    file: Annotated[
        Path | None,
        typer.Argument(help="Write it there, for --passphrase-file, instead of printing it."),
    ] = None,
) -> None:
    """Make a passphrase of six random words, for a group of the profile shared-key.

    A file gets mode 0600, and is never written over.
    """
    from camcast.live.profiles.key_file import write_passphrase
    from camcast.security.passphrase import DRAWN_BYTES, passphrase_of

    with clear_failures():
        made = passphrase_of(os.urandom(DRAWN_BYTES))
        if file is None:
            print_line(made)
        else:
            write_passphrase(file, made)


@keys.command(cls=Command, epilog="Example: camcast keys public ada.key")
def public(
    file: Annotated[Path, typer.Argument(help="The file of a secret key, e.g. ada.key.")],
    json: options.Json = False,
) -> None:
    """Make the public file beside a secret key again (ada.pub), where it was lost.

    Prints the public key. A file that is there stays, and has to be this key's.
    """
    from camcast.live.profiles.key_file import read_public_key, write_public_key

    with clear_failures():
        path = write_public_key(file)
        key = read_public_key(path)
        if json:
            found = PublicFile(key=key.text, peer=key.peer_id.hex(), public_file=str(path))
            print_json(found, "keys-public/1")
        else:
            print_line(key.text)


@keys.command(cls=Command, epilog="Example: camcast keys show ada.pub")
def show(
    file: Annotated[Path, typer.Argument(help="The file of a secret or of a public key.")],
    json: options.Json = False,
) -> None:
    """Print the public key of a key file, as it stands after the # of a gateway's address.

    The secret half is never printed. With --json also the id that peers know its process by.
    """
    from camcast.live.profiles.key_file import read_any_key

    with clear_failures():
        public = read_any_key(file)
        if json:
            shown = ShownKey(key=public.text, peer=public.peer_id.hex())
            print_json(shown, "keys-show/1")
        else:
            print_line(public.text)
