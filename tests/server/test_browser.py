"""The dashboard in a real browser: Debian's Chromium, or any other that is installed."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import furthest as ft

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from services import Service, serving  # noqa: E402

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}

# A machine may be slow; no test waits for as long as that unless it fails.
PATIENCE = 300_000

RULES = json.dumps({"resultTypes": ["violations"]})


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        found = driver.chromium.launch(executable_path=BROWSER, args=arguments)
        yield found
        found.close()


@pytest.fixture(scope="module")
def storage(tmp_path_factory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('pages') / 'studies.db'}"


@pytest.fixture(scope="module")
def service(storage: str) -> Iterator[Service]:
    with serving(storage) as found:
        yield found


Opened = Callable[..., Any]


@pytest.fixture
def opened(browser, service) -> Iterator[Opened]:
    """Open a page; whatever it complains about fails the test."""
    with _windows(browser, service.url) as windows:
        yield windows


@contextmanager
def _windows(browser: Any, url: str) -> Iterator[Opened]:
    contexts, complaints = [], []

    def heard(said: Any) -> None:
        if said.type in ("error", "warning"):
            complaints.append(said.text)

    def window(path: str = "/", viewport: Any = None, **options: Any) -> Any:
        context = browser.new_context(viewport=viewport or DESK, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", heard)
        page.goto(f"{url}{path}")
        return page

    yield window
    for context in contexts:
        context.close()
    assert not complaints


def whole(page: Any) -> Any:
    """The page once every piece of it is there."""
    page.locator("[aria-busy]").first.wait_for(state="detached")
    return page


def accessible(page: Any) -> None:
    """Axe finds nothing, on a page that somebody has a name for."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text())
    found = page.evaluate(f"axe.run(document, {RULES})")["violations"]
    told = [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]
    assert not told, (page.url, told)


def place(name: str) -> str:
    return f"/studies/{quote(name, '')}"


def expect(locator: Any) -> Any:
    return playwright.expect(locator)


playwright.expect.set_options(timeout=PATIENCE)

VALUES = {"oak": 0.9, "ash": 0.2, "elm": 0.1}


