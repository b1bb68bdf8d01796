"""``camcast revoke``: a list of certificates that count no more."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from camcast.cli import options
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, print_line, write_output
from camcast.cli.printed import Revoked
from camcast.cli.validity import EveryKey, IssuedBefore, check_by_time, end_of, moment_of
from camcast.doors.options import OptionError
from camcast.vocabulary.errors import CamcastError

if TYPE_CHECKING:
    from camcast.live.profiles.issuer_register import IssuerRegister
    from camcast.security.certificates import Certificate
    from camcast.security.keys import PublicKey
    from camcast.security.revocation import RevocationList

HOURS: Final = 24.0  # chosen: until the next list is due, once a day
_HOUR_SECONDS: Final = 3600
_SERIAL: Final = re.compile("[0-9a-f]{16}")


def revoke(
    key_file: Annotated[
        Path, typer.Option("--with", metavar="FILE", help="The key that issued them.")
    ],
    certificates: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to revoke: serials, or files with certificates; with --issued-before, public"
            " keys or files with these. Without any, the list is signed anew.",
            metavar="[SERIAL]...",
        ),
    ] = None,
    issued_before: IssuedBefore = None,
    every_key: EveryKey = False,
    hours: Annotated[float, typer.Option(help="Hours until the next list is due.")] = HOURS,
    known: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A list that was handed out before: what it revokes stays revoked. Repeatable.",
        ),
    ] = None,
    output: options.WholeOutput = None,
    clock_is_right: options.ClockIsRight = False,
    json: options.Json = False,
) -> None:
    """Revoke certificates: sign a new list of all that count no more.

    The list is kept beside the key, in .revoked, and is for everybody. It is signed again before
    the next one is due, also if nothing was revoked: a process that gets no newer list cannot know
    whether it missed one. It names all that was ever revoked (.issued) and has not expired; a file
    that is an older copy, or lost, takes nothing away.

    With --issued-before, all that a key got before a time counts no more, also what is noted
    nowhere; what it gets later counts.
    """
    from camcast.live.profiles.certificate_file import revocations_text
    from camcast.live.profiles.issuer_register import opened
    from camcast.live.profiles.key_file import read_secret_key
    from camcast.security.revocation import EVERY_KEY, key_mark

    with clear_failures():
        check_by_time(
            issued_before, every_key=every_key, named=bool(certificates), names="public keys"
        )
        secret, now = read_secret_key(key_file), int(time.time())
        lists = [_list_of(path, key_file, secret.public) for path in known or ()]
        with opened(key_file, secret, now, clock_is_right=clock_is_right) as register:
            named = dict.fromkeys(certificates or ())
            found: list[Certificate] = []
            times: dict[bytes, int] = {}
            if issued_before is None:
                found = [_issued(text, register, key_file, secret.public) for text in named]
            else:
                marks = [EVERY_KEY] if every_key else [key_mark(_key(text).raw) for text in named]
                times = dict.fromkeys(marks, moment_of(issued_before, now))
            try:
                due = end_of(now, hours, _HOUR_SECONDS, "--hours")
                news, data = register.revoke(found, lists, now, due - now, issued_before=times)
            except CamcastError:
                raise
            except ValueError as error:
                raise OptionError(str(error)) from None
        text = revocations_text(data)
        if output is not None:
            write_output(output, text)
        if json:
            signed = Revoked(
                issuer=secret.public.text,
                number=news.number,
                issued=news.issued,
                next_update=news.next_update,
                revoked=[entry.serial.hex() for entry in news.certificates],
                issued_before={
                    "all" if mark == EVERY_KEY else mark.hex(): time
                    for mark, time in news.issued_before.items()
                },
                list=data,
            )
            print_json(signed, "revoke/1")
        elif output is None:
            print_line(text.rstrip("\n"))


def _list_of(path: Path, key_file: Path, issuer: PublicKey) -> tuple[RevocationList, bytes]:
    """Return the issuer's list in a file; `OptionError` for the list of another key."""
    from camcast.live.profiles.certificate_file import read_revocations

    value, data = read_revocations(path)
    if value.issuer != issuer.raw:
        raise OptionError(f"{path}: the list of another key than that in {key_file}")
    return value, data


def _issued(text: str, register: IssuerRegister, key_file: Path, issuer: PublicKey) -> Certificate:
    """Return the certificate of this serial, or in this file; `OptionError` if there is none."""
    from camcast.live.profiles.certificate_file import read_chain
    from camcast.security.certificates import CERTIFICATE
    from camcast.security.refusals import RefusedError

    if _SERIAL.fullmatch(text):
        try:
            return register.find(bytes.fromhex(text))
        except LookupError as error:
            raise OptionError(f"{error.args[0]}; name the certificate's file instead") from None
    if not Path(text).exists():
        raise OptionError(f"{text!r} is no serial, which has 16 digits of 0-9 and a-f, nor a file")
    signed = read_chain(Path(text))[-1]
    try:
        CERTIFICATE.check(signed, issuer.raw)
    except RefusedError:
        raise OptionError(f"{text}: this certificate was not issued with {key_file}") from None
    return CERTIFICATE.read(signed)


def _key(text: str) -> PublicKey:
    """Return this public key, or that in this file; `OptionError` if there is none."""
    from camcast.live.profiles.key_file import read_public_key
    from camcast.security.keys import InvalidKeyError, PublicKey

    if Path(text).exists():
        return read_public_key(Path(text))
    try:
        return PublicKey.parse(text)
    except InvalidKeyError:
        raise OptionError(f"{text!r} is no public key, nor a file with one") from None
