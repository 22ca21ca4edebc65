"""Signed certificates, from the shell and by the tools of others."""

import json
import shutil
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives import serialization as keys
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import furthest as ft
from furthest.cli import main
from furthest.errors import FileError, InputError, StudyError, VerificationError
from furthest.study import archive, documents, signature
from study.problems import TWO, TWO_MU, Lab, run
from study.test_forgery import edits, plain


@pytest.fixture
def key(tmp_path):
    signature.new_key(tmp_path / "lab")
    return tmp_path / "lab"


@pytest.fixture
def study(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    run(study, Lab(TWO, TWO_MU))
    return study


def public(key):
    return key.with_name(f"{key.name}.pub")


@pytest.fixture
def exported(study, key, tmp_path):
    """A signed archive in a file."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(archive.signed(plain(documents.exported(study)), key)))
    return path


def test_a_certificate_is_signed_and_checked(exported, key, tmp_path):
    signer = archive.signer(exported, public(key))
    assert signer == signature.read_public_key(public(key)) == signature.read_public_key(key)
    assert archive.signer(exported, None) == signer
    assert archive.verify_file(exported).state == "stopped"
    signature.new_key(tmp_path / "other")
    with pytest.raises(VerificationError, match=r"not signed with the key of .*other\.pub"):
        archive.signer(exported, tmp_path / "other.pub")


def test_every_edit_of_certificate_and_signature_is_noticed(exported):
    whole = json.loads(exported.read_text())
    count = 0
    for entry in ("certificate", "signature"):
        for where, changed in edits(whole[entry]):
            exported.write_text(json.dumps(whole | {entry: changed}))
            with pytest.raises((VerificationError, FileError)):
                archive.signer(exported, None)
                pytest.fail(f"{where} was changed and verified")
            count += 1
    assert count > 200
    without = {name: value for name, value in whole.items() if name != "signature"}
    exported.write_text(json.dumps(without))
    assert archive.signer(exported, None) is None


def test_an_unsigned_certificate_does_not_pass_for_a_signed_one(study, key, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(documents.exported(study)))
    with pytest.raises(VerificationError, match="the certificate is not signed"):
        archive.signer(path, public(key))


def test_what_has_not_stopped_cannot_be_signed(sqlite_url, key):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    with pytest.raises(StudyError, match="'a' has not stopped: there is nothing to sign"):
        archive.signed(documents.exported(study), key)


def test_keys_of_openssh_are_welcome(exported, tmp_path):
    """As ssh-keygen −t ed25519 writes them."""
    own = Ed25519PrivateKey.generate()
    private, shown = tmp_path / "id_ed25519", tmp_path / "id_ed25519.pub"
    private.write_bytes(
        own.private_bytes(keys.Encoding.PEM, keys.PrivateFormat.OpenSSH, keys.NoEncryption())
    )
    shown.write_bytes(
        own.public_key().public_bytes(keys.Encoding.OpenSSH, keys.PublicFormat.OpenSSH)
        + b" me@lab\n"
    )
    document = archive.signed(json.loads(exported.read_text()), private)
    exported.write_text(json.dumps(document))
    assert archive.signer(exported, shown) == own.public_key().public_bytes_raw().hex()


def test_other_files_are_no_keys(exported, key, tmp_path):
    certificate, path = json.loads(exported.read_text())["certificate"], tmp_path / "key"
    wrong = ec.generate_private_key(ec.SECP256R1())
    form = keys.Encoding.PEM, keys.PrivateFormat.PKCS8
    secret = Ed25519PrivateKey.generate()
    for content, message in (
        (b"hello", "no key, or none in a format of OpenSSL or OpenSSH"),
        (b"", "no key"),
        (wrong.private_bytes(*form, keys.NoEncryption()), "not a private Ed25519 key"),
        (secret.private_bytes(*form, keys.BestAvailableEncryption(b"x")), "by a password"),
        (public(key).read_bytes(), "no key"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            signature.signed(certificate, path)
    path.write_bytes(wrong.private_bytes(*form, keys.NoEncryption()))
    with pytest.raises(InputError, match="not an Ed25519 key"):
        archive.signer(exported, path)
    with pytest.raises(FileError, match="No such file"):
        signature.signed(certificate, tmp_path / "nowhere")


def test_a_new_key_replaces_none(key, tmp_path):
    before = key.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileError, match="there is such a file already"):
        signature.new_key(key)
    (tmp_path / "half.pub").write_text("precious")
    with pytest.raises(FileError, match=r"half\.pub: there is such a file already"):
        signature.new_key(tmp_path / "half")
    assert not (tmp_path / "half").exists()
    assert key.read_bytes() == before
    with pytest.raises(FileError, match="No such file or directory"):
        signature.new_key(tmp_path / "nowhere" / "key")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_comes_to_the_same(exported, key, tmp_path):
    """What is signed, by the words of the documentation and another program."""
    whole = json.loads(exported.read_text())
    text = json.dumps(whole["certificate"], sort_keys=True, separators=(",", ":"))
    (tmp_path / "message").write_text(f"furthest certificate\n{text}", encoding="ascii")
    (tmp_path / "value").write_bytes(bytes.fromhex(whole["signature"]["signature"]))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public(key)), "-rawin"]
    command += ["-in", str(tmp_path / "message"), "-sigfile", str(tmp_path / "value")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Signature Verified Successfully" in done.stdout


def shell(*words, expected=0):
    """The command line, in this process."""
    sys.argv[1:] = list(map(str, words))
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code or 0) == expected


def test_from_the_shell(study, sqlite_url, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["furthest"])
    monkeypatch.setenv("FURTHEST_STORAGE", sqlite_url)
    lab, other, out = tmp_path / "lab", tmp_path / "other", tmp_path / "a.json"
    shell("study", "new-key", lab)
    shell("study", "new-key", other, "--json")
    shell("study", "export", "a", "--out", out, "--sign", lab)
    capsys.readouterr()
    shell("study", "verify", out, "--key", f"{lab}.pub")
    signer = signature.read_public_key(lab)
    assert f"signed by {signer}\n" in capsys.readouterr().out
    shell("study", "verify", out)
    assert f"signed by {signer}: whose key that is, --key can tell" in capsys.readouterr().out
    shell("study", "verify", "a", "--certificate", out, "--key", f"{lab}.pub", "--json")
    assert json.loads(capsys.readouterr().out)["signed_by"] == signer
    shell("study", "verify", out, "--key", f"{other}.pub", expected=1)
    assert "not signed with the key of" in capsys.readouterr().err
    shell("study", "verify", "a", "--key", f"{lab}.pub", expected=2)
    assert "--key goes with --certificate FILE" in capsys.readouterr().err
    shell("study", "export", "a", "--sign", lab, expected=2)
    assert "--sign goes with JSON alone" in capsys.readouterr().err
