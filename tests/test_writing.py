"""A file is there whole or not at all."""

import pytest

from furthest.display import one_line, passwords, without_password
from furthest.writing import write_beside, write_text


def test_what_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def half(draft):
        draft.write_text("ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_beside(path, half)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_draft_has_the_ending_of_the_file(tmp_path):
    endings = []

    def write(draft):
        endings.append(draft.suffix)
        draft.touch()

    write_beside(tmp_path / "b.png", write)
    assert endings == [".png"]
    assert [path.name for path in tmp_path.iterdir()] == ["b.png"]


def test_texts_of_others_begin_no_line():
    assert one_line("a\nt-9\t1\x1b[31m") == r"a\nt-9\t1\x1b[31m"
    assert one_line("λ, 中文 and [/b]") == "λ, 中文 and [/b]"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:p%40ss:word@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://me:sec/r@et@host/db", "postgresql://me:***@host/db"),
        (
            "postgresql:///db?user=me&password=secret&port=1",
            "postgresql:///db?user=me&password=***&port=1",
        ),
        ("postgresql://me:sec@h/db?sslpassword=ret", "postgresql://me:***@h/db?sslpassword=***"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
    ],
)
def test_passwords_are_not_shown(url, shown):
    assert without_password(url) == shown
    assert all(secret not in shown for secret in passwords(url))
    assert bool(passwords(url)) == ("***" in shown)


def test_a_password_is_known_as_it_is_written_and_as_it_is_meant():
    assert passwords("postgresql://me:p%40ss@host/db") == ["p%40ss", "p@ss"]
