"""Questions in plain words, for people who do not think in symbols."""

from furthest.display import count, figure
from furthest.problem import Problem
from furthest.strategy import Strategy

# More features than this are not listed.
LISTED = 6


def options_words(problem: Problem) -> str:
    """`12 options`; where what is measured is not what is chosen, both."""
    if problem.answers is problem.arms or problem.answer_names == problem.arm_names:
        return count(len(problem.answers), "option")
    measured = count(len(problem.arms), "thing")
    return f"{count(len(problem.answers), 'option')} ({measured} can be measured)"


def question(problem: Problem, delta: float) -> str:
    """What is asked, and what will be promised."""
    return (
        f"Which of {options_words(problem)} has the highest value? {_enough(problem)} The allowed "
        f"chance of a wrong answer is {100 * delta:.4g} %."
    )


def _enough(problem: Problem) -> str:
    if problem.eps == 0:
        return "Only the very best one is good enough."
    if problem.notion == "additive":
        return f"One that is at most {problem.eps:g} below the best is good enough."
    share = 100 * (1 - problem.eps)
    return f"One with at least {share:.4g} % of the best value is good enough."


def assumptions(problem: Problem, strategy: Strategy) -> list[str]:
    """What a guarantee will rest on, in plain words, before anything is measured."""
    return [*_noise(problem, strategy), *_linear(problem)]


def _noise(problem: Problem, strategy: Strategy) -> list[str]:
    if problem.bounds is not None:
        low, high = problem.bounds
        either = problem.noise == "bernoulli"
        results = f"either {low:g} or {high:g}" if either else f"between {low:g} and {high:g}"
        said = [f"Each result is {results}."]
    elif problem.sigma is None:
        said = ["Results scatter around an option's value like a bell curve, how much is unknown."]
    else:
        said = [f"Results scatter around an option's value by about σ = {problem.sigma_words}."]
    if strategy.guarantee_for(problem).proven:
        return [*said, "For such results the rule that ends the study is proven."]
    return [*said, "The rule that ends the study is a heuristic: there is no proof of it."]


def _linear(problem: Problem) -> list[str]:
    if problem.is_plain:
        return []
    names = problem.feature_names
    listed = ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else "")
    return [f"An option's value is a weighted sum of its features ({listed})."]


def cost_words(costs: tuple[float, ...] | None) -> str:
    """What a measurement costs."""
    if costs is None:
        return ""
    low, high = figure(min(costs)), figure(max(costs))
    return f"a measurement costs {low}" + ("" if low == high else f" to {high}")
