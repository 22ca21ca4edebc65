"""Nothing in a certificate, an archive or a log can be changed without being noticed."""

import copy
import json

import pytest

import furthest as ft
from furthest.errors import FileError, FurthestError, VerificationError
from furthest.study import archive, documents
from furthest.study.certificate import WORDS, verify
from furthest.study.events import Event
from study.problems import TWO, TWO_MU, Lab, rechained, run


def study_of(url, problem=TWO, **options):
    study = ft.Study.create("a", problem, 0.1, url, **options)
    study.fail(study.ask(), "spilled")
    study.add("A", 2.25, id="old", measured_at=5.0)
    run(study, Lab(problem, TWO_MU), workers=2)
    return study


def plain(document):
    return json.loads(json.dumps(document))


def other(leaf):
    """The same kind of thing, hardly changed."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, str):
        return leaf + " "
    if leaf is None:
        return 0
    if isinstance(leaf, dict | list):
        return type(leaf)()
    return leaf + 1 if isinstance(leaf, int) else leaf * (1 + 1e-6) or 1e-300


def edits(document, where=()):
    """Every document in which one field is changed, missing, or too much."""

    def put(change):
        changed = copy.deepcopy(document)
        change(changed)
        return changed

    if isinstance(document, dict):
        yield (*where, "+"), put(lambda d: d.update(extra=1))
        keys = list(document)
    elif isinstance(document, list):
        yield (*where, "+"), put(lambda d: d.append(d[-1] if d else 1))
        keys = list(range(len(document)))
    else:
        yield where, other(document)
        return
    for key in keys:
        yield (*where, key, "-"), put(lambda d, key=key: d.pop(key))
        for inner, changed in edits(document[key], (*where, key)):
            yield inner, put(lambda d, key=key, changed=changed: d.__setitem__(key, changed))


def test_every_edit_of_a_certificate_is_noticed(sqlite_url):
    study = study_of(sqlite_url)
    log, claimed = study.events(), plain(study.certificate().to_dict())
    verify("a", log, claimed)
    count = 0
    for where, changed in edits(claimed):
        with pytest.raises(VerificationError):
            verify("a", log, changed)
            pytest.fail(f"{where} was changed and verified")
        count += 1
    assert count > 200


@pytest.mark.parametrize("results", [3, 1000], ids=["running", "stopped"])
def test_every_edit_of_an_archive_is_noticed(results, sqlite_url, tmp_path):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.add("A", 2.25, id="old", measured_at=5.0)
    run(study, Lab(TWO, TWO_MU), most=results)
    path = tmp_path / "a.json"
    whole = plain(documents.exported(study))
    path.write_text(json.dumps(whole))
    archive.verify_file(path)
    # The certificate has its own test, and the log is checked event by event below.
    rest = {key: value for key, value in whole.items() if key not in ("certificate", "log")}
    for where, changed in edits(rest):
        kept = {key: whole[key] for key in ("certificate", "log")}
        path.write_text(json.dumps(changed | kept))
        with pytest.raises((VerificationError, FileError)):
            archive.verify_file(path)
            pytest.fail(f"{where} was changed and verified")


@pytest.mark.parametrize("results", [3, 1000], ids=["running", "stopped"])
def test_every_edit_of_a_log_is_noticed(results, sqlite_url, tmp_path):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.add("A", 2.25, id="old", measured_at=5.0)
    run(study, Lab(TWO, TWO_MU), most=results)
    path, whole = tmp_path / "a.json", plain(documents.exported(study))
    for where, changed in edits(whole["log"]):
        for log in (changed, well_done(changed)):
            if log == whole["log"]:
                continue  # the chain alone was changed, and made again
            path.write_text(json.dumps(whole | {"log": log}))
            with pytest.raises(FurthestError):
                archive.verify_file(path)
                pytest.fail(f"{where} was changed and verified")


def well_done(log):
    """The same forgery by somebody who knows how the chain is made."""
    try:
        return plain(rechained([Event(*row) for row in log]))
    except TypeError:
        return log


def test_an_archive_of_another_version_has_its_facts(sqlite_url, tmp_path):
    study, path = study_of(sqlite_url), tmp_path / "a.json"
    older = plain(documents.exported(study))
    older["certificate"] |= {"version": "0.0.1", "guarantee": "for sure"}
    path.write_text(json.dumps(older))
    with pytest.raises(VerificationError, match="--facts"):
        archive.verify_file(path)
    assert archive.verify_file(path, words=False).certificate is not None
    older["certificate"]["answer"] += 1
    path.write_text(json.dumps(older))
    with pytest.raises(VerificationError, match="answer"):
        archive.verify_file(path, words=False)


def test_another_version_is_no_excuse(sqlite_url):
    study = study_of(sqlite_url)
    claimed = plain(study.certificate().to_dict()) | {"version": "0.0.1", "guarantee": "for sure"}
    with pytest.raises(VerificationError, match=r"of furthest 0\.0\.1, whose words"):
        verify("a", study.events(), claimed)


def test_the_facts_of_an_older_certificate_can_be_compared(sqlite_url):
    study = study_of(sqlite_url)
    log, claimed = study.events(), plain(study.certificate().to_dict())
    later = ("conditions", "standing", "added", "order")
    older = {key: value for key, value in claimed.items() if key not in later}
    older |= {"version": "0.0.1", "guarantee": "surely"}
    assert verify("a", log, older, words=False).certificate is not None
    for key in older.keys() - WORDS:
        with pytest.raises(VerificationError, match=key):
            verify("a", log, older | {key: other(older[key])}, words=False)
    with pytest.raises(VerificationError, match="which none has"):
        verify("a", log, older | {"extra": 1}, words=False)


def test_small_numbers_are_compared_as_such(sqlite_url):
    study = ft.Study.create("a", TWO, 1e-10, sqlite_url)
    run(study, Lab(TWO, TWO_MU))
    claimed = plain(study.certificate().to_dict())
    with pytest.raises(VerificationError, match="delta"):
        verify("a", study.events(), claimed | {"delta": 1e-300})


@pytest.mark.parametrize("text", ["{}", '{"certificate": null}', '{"certificate": 3}'])
def test_a_file_without_a_certificate_has_none(text, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(FileError, match="there is no certificate in it"):
        archive.claimed_certificate(path)


def test_a_log_is_held_to_what_a_user_is(sqlite_url):
    bounded = ft.Problem(TWO.arms, eps=0.5, bounds=(-5, 5), arm_names=["A", "B"])
    study = ft.Study.create("a", bounded, 0.1, sqlite_url)
    study.tell(study.ask(), 1.0)
    created, asked, told = study.events()

    def settings(**changes):
        return created._replace(data=json.dumps(json.loads(created.data) | changes))

    def check(name, *events):
        return verify(name, rechained(events))

    check("a", created, asked, told)
    for value in (50.0, True, "1", float("inf")):
        with pytest.raises(VerificationError, match="does not follow"):
            check("a", created, asked, told._replace(value=value))
    for arm in (10**9, -1, 0.0, None):
        with pytest.raises(VerificationError, match="does not follow"):
            check("a", created, asked._replace(arm=arm))
    odd = ({"delta": 2}, {"delta": "x"}, {"delta": 10**400}, {"lease": -1}, {"seed": -1})
    for changes in (*odd, {"seed": float("inf")}, {"order": "up"}, {"tag": "\x1b"}):
        with pytest.raises(VerificationError, match="cannot be read, or is none"):
            check("a", settings(**changes), asked, told)
    for strategy in (3, "lebai", ["sampling"], {"sampling": 3}, {"threshold": "", "stopping": 3}):
        with pytest.raises(VerificationError, match="strategy of the log cannot be used"):
            check("a", settings(strategy=strategy), asked, told)
    words = json.loads(created.data)["strategy"]
    for options in (3, {"weights": {"A": 1}}, [["weights", 1]]):
        with pytest.raises(FurthestError):
            check("a", settings(strategy=words | {"sampling": "fixed", "options": options}), asked)
    with pytest.raises(VerificationError, match="cannot be read"):
        check("a", created._replace(data="[]"), asked)
    with pytest.raises(VerificationError, match="that of 'a', not of 'b'"):
        check("b", created, asked, told)


def test_a_damaged_database_is_noticed_before_it_is_used(sqlite_url):
    """Every way into a study checks the log: `load` already does."""
    import sqlite3

    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.tell(study.ask(), 1.0)
    study.close()
    for change in ("arm = 1000000000", "value = 'x'", "trial = 't'", "at = 'now'"):
        with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as database:
            before = database.execute("SELECT * FROM furthest_events").fetchall()
            database.execute(f"UPDATE furthest_events SET {change} WHERE seq = 3")
        database.close()
        with pytest.raises(VerificationError, match="does not follow"):
            ft.Study.load("a", sqlite_url)
        with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as database:
            database.execute("DELETE FROM furthest_events")
            database.executemany(
                f"INSERT INTO furthest_events VALUES ({', '.join('?' * 10)})", before
            )
        database.close()
    assert isinstance(ft.Study.load("a", sqlite_url).events()[0], Event)
