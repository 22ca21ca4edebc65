"""Signed certificates: who holds a key vouches for what a certificate says. Needs `sign`.

Ed25519. What is signed is the certificate as JSON without spaces, with sorted keys, all ASCII,
after the line `furthest certificate`; any tool can check it. By its `log_digest` the certificate
vouches for the log, too. Keys are files as OpenSSL or OpenSSH write them, or `new_key`.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from furthest.errors import FileError, InputError, MissingExtraError, VerificationError

try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as keys
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
except ImportError:
    raise MissingExtraError("cryptography", "sign") from None

ALGORITHM = "Ed25519"


def new_key(path: Path) -> Path:
    """Write a private key to `path`, for its owner's eyes, and the public one to `path`.pub."""
    if not path.name:
        raise FileError(f"{str(path)!r} is no name for a file")
    key, public = Ed25519PrivateKey.generate(), path.with_name(f"{path.name}.pub")
    private = key.private_bytes(keys.Encoding.PEM, keys.PrivateFormat.PKCS8, keys.NoEncryption())
    shown = key.public_key().public_bytes(keys.Encoding.PEM, keys.PublicFormat.SubjectPublicKeyInfo)
    for place in (path, public):
        if place.exists():
            raise FileError(f"{place}: there is such a file already")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        path.write_bytes(private)
        public.write_bytes(shown)
    except OSError as error:
        raise FileError(f"{error.filename or path}: {error.strerror}") from None
    return public


def signed(certificate: Mapping[str, Any], private_key: Path) -> dict[str, str]:
    """The signature of a certificate, as plain data."""
    key = _load(private_key, keys.load_pem_private_key, keys.load_ssh_private_key)
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{private_key}: not a private Ed25519 key")
    return {
        "algorithm": ALGORITHM,
        "public_key": key.public_key().public_bytes_raw().hex(),
        "signature": key.sign(_message(certificate)).hex(),
    }


def check(certificate: Mapping[str, Any], signature: Any, public_key: Path | None = None) -> str:
    """Who signed the certificate: the public key, in hexadecimal digits; that of a file, if given.

    Without a file this says only that nobody without that key has changed anything since.
    """
    try:
        algorithm, signer, value = (
            signature[name] for name in ("algorithm", "public_key", "signature")
        )
        fits = algorithm == ALGORITHM and len(signature) == 3
        key, text = Ed25519PublicKey.from_public_bytes(_bytes(signer)), _bytes(value)
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise VerificationError("the signature is none that furthest has made")
    if public_key is not None and read_public_key(public_key) != signer:
        raise VerificationError(f"the certificate was not signed with the key of {public_key}")
    try:
        key.verify(text, _message(certificate))
    except InvalidSignature:
        raise VerificationError(
            "the signature does not fit the certificate: one of them was changed"
        ) from None
    return str(signer)


def read_public_key(path: Path) -> str:
    """The public key of a file, which may also hold the private one, in hexadecimal digits."""
    key = _load(
        path,
        keys.load_pem_public_key,
        keys.load_ssh_public_key,
        keys.load_pem_private_key,
        keys.load_ssh_private_key,
    )
    if isinstance(key, Ed25519PrivateKey):
        key = key.public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path}: not an Ed25519 key")
    return key.public_bytes_raw().hex()


def _message(certificate: Mapping[str, Any]) -> bytes:
    text = json.dumps(certificate, sort_keys=True, separators=(",", ":"))
    return f"furthest certificate\n{text}".encode()


def _bytes(digits: str) -> bytes:
    """From hexadecimal digits, in the one way in which we write them."""
    value = bytes.fromhex(digits)
    if value.hex() != digits:
        raise ValueError(digits)
    return value


def _load(path: Path, *formats: Any) -> Any:
    """The key in a file, in the first format that fits."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    for read in formats:
        secret = {"password": None} if "private" in read.__name__ else {}
        try:
            return read(text, **secret)
        except TypeError:
            raise InputError(
                f"{path}: the key is protected by a password: give one without"
            ) from None
        except (ValueError, UnsupportedAlgorithm):
            continue
    raise InputError(f"{path}: no key, or none in a format of OpenSSL or OpenSSH")
