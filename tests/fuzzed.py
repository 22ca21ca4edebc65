"""Schemathesis against a service with studies of every kind, to which its requests are steered.

Left alone it would name studies and trials that there are not, and ask questions that make no
sense: most answers would be 404 and 422. So most names, trials, results and questions are replaced
by some that make sense, chosen by what was generated; whatever else was generated stays.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.hooks import GLOBAL_HOOK_DISPATCHER

from services import Service

Body = dict[str, Any]

GAUSSIAN = {"options": ["A", "B", "C"], "eps": 1e-6, "sigma": 1.0}
FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]
PROBLEMS: dict[str, Body] = {
    "plain": GAUSSIAN,
    "a/b ünï-編 ?&#%2F": GAUSSIAN,
    "unknown sigma": {"options": ["A", "B"], "eps": 1e-6, "sigma": "unknown"},
    "yes or no": {"options": ["A", "B", "C"], "eps": 1e-6, "noise": "bernoulli"},
    "bounded": {"options": ["A", "B"], "eps": 1e-6, "bounds": [0.0, 10.0]},
    "factors": {"factors": {"heat": ["low", "high"], "acid": ["0", "1", "2"]}, "eps": 1e-6},
    "features": {"arms": FEATURES, "eps": 1e-6, "sigma": [0.5, 1.0, 2.0], "costs": [1.0, 2, 3]},
}
ENDED = {"options": ["A", "B"], "eps": 0.5, "sigma": 0.1}
RESULTS: tuple[Body, ...] = (
    *({"value": value} for value in (0.0, 1.0, 0.5, -3.25)),
    {"successes": 3, "n": 10},
    {"mean": 0.25, "n": 20, "sd": 0.125},
    {"mean": 0.5, "n": 5, "sem": 0.0625},
)

# What has the right types may still make no sense, and then is refused. Who follows a resource
# through its requests does not know that names are replaced.
LEFT_OUT = ("positive_data_acceptance", "ensure_resource_availability", "use_after_free")

# Not too many at once: every one that is pending is thought of at every ask.
MOST = 20


class Found(NamedTuple):
    """What was answered how often, by operation and status; and what was wrong with it."""

    answers: Counter[tuple[str, int | None]]
    failures: dict[str, str]


def filled(service: Service, pending: int) -> "Steering":
    """A study of every kind, some of them at their end; the others have trials that are open."""
    trials = {}
    for name, problem in PROBLEMS.items():
        _created(service, name, problem)
        path = service.study(name)
        numbers = len(service.get(path).data["pulls"])
        first = [{"arm": arm, "value": float(arm % 2)} for arm in [*range(numbers)] * 2]
        assert service.post(f"{path}/results", {"results": first}).status == 200, name
        asked = service.post(f"{path}/ask", {"n": pending}).data["trials"]
        trials[name] = [each["id"] for each in asked]
    _created(service, "spent", GAUSSIAN, budget=4)
    _created(service, "stopped", ENDED)
    for name, last in (("spent", "inconclusive"), ("stopped", "stopped")):
        trials[name], values = [], cycle((0.0, 1.0))
        while (answer := service.post(f"{service.study(name)}/ask")).status == 200:
            trial = answer.data["trials"][0]
            trials[name].append(trial["id"])
            told = {"trial": trial["id"], "value": float(trial["arm"]) + 0.01 * next(values)}
            assert service.post(f"{service.study(name)}/tell", told).status == 200
        assert answer.kind == last
    return Steering(trials)


def _created(service: Service, name: str, problem: Body, **more: Any) -> None:
    answer = service.post("/api/v1/studies", {"name": name, "problem": problem, **more})
    assert answer.status == 201, answer.data


class Steering:
    """Replaces most of what would lead nowhere."""

    def __init__(self, trials: dict[str, list[str]]) -> None:
        self._trials = trials
        self._doomed: list[str] = []  # may be deleted

    @contextmanager
    def hooks(self) -> Iterator[None]:
        """For the requests within the block; they have no place but a global one."""

        def before_call(context: Any, case: Any, kwargs: Any) -> None:
            self._before(case)

        def after_call(context: Any, case: Any, response: Any) -> None:
            self._after(case, response)

        hooks = (before_call, after_call)
        try:
            for hook in hooks:
                schemathesis.hook(hook)
            yield
        finally:
            for hook in hooks:
                GLOBAL_HOOK_DISPATCHER.unregister(hook)

    def _before(self, case: Any) -> None:
        random = Random(repr((case.method, case.path, case.path_parameters, case.body)))
        name = self._name(case, random)
        query = case.query or {}
        if _is_number(query.get("draws")):
            case.query = {"draws": min(query["draws"], MOST)}
        if _is_number(query.get("after")) and case.path.endswith("/events"):
            case.query = {"after": 0}  # else there is nothing to hear
        if isinstance(case.body, dict):
            body = self._body(case.path.rpartition("/")[2], dict(case.body), name, random)
            if body != case.body:
                case.body = body

    def _name(self, case: Any, random: Random) -> str:
        if "name" not in (case.path_parameters or {}) or random.random() < 0.1:
            return ""
        if case.method == "DELETE" and not self._doomed:
            return ""
        name = self._doomed.pop() if case.method == "DELETE" else random.choice([*self._trials])
        case.path_parameters["name"] = quote(name, "")
        return name

    def _body(self, verb: str, body: Body, name: str, random: Random) -> Body:
        if _is_number(body.get("n")) and verb == "ask":
            body["n"] = min(body["n"], MOST)
        if random.random() < 0.2:
            return body
        if verb == "studies" and isinstance(body.get("problem"), dict):
            problem, budget = random.choice([*PROBLEMS.values()]), body.get("budget")
            return {**body, "problem": problem, "budget": budget, "strategy": {}}
        if isinstance(body.get("results"), list):
            of_all = [each for each in body["results"] if isinstance(each, dict)]
            return {"results": [self._result(each, name, random) for each in of_all]}
        if verb in ("tell", "add", "fail"):
            return self._result(body, name, random)
        return body

    def _result(self, body: Body, name: str, random: Random) -> Body:
        if isinstance(body.get("trial"), str) and self._trials.get(name):
            body = body | {"trial": random.choice(self._trials[name])}
        if "arm" in body:
            body = body | {"arm": random.randrange(2)}
        kept = {key: body[key] for key in body.keys() - set().union(*RESULTS)}
        if random.random() < 0.2 or "reason" in body:
            return body
        return kept | random.choice(RESULTS)

    def _after(self, case: Any, response: Any) -> None:
        if case.method == "POST" and case.path.endswith("/studies") and response.status_code == 201:
            self._doomed.append(case.body["name"])


def _is_number(value: Any) -> bool:
    return type(value) is int and value > 0


def fuzz(service: Service, steering: Steering, examples: int, seed: int, *phases: str) -> Found:
    """Ask the service all that its own document says can be asked, and some that cannot."""
    all_phases = ("examples", "coverage", "fuzzing", "stateful")
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "continue-on-failure": True,
            "max-stream-events": 1,
            "request-timeout": 120,
            "generation": {
                "max-examples": examples,
                "deterministic": True,
                "database": "none",
                "no-shrink": True,
            },
            "phases": {each: _phase(each, each in (phases or all_phases)) for each in all_phases},
            "checks": {name: {"enabled": False} for name in LEFT_OUT},
        }
    )
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json", config=config)
    found = Found(Counter(), {})
    with steering.hooks():
        for event in from_schema(schema).execute():
            if isinstance(event, events.ScenarioFinished):
                _count(event.recorder, found)
            elif isinstance(event, events.NonFatalError | events.FatalError):
                found.failures[f"{type(event).__name__} {len(found.failures)}"] = str(vars(event))
    return found


def _phase(name: str, wanted: bool) -> dict[str, Any]:
    """With names out of earlier responses Schemathesis runs out of ideas after 20 requests."""
    steps = {} if name == "stateful" else {"extra-data-sources": {"responses": False}}
    return {"enabled": wanted} | steps


def _count(recorder: Any, found: Found) -> None:
    for own_id, interaction in recorder.interactions.items():
        label = recorder.cases[own_id].value.operation.label
        response = interaction.response
        status = None if response is None else response.status_code
        found.answers[label, status] += 1
        if status is None or status >= 500:
            found.failures[f"{label}: {status}"] = str(interaction.request)[:2_000]
    for own_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                label = recorder.cases[own_id].value.operation.label
                words = f"{check.failure_info.failure}\n{check.failure_info.code_sample}"
                found.failures[f"{label}: {check.name}"] = words[:2_000]


def unverified(service: Service) -> dict[str, str]:
    """Of all studies that there are: what those say whose log does not lead to what they show."""
    found = {}
    for row in service.get("/api/v1/studies").data["studies"]:
        path = service.study(row["name"])
        shown, verified = service.get(path), service.get(f"{path}/verify")
        same = shown.status == verified.status == 200 and all(
            shown.data[key] == verified.data[key]
            for key in ("state", "measurements", "certificate", "conclusion")
        )
        if not same:
            found[row["name"]] = f"{row}\n{shown.data}\n{verified.data}"[:2_000]
    return found
