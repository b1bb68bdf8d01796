"""``camcast certify``: grant a key rights below a topic, for some time."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from camcast.cli import options
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, print_line, write_output
from camcast.cli.printed import Certified
from camcast.cli.validity import BytesASecond, EventsASecond, end_of
from camcast.doors.options import OptionError
from camcast.vocabulary.topics import Topic

DAYS: Final = 7.0  # chosen: an authority that is offline for a day expels nobody
_DAY_SECONDS: Final = 86_400


def certify(
    key_file: Annotated[
        Path, typer.Option("--with", metavar="FILE", help="The secret key that signs.")
    ],
    subject_file: Annotated[
        Path, typer.Option("--for", metavar="FILE", help="The public key that gets the rights.")
    ],
    topic: Annotated[str, typer.Option(help="The topic, e.g. .soccer, and those below it.")],
    may: Annotated[
        str,
        typer.Option(
            metavar="RIGHTS",
            help="Rights, with commas: join, publish, serve (be a gateway), issue.",
        ),
    ],
    days: Annotated[float, typer.Option(help="For how many days, from now on.")] = DAYS,
    depth: Annotated[
        int | None,
        typer.Option(help="With issue: how many certificates may follow; 1 to 3, default: 1."),
    ] = None,
    events_a_second: EventsASecond = 0,
    bytes_a_second: BytesASecond = 0,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The certificate of the key that signs, unless it is a root's."
        ),
    ] = None,
    output: options.WholeOutput = None,
    clock_is_right: options.ClockIsRight = False,
    json: options.Json = False,
) -> None:
    """Make a certificate: the owner of a key may do something in a topic and below it.

    Whoever trusts the signing key, or the root above it, lets the owner do that until the time is
    over or the certificate is revoked. With a rate, its process publishes no more than that, and
    the others drop what is beyond. It is noted in the file .issued beside the signing key. A
    certificate is public, and is useless without the owner's secret key.
    """
    from camcast.live.profiles.certificate_file import certificate_text, read_chain
    from camcast.live.profiles.issuer_register import opened
    from camcast.live.profiles.key_file import read_public_key, read_secret_key
    from camcast.security.certificates import (
        CERTIFICATE,
        SERIAL_BYTES,
        Certificate,
        Rate,
        RatedCertificate,
        Rights,
    )
    from camcast.security.chains import verify_chain
    from camcast.security.keys import PublicKey
    from camcast.security.refusals import RefusedError

    with clear_failures():
        secret, subject = read_secret_key(key_file), read_public_key(subject_file)
        try:
            rights = Rights.parse(name.strip() for name in may.split(","))
        except ValueError as error:
            raise OptionError(f"--may: {error}") from None
        if depth is not None and Rights.ISSUE not in rights:
            raise OptionError("--depth goes with --may issue")
        if (events_a_second or bytes_a_second) and not rights & (Rights.PUBLISH | Rights.ISSUE):
            raise OptionError("--events-a-second and --bytes-a-second go with --may publish")
        now = time.time()
        above = read_chain(certificate) if certificate else []
        try:
            plain = Certificate(
                secret.public.raw,
                subject.raw,
                Topic.parse(topic).name,
                int(rights),
                int(now),
                end_of(int(now), days, _DAY_SECONDS, "--days"),
                os.urandom(SERIAL_BYTES),
                (1 if depth is None else depth) if Rights.ISSUE in rights else 0,
            )
            granted = RatedCertificate.of(plain, Rate(events_a_second, bytes_a_second))
            chain = [*above, CERTIFICATE.sign(granted, secret)]
            root = CERTIFICATE.read(chain[0]).issuer
            verify_chain(chain, [PublicKey(root)])
        except (RefusedError, ValueError) as error:
            raise OptionError(f"this certificate would not be valid: {error}") from None
        with opened(key_file, secret, now, clock_is_right=clock_is_right) as register:
            register.add(chain[-1], now)
        text = certificate_text(chain)
        if output is not None:
            write_output(output, text)
        if json:
            certified = Certified(
                serial=granted.serial.hex(),
                issuer=secret.public.text,
                subject=subject.text,
                topic=granted.prefix,
                may=list(rights.names),
                not_before=granted.not_before,
                not_after=granted.not_after,
                depth=granted.depth,
                events_a_second=events_a_second,
                bytes_a_second=bytes_a_second,
                certificates=chain,
            )
            print_json(certified, "certify/1")
        elif output is None:
            print_line(text.rstrip("\n"))
