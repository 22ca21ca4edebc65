"""A release is tagged only where everything agrees, and then with its section of the changelog."""

import subprocess
from pathlib import Path

import pytest

from furthest import __version__

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "release.py"

FILES = {
    "src/furthest/__init__.py": '"""A package."""\n\n__version__ = "1.2.3"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\ndate-released: 2026-11-15\n",
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-11-15)\n\n### New\n\n- This.\n\n"
    "## 1.2.2 (2026-01-01)\n\n- That.\n",
}


@pytest.fixture
def git(tmp_path):
    """Git in a repository of its own, with a project that may be released."""

    def run(*arguments):
        settings = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
        command = ["git", "-C", tmp_path, *settings, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    run("init", "--quiet")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    run("add", ".")
    run("commit", "--quiet", "--message", "All of it")
    return run


@pytest.fixture
def release(python, tmp_path, git):
    """The script; git has nobody's name but what the test gives it."""
    person = {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    return lambda *flags: python(SCRIPT, "--root", tmp_path, *flags, **person)


def test_nothing_is_tagged_unless_asked_for(release, git):
    process = release()
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(
        f"v1.2.3 at {git('rev-parse', '--short', 'HEAD').strip()} (not"
    )
    assert git("tag") == ""


def test_the_tag_says_what_has_changed(release, git):
    process = release("--tag")
    assert (process.returncode, process.stderr) == (0, "")
    assert git("cat-file", "-t", "v1.2.3") == "tag\n"
    assert git("rev-parse", "v1.2.3^{commit}") == git("rev-parse", "HEAD")
    said = git("tag", "--list", "--format=%(contents)", "v1.2.3").strip()
    assert said == "furthest 1.2.3\n\n### New\n\n- This."
    again = release("--tag")
    assert (again.returncode, again.stderr) == (1, "there is a tag v1.2.3 already\n")


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("src/furthest/__init__.py", "1.2.3", "1.2.4", "CHANGELOG.md begins with '1.2.3'"),
        ("src/furthest/__init__.py", "1.2.3", "1.2.4", "CITATION.cff has version '1.2.3'"),
        ("src/furthest/__init__.py", "1.2.3", "1.2.3.dev0", "not three numbers"),
        ("src/furthest/__init__.py", "__version__", "version", "version is ''"),
        ("CITATION.cff", "version: 1.2.3", "version: 1.2.2", "CITATION.cff has version '1.2.2'"),
        ("CITATION.cff", "2026-11-15", "2026-11-14", "released on '2026-11-14'"),
        ("CHANGELOG.md", "2026-11-15", "unreleased", "says 'unreleased' where the day"),
        ("CHANGELOG.md", "### New\n\n- This.", "", "nothing to say about 1.2.3"),
        ("CHANGELOG.md", "## ", "# ", "begins with ''"),
    ],
)
def test_what_does_not_agree_is_named(release, git, tmp_path, file, before, after, words):
    path = tmp_path / file
    path.write_text(path.read_text().replace(before, after))
    git("commit", "--quiet", "--all", "--message", "Something else")
    process = release("--tag")
    assert process.returncode == 1
    assert words in process.stderr
    assert git("tag") == ""


def test_what_is_not_committed_is_named(release, git, tmp_path):
    (tmp_path / "notes.txt").write_text("to do")
    process = release("--tag")
    assert process.returncode == 1
    assert process.stderr == "the work tree is not clean:\n?? notes.txt\n"
    assert git("tag") == ""


def test_outside_of_a_repository_git_says_so(python, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    process = python(SCRIPT, "--root", tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert process.returncode == 1
    assert "not a git repository" in process.stderr
    assert "Traceback" not in process.stderr


def test_this_project_is_read(python):
    """Whatever is missing at the moment, it is not the version."""
    process = python(SCRIPT)
    assert "the package is" not in process.stderr
    assert "not three numbers" not in process.stderr
    assert process.returncode == 1 or process.stdout.startswith(f"v{__version__} at ")