def test_a_study_from_a_csv_to_its_certificate(opened, service, storage, tmp_path):
    (tmp_path / "woods.csv").write_text("wood,density\noak,0.7\nash,0.65\nelm,0.55\n")
    page = opened("/")
    expect(page.get_by_role("heading", name="There is no study yet")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Or take them from a file").set_input_files(tmp_path / "woods.csv")
    expect(page.locator("#columns")).to_contain_text("density")
    page.get_by_label("An answer may be worse than the best by").fill("0.2")
    page.get_by_label("numbers that scatter by a known amount").check()
    page.get_by_label("Repeated results differ by about").fill("0.1")
    page.get_by_label("The options probably differ by about").fill("0.3")
    expect(page.locator("#summary .question")).to_contain_text(
        "Which of 3 options has the highest value? One that is at most 0.2 below the best"
    )
    expect(page.locator("#plan .plan")).to_contain_text("measurements")
    accessible(page)
    assert service.get("/api/v1/studies").data == {"studies": []}  # nothing is kept before
    page.get_by_role("button", name="Start the study").click()
    expect(page.get_by_role("heading", name="woods", exact=True)).to_be_visible()
    expect(page.locator("#verdict")).to_contain_text("No guarantee yet")

    rounds = 0
    while "No guarantee yet" in page.locator("#verdict").inner_text():
        rounds += 1
        assert rounds < 40
        page.get_by_role("button", name="Ask", exact=True).click()
        trial = page.locator(".trials li").first
        trial.or_(page.locator(".claim[data-state=stopped]")).wait_for()
        if not trial.count():
            break
        name = trial.locator("strong").inner_text()
        trial.get_by_label(f"Result of {name}", exact=True).fill(
            str(VALUES[name] + 0.01 * rounds % 0.05)
        )
        trial.get_by_role("button", name=f"Tell the result of {name}").click()
        expect(page.locator("#trials")).to_contain_text("Nothing is being measured now")
        expect(page.locator(".facts dd").first).to_have_text(str(rounds))
    study = ft.Study.load("woods", storage)
    proof = study.certificate()
    assert proof.answer_name == "oak"
    expect(page.locator(".claim .answer")).to_have_text("oak")
    expect(page.locator(".claim .worth")).to_have_text(proof.standing)
    expect(page.locator(".claim [data-say]")).to_contain_text(proof.guarantee[1:])
    accessible(whole(page))

    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Page to print").click()
    printed = opening.value
    expect(printed.locator("body")).to_contain_text(proof.guarantee[1:])
    expect(printed.locator("body")).to_contain_text(proof.log_digest)
    assert printed.pdf().startswith(b"%PDF")


BACKGROUND = """() => {
  Object.defineProperty(document, "hidden", { get: () => %s, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_changes_by_itself_and_keeps_what_is_typed(opened, storage):
    problem = ft.Problem.options(["left", "right"], eps=0.1, sigma=0.5)
    study = ft.Study.create("watched / twice", problem, 0.05, storage)
    mine, theirs = study.ask(n=2, worker="me")
    page, listed = whole(opened(place("watched / twice"))), whole(opened("/"))
    page.get_by_label(f"Result of {mine.name}", exact=True).fill("0.7")
    page.get_by_label(f"Result of {mine.name}", exact=True).focus()
    script = (
        "import sys, furthest as ft; url, trial = sys.argv[1:];"
        "ft.Study.load('watched / twice', url).tell(trial, 0.25)"
    )
    subprocess.run([sys.executable, "-c", script, storage, theirs.id], check=True)
    expect(page.locator(".facts dd").first).to_have_text("1")
    expect(page.locator(f"#trial-{theirs.id}")).to_have_count(0)
    expect(page.locator("#log")).to_contain_text("0.25")
    expect(page.get_by_label(f"Result of {mine.name}", exact=True)).to_have_value("0.7")
    expect(page.get_by_label(f"Result of {mine.name}", exact=True)).to_be_focused()
    row = listed.get_by_role("row").filter(has_text="watched / twice")
    expect(row.locator("[data-label=Measured]")).to_have_text("1")

    page.evaluate(BACKGROUND % "true")  # where it gives its connection back
    page.evaluate(BACKGROUND % "false")
    study.tell(mine, 0.5)  # before I could
    expect(page.locator("#notices")).to_contain_text("You had typed: 0.7")


def test_what_is_refused_is_said_at_the_form(opened, storage):
    problem = ft.Problem.options(["left", "right"], eps=0.1, noise="bernoulli")
    study = ft.Study.create("clicks", problem, 0.05, storage, budget=3)
    trial = study.ask()
    page = whole(opened(place("clicks")))
    line = page.locator(f"#trial-{trial.id}")
    line.get_by_text("Several at once").click()
    line.get_by_label("yes of n").fill("12")
    line.get_by_label("how many").fill("10")
    line.get_by_role("button", name="Tell several").click()
    expect(line.get_by_role("alert")).to_contain_text("12")
    expect(line.get_by_label("yes of n")).to_have_value("12")
    line.get_by_label("yes of n").fill("1")
    line.get_by_label("how many").fill("3")
    line.get_by_role("button", name="Tell several").click()
    expect(page.locator("#verdict")).to_contain_text("No answer within the budget")
    accessible(whole(page))
    page.get_by_label("Allow more measurements").fill("2")
    page.get_by_role("button", name="Extend").click()
    expect(page.get_by_role("alert")).to_contain_text("can only become more")
    page.get_by_label("Allow more measurements").fill("20")
    page.get_by_role("button", name="Extend").click()
    expect(page.locator("#verdict")).to_contain_text("No guarantee yet")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name="was a yes").click()
    expect(page.locator(".facts dd").first).to_contain_text("4")
    page.get_by_text("Add a result that nobody asked for").click()
    page.get_by_label("What was measured").fill("lift")
    page.get_by_label("Result", exact=True).fill("1")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'left'?")
    page.get_by_label("What was measured").fill("left")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".facts dd").first).to_contain_text("5")
    assert [each.asked for each in ft.Study.load("clicks", storage).history()] == [
        True,
        True,
        False,
    ]


def test_a_question_without_sense_is_explained_at_its_field(opened):
    page = opened("/new")
    page.get_by_label("Options you can measure").fill("option,dose,twice\nA,1,2\nB,2,4\nC,3,6")
    page.get_by_label("The columns describe the options").check()
    page.get_by_label("An answer may be worse than the best by").fill("-1")
    page.get_by_label("yes or no").check()
    expect(page.locator("#error-eps")).to_contain_text("ε")
    page.get_by_label("An answer may be worse than the best by").fill("0")
    page.get_by_label("Allowed chance of a wrong answer").fill("100")
    expect(page.locator("#error-delta")).to_contain_text("δ")
    page.get_by_label("Allowed chance of a wrong answer").fill("5")
    page.get_by_label("Options you can measure").fill("option,dose\nA,1\nB,1")
    page.get_by_label("The columns describe the options").check()
    expect(page.locator("#error-eps")).not_to_be_empty()  # equal answers, and ε = 0
    expect(page.get_by_role("button", name="Start the study")).to_be_disabled()
    accessible(page)


def many_kinds(storage: str) -> list[str]:
    """Studies of every look: two features, factors, stopped, refuted."""
    rng = np.random.default_rng(4)
    turns = np.linspace(0, np.pi / 2, 7)
    plane = np.column_stack([np.cos(turns), np.sin(turns)])
    questions = {
        "plane": ft.Problem(plane, eps=0.05, sigma=0.3, feature_names=["sweet", "sour"]),
        "factors": ft.Problem.factorial(
            {"colour": ["red", "blue"], "size": ["S", "M", "L"]}, eps=0.1, sigma=0.4
        ),
        "stopped": ft.Problem.options(["A", "B"], eps=0.3, sigma=0.1),
        "paid": ft.Problem.options(["A", "B"], eps=0.01, sigma=None, costs=[1, 5]),
    }
    for name, problem in questions.items():
        study = ft.Study.create(name, problem, 0.05, storage)
        values = problem.arms @ rng.standard_normal(problem.arms.shape[1])
        for arm in [*range(len(problem.arms))] * 2:
            study.add(arm, float(values[arm] + 0.1 * rng.standard_normal()))
    return list(questions)


def test_every_page_is_accessible_in_both_schemes_and_on_a_phone(browser, tmp_path):
    storage = f"sqlite:///{tmp_path / 'kinds.db'}"
    names = many_kinds(storage)
    with serving(storage) as service, _windows(browser, service.url) as windows:
        paths = ["/", "/new", *map(place, names), f"{place(names[0])}/certificate"]
        for scheme, size in (("light", PHONE), ("dark", DESK)):
            page = windows("/", size, color_scheme=scheme)
            for path in paths:
                page.goto(f"{service.url}{path}")
                accessible(whole(page))
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= size["width"], (path, wide)
        page = windows(place("plane"))
        expect(
            page.get_by_role("img", name="The confidence set and the answers in the plane")
        ).to_be_visible()


def test_keyboard_alone(opened, storage):
    study = ft.Study.create(
        "keys", ft.Problem.options(["left", "right"], eps=0.1, sigma=0.5), 0.05, storage
    )
    page = whole(opened(place("keys")))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_label("Ask what to measure next").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".trials li")).to_have_count(1)
    expect(page.locator("#said")).to_contain_text("Measure left")
    [trial] = study.pending()
    page.get_by_label("Result of left", exact=True).focus()
    page.keyboard.type("0,5")
    page.keyboard.press("Enter")
    expect(page.locator(".trials li")).to_have_count(0)
    [result] = study.history()
    assert (result.id, result.value) == (trial.id, 0.5)


def test_who_may_only_read_sees_no_forms(browser, tmp_path):
    storage = f"sqlite:///{tmp_path / 'read.db'}"
    study = ft.Study.create("seen", ft.Problem.options(["A", "B"], eps=0.1), 0.05, storage)
    study.ask()
    tokens = Path(tmp_path, "tokens")
    tokens.write_text("read a-token-to-read-with\nwrite a-token-to-write-with\n")
    with (
        serving(storage, token_file=str(tokens)) as service,
        _windows(browser, service.url) as windows,
    ):
        page = windows(place("seen"))
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        accessible(page)
        page.get_by_label("Token").fill("a-token-to-read-with")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="seen").click()
        expect(page.locator(".trials li")).to_have_count(1)
        expect(page.get_by_text("read only")).to_be_visible()
        assert page.locator("main form, main input").count() == 0
        study.ask()
        expect(page.locator(".trials li")).to_have_count(2)  # it may watch all the same
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").fill("a-token-to-write-with")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="seen").click()
        expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def test_behind_a_proxy_with_a_prefix(browser, tmp_path):
    storage = f"sqlite:///{tmp_path / 'prefix.db'}"
    ft.Study.create("a/b", ft.Problem.options(["A", "B"], eps=0.1), 0.05, storage)
    with serving(storage, prefix="/lab") as service, _windows(browser, service.url) as windows:
        page = windows("/")
        page.get_by_role("link", name="a/b").click()
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator(".trials li")).to_have_count(1)
        assert page.url == f"{service.url}/studies/a%2Fb"


SAME_AGAIN = """
fetch("/new/check", {method: "POST", body: new FormData(document.querySelector("#new"))})
    .then((answer) => answer.text())
"""


def test_a_button_that_is_pressed_slowly_is_still_there_when_it_is_let_go(opened):
    """Whoever comes from a field leaves it when the button goes down."""
    page = opened("/new")
    page.get_by_label("Options you can measure").fill("slow\nquick")
    page.get_by_label("An answer may be worse than the best by").fill("0.2")
    page.get_by_label("numbers that scatter by a known amount").check()
    page.get_by_label("Repeated results differ by about").fill("0.1")
    page.get_by_label("Name", exact=True).fill("pressed slowly")
    page.get_by_label("The options probably differ by about").fill("0.3")
    expect(page.locator("#plan .plan")).to_contain_text("measurements")
    page.get_by_role("button", name="Start the study").hover()
    page.mouse.down()
    assert "Start the study" in page.evaluate(SAME_AGAIN)  # as long as a look at the form takes
    page.mouse.up()
    expect(page.get_by_role("heading", name="pressed slowly", exact=True)).to_be_visible()
