"""
The files a login needs, looked at before the library does.

It would take a credentials file without a token for one that never ends, and raises whatever the
key library raises.
"""

import ssl
from pathlib import Path

import anyio

from parley.bus.errors import BadInput
from parley.bus.extras import extra

TOKEN = "BEGIN NATS USER JWT"  # noqa: S105 - the marker, not the token
SEED = "BEGIN USER NKEY SEED"


async def check_credentials(file: Path) -> None:
    lines = (await _text(file)).splitlines()
    token = [line for line in lines if TOKEN in line]
    seed = [number for number, line in enumerate(lines[:-1], 1) if SEED in line]
    if not token or not seed:
        raise BadInput(f"{file} is not a credentials file")
    _check_key(lines[seed[0]], file)


async def check_seed(file: Path) -> None:
    _check_key((await _text(file)).strip(), file)


async def tls_context(
    ca: Path | None, certificate: Path | None, key: Path | None
) -> ssl.SSLContext | None:
    for file in (ca, certificate, key):
        if file is not None:
            await _text(file)
    if ca is None and certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        files = ", ".join(str(file) for file in (ca, certificate, key) if file is not None)
        raise BadInput(f"unusable for TLS: {files} ({error})") from error
    return context


async def _text(file: Path) -> str:
    try:
        return await anyio.Path(file).read_text()
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not a text file") from error


def _check_key(seed: str, file: Path) -> None:
    with extra("nkeys", "logging in by key"):
        import nkeys  # type: ignore[import-untyped] # noqa: PLC0415
    try:
        nkeys.from_seed(bytearray(seed.encode())).wipe()
    except (nkeys.NkeysError, ValueError) as error:
        raise BadInput(f"{file} holds no usable nkey seed") from error
