"""``camcast revoke``: a list of certificates that count no more."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from camcast.cli import options
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, print_line
from camcast.cli.printed import Revoked
from camcast.doors.options import OptionError

if TYPE_CHECKING:
    from camcast.security.certificates import Certificate
    from camcast.security.keys import PublicKey

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
            help="What to revoke: serials, or files with certificates. Without any, the list is"
            " signed anew.",
            metavar="[SERIAL]...",
        ),
    ] = None,
    hours: Annotated[float, typer.Option(help="Hours until the next list is due.")] = HOURS,
    json: options.Json = False,
) -> None:
    """Revoke certificates: sign and print a new list of all that count no more.

    The list is kept beside the key, in .revoked, and printed for those who are to know it. It is
    signed again before the next one is due, also if nothing was revoked: a process that gets no
    newer list cannot know whether it missed one. Certificates that have expired fall out of it.
    """
    from camcast.cli.validity import end_of
    from camcast.live.profiles.certificate_file import (
        CertificateFileError,
        read_revocations,
        revocations_text,
        write_revocations,
    )
    from camcast.live.profiles.key_file import beside, read_secret_key
    from camcast.security.revocation import REVOCATIONS, RevokedSerial, next_list

    with clear_failures():
        secret = read_secret_key(key_file)
        path = beside(key_file, ".revoked")
        before = read_revocations(path)[0] if path.exists() else None
        if before is not None and before.issuer != secret.public.raw:
            raise CertificateFileError(f"{path}: the list of another key than that in {key_file}")
        found = [
            _issued(text, key_file, secret.public) for text in dict.fromkeys(certificates or ())
        ]
        revoked = [RevokedSerial(each.serial, each.not_after) for each in found]
        now = int(time.time())
        try:
            due = end_of(now, hours, _HOUR_SECONDS, "--hours")
            news = next_list(before, secret.public.raw, revoked, now, due - now)
        except ValueError as error:
            raise OptionError(str(error)) from None
        data = REVOCATIONS.sign(news, secret)
        write_revocations(key_file, data)
        if json:
            signed = Revoked(
                issuer=secret.public.text,
                number=news.number,
                issued=news.issued,
                next_update=news.next_update,
                revoked=[entry.serial.hex() for entry in news.revoked],
                list=data,
            )
            print_json(signed, "revoke/1")
        else:
            print_line(revocations_text(data).rstrip("\n"))


def _issued(text: str, key_file: Path, issuer: PublicKey) -> Certificate:
    """Return the certificate of this serial, or in this file; `OptionError` if there is none."""
    from camcast.live.profiles.certificate_file import read_chain, read_issued
    from camcast.live.profiles.key_file import beside
    from camcast.security.certificates import CERTIFICATE
    from camcast.security.refusals import RefusedError

    if _SERIAL.fullmatch(text):
        for certificate in read_issued(key_file):
            if certificate.serial.hex() == text:
                return certificate
        raise OptionError(
            f"{beside(key_file, '.issued')} has no certificate {text}; name the certificate's file"
            " instead"
        )
    if not Path(text).exists():
        raise OptionError(f"{text!r} is no serial, which has 16 digits of 0-9 and a-f, nor a file")
    signed = read_chain(Path(text))[-1]
    try:
        CERTIFICATE.check(signed, issuer.raw)
    except RefusedError:
        raise OptionError(f"{text}: this certificate was not issued with {key_file}") from None
    return CERTIFICATE.read(signed)
