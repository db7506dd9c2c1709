"""The pictures of the documentation: drawn from the imports, and from what the planner computes.

``python .ci/pictures.py`` writes all of them into docs/images; a name draws that one alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from math import exp
from pathlib import Path

import numpy as np

from planner import (
    NumericDomain,
    PrivacyPolicy,
    baseline,
    best_design,
    best_ordered_channel,
    bisample_md,
    oue,
    randomized_response,
    solve,
    subset_selection,
)
from planner.estimates.channel import shares_up_to
from planner.estimates.regression import PatternSums, fit
from planner.mechanisms.making import of_item
from planner.mechanisms.outcomes import outcome_names, outcome_of
from planner.mechanisms.set_design import best_set_design, set_error, set_error_bound
from planner.mechanisms.subset_design import SidesCollected
from planner.outsiders import central_epsilon, seen_of
from planner.show.figures import BLUE, GREEN, GREY, ORANGE, RED, Chart, Line
from planner.show.html import svg_of

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"


def edges() -> set[tuple[str, str]]:
    """Which part of the package imports which, lazy imports included."""
    found = set()
    for path in sorted((ROOT / "planner").rglob("*.py")):
        here = path.relative_to(ROOT / "planner").with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "planner."
            ):
                found.add((here, node.module.split(".")[1]))
    folders = {path.name for path in (ROOT / "planner").iterdir() if path.is_dir()}
    return {
        (one, other) for one, other in found if {one, other} <= folders and one != other
    }


def architecture() -> str:
    """Folders in rows, each above all that it imports; an arrow that others imply is left out."""
    arrows = edges()
    below = {
        one: {b for a, b in arrows if a == one}
        for one in {x for pair in arrows for x in pair}
    }
    height: dict[str, int] = {}

    def rank(one: str) -> int:
        if one not in height:
            height[one] = 1 + max(map(rank, below[one]), default=-1)
        return height[one]

    def reach(one: str) -> set[str]:
        return below[one] | {x for other in below[one] for x in reach(other)}

    rows: dict[int, list[str]] = {}
    for one in sorted(below, key=lambda name: (rank(name), name)):
        rows.setdefault(rank(one), []).append(one)
    top = max(rows)
    place = {
        one: (720 * (k + 1) / (len(row) + 1), 30 + 58 * (top - floor))
        for floor, row in rows.items()
        for k, one in enumerate(row)
    }
    drawn_parts = []
    for one, other in sorted(arrows):
        if any(other in reach(between) for between in below[one] - {other}):
            continue
        (x1, y1), (x2, y2) = place[one], place[other]
        drawn_parts.append(
            f'<line x1="{x1:.0f}" y1="{y1 + 16:.0f}" x2="{x2:.0f}" y2="{y2 - 18:.0f}" '
            f'stroke="{GREY}" stroke-width="1.5" marker-end="url(#tip)"/>'
        )
    for one, (x, y) in place.items():
        drawn_parts.append(
            f'<rect x="{x - 55:.0f}" y="{y - 16:.0f}" width="110" height="32" rx="5" '
            f'fill="#eef6fb" stroke="{BLUE}"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{one}</text>'
        )
    tip = (
        '<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="6" refY="3.5" orient="auto">'
        f'<path d="M0,0 L7,3.5 L0,7 z" fill="{GREY}"/></marker></defs>'
    )
    size = f'viewBox="0 0 720 {60 + 58 * top}" width="720" height="{60 + 58 * top}"'
    title = "<title>Folders of the package; an arrow is an import</title>"
    return (
        f'<svg {size} role="img" font-size="14">{title}{tip}\n'
        + "\n".join(drawn_parts)
        + "\n</svg>"
    )


def convexity() -> str:
    """Error on the straight way between two feasible tables, in probabilities and in log-odds."""
    policy = PrivacyPolicy([1.0, 4.0], [2, 30])
    ends = [baseline(policy, "oue"), solve(policy, "opt1")]
    shares = np.linspace(0, 1, 41)

    def error(a: np.ndarray, b: np.ndarray) -> float:
        noise = policy.item_counts @ (b * (1 - b) / (a - b) ** 2)
        return float(noise + np.max((1 - a - b) / (a - b)))

    def between(turn: Callable, back: Callable) -> list[float]:
        (a0, b0), (a1, b1) = ([turn(one.a), turn(one.b)] for one in ends)
        return [
            error(back(a0 + t * (a1 - a0)), back(b0 + t * (b1 - b0))) for t in shares
        ]

    def signs(table: object) -> tuple[np.ndarray, np.ndarray]:
        return np.log(table.a / table.b), np.log((1 - table.b) / (1 - table.a))

    (s0, w0), (s1, w1) = map(signs, ends)
    odds = []
    for t in shares:
        s, w = np.exp(s0 + t * (s1 - s0)), np.exp(w0 + t * (w1 - w0))
        b = (w - 1) / (s * w - 1)
        odds.append(error(s * b, b))
    plain = between(lambda x: x, lambda x: x)
    lines = [
        Line("straight in log-odds: convex, keeps every budget", shares, odds, BLUE),
        Line("straight in the probabilities", shares, plain, ORANGE, "dash"),
    ]
    return svg_of(
        Chart(lines, ("way from OUE to opt1", "error per person"), "y"),
        convexity.__doc__,
    )


def opt1_over_one_variable() -> tuple[np.ndarray, np.ndarray]:
    """T, the largest log-odds of a level, and opt1's error there: tau = min(T, e - T, e/2)."""
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    largest = np.linspace(0.1, 0.9, 81)
    taus = np.minimum(largest[:, None], policy.epsilons - largest[:, None])
    taus = np.minimum(taus, policy.epsilons / 2)
    return largest, (1 / (4 * np.sinh(taus / 2) ** 2)) @ policy.item_counts


def certificate() -> str:
    """A convex error, a tangent at a trial point, and the bound: its least value, proven."""
    largest, errors = opt1_over_one_variable()
    trial = 44
    slope = (errors[trial + 1] - errors[trial - 1]) / (
        largest[trial + 1] - largest[trial - 1]
    )
    tangent = errors[trial] + slope * (largest - largest[trial])
    near = slice(30, 62)
    lines = [
        Line("error", largest[near], errors[near], BLUE),
        Line(
            "tangent at a trial point: nowhere above",
            largest[near],
            tangent[near],
            ORANGE,
            "dash",
        ),
        Line(
            "trial point",
            largest[trial : trial + 1],
            errors[trial : trial + 1],
            RED,
            "",
        ),
    ]
    return svg_of(Chart(lines, ("T, nats", "error per person")), certificate.__doc__)


def designs() -> str:
    """Error per person of five mechanisms over the budget: 20 answers with one budget."""
    budgets, people = np.linspace(0.5, 5, 19), [50] * 20

    def of(make: Callable) -> list[float]:
        return [
            float(make(b, 20).variance(people).sum() / 1000) for b in budgets.tolist()
        ]

    best = [best_design(PrivacyPolicy([b], [20])).worst_case_mse for b in budgets]
    lines = [
        Line("best of all mechanisms, proven", budgets, best, BLUE),
        Line("subset selection", budgets, of(subset_selection), GREEN, "dash"),
        Line("OUE", budgets, of(oue), ORANGE, "dot"),
        Line("GRR", budgets, of(randomized_response), RED, "dashdot"),
    ]
    return svg_of(Chart(lines, ("epsilon", "error per person"), "y"), designs.__doc__)


def one_sided() -> str:
    """Error per person over the budget of the strictest level: the rule min, one-sided budgets."""
    budgets, shape, items = np.linspace(0.5, 3, 11), np.array([1, 1.2, 2]), [5, 5, 90]

    def of(make: Callable, rule: str) -> list[float]:
        return [
            make(PrivacyPolicy(b * shape, items, rule)).worst_case_mse for b in budgets
        ]

    lines = [
        Line("rule min, best table", budgets, of(solve, "min"), ORANGE, "dot"),
        Line("rule min, best of all", budgets, of(best_design, "min"), GREEN, "dash"),
        Line("one-sided, best of all", budgets, of(best_design, "one-sided"), BLUE),
    ]
    titles = "budget of 5 answers; 5 have 1.2, 90 have 2 times it", "error per person"
    return svg_of(Chart(lines, titles, "y"), one_sided.__doc__)


def many_levels() -> str:
    """Error per person over the number of levels: best table, best of all, bound."""
    levels, tables, best = [2, 3, 5, 8, 12], [], []
    for each in levels:
        policy = PrivacyPolicy(np.linspace(1, 2, each), [20] * each)
        tables.append(solve(policy).worst_case_mse / each)
        best.append(best_design(policy))
    lines = [
        Line("rule min, best table", levels, tables, ORANGE, "dot"),
        Line(
            "best design",
            levels,
            [x.worst_case_mse / x.policy.size for x in best],
            GREEN,
        ),
        Line(
            "no mechanism is below",
            levels,
            [x.certificate.lower_bound / x.policy.size for x in best],
            BLUE,
            "dash",
        ),
    ]
    titles = "levels, budgets evenly from 1 to 2", "error per person and level"
    return svg_of(Chart(lines, titles), many_levels.__doc__)


def item_sets() -> str:
    """Error per person against the padding length: padding and sampling, set design, its bound."""
    lengths = list(range(1, 21))
    ours = [
        set_error(100, n, *best_set_design(100, n, 1.0, 1.0).support) for n in lengths
    ]
    bounds = [set_error_bound(100, n, 1.0, 1.0) for n in lengths]
    b = 1 / (exp(1) + 1)
    noise, signal = b * (1 - b) / (0.5 - b) ** 2, (0.5 - b) / (0.5 - b)
    sampled = [n * n * (100 * noise + signal + 1 - 1 / n) for n in lengths]
    lines = [
        Line("padding and sampling, OUE", lengths, sampled, ORANGE, "dash"),
        Line("set design", lengths, ours, BLUE),
        Line("no mechanism of any kind below", lengths, bounds, GREY, "dot"),
    ]
    return svg_of(
        Chart(lines, ("padding length", "error per person"), "y"), item_sets.__doc__
    )


def reduction() -> str:
    """opt1's error over its one variable, and where the solver finds the minimum."""
    largest, errors = opt1_over_one_variable()
    found = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), "opt1").worst_case_mse
    lines = [
        Line("error", largest, errors, BLUE),
        Line("opt1, proven", largest, np.full(largest.size, found), GREY, "dot"),
    ]
    return svg_of(Chart(lines, ("T, nats", "error per person"), "y"), reduction.__doc__)


def exact_integers() -> str:
    """What rounding to whole multiples of 2^-32 costs of a budget: what is realised of it."""
    budgets = np.geomspace(0.001, 20, 30)
    lost = []
    for budget in budgets.tolist():
        pairs = randomized_response(budget, items=10).shape.pairs()
        lost.append(max(1 - one.realised / budget for one in pairs))
    lines = [
        Line(
            "share of the budget that is not used",
            budgets,
            np.maximum(lost, 1e-12),
            BLUE,
        )
    ]
    return svg_of(Chart(lines, ("epsilon", "not used"), "xy"), exact_integers.__doc__)


def answer_rates() -> str:
    """Standard error of BiSample-MD's mean, 1,000 people of whom half answer, over the budget."""
    budgets, answers = np.linspace(0.5, 6, 23), np.array([0.5] * 500 + [np.nan] * 500)
    lines = []
    for rate, colour, dash in (
        (1.0, BLUE, "solid"),
        (0.5, ORANGE, "dash"),
        (0.2, RED, "dot"),
    ):
        given = answers.copy()
        given[: int(1000 * rate)], given[int(1000 * rate) :] = 0.5, np.nan
        errors = [
            bisample_md(b, NumericDomain()).variance(given).mean ** 0.5
            for b in budgets.tolist()
        ]
        lines.append(Line(f"{rate:.0%} answer", budgets, errors, colour, dash))
    return svg_of(
        Chart(lines, ("epsilon", "standard error"), "y"), answer_rates.__doc__
    )


def outsiders() -> str:
    """Central epsilon at delta 1e-6 of shuffled reports, over the people, for three budgets."""
    people = [int(n) for n in np.geomspace(300, 1e6, 15)]
    lines = []
    for budget, colour, dash in (
        (1.0, BLUE, "solid"),
        (2.0, ORANGE, "dash"),
        (4.0, RED, "dot"),
    ):
        blanket = seen_of(randomized_response(budget, items=4).shape).blanket(0, 0)
        found = [central_epsilon(blanket, 1e-6, n) for n in people]
        lines.append(Line(f"{budget:g} nats a report", people, found, colour, dash))
    return svg_of(Chart(lines, ("people", "central epsilon"), "xy"), outsiders.__doc__)


def surveys() -> str:
    """Weighted error of two questions over the share of the first, and the best share."""
    shares = np.linspace(0.15, 0.85, 29)
    small, large = PrivacyPolicy([2.0], [2]), PrivacyPolicy([2.0], [40])

    def at(policy: PrivacyPolicy, share: float) -> float:
        scaled = PrivacyPolicy(policy.epsilons * share, policy.item_counts)
        return best_design(scaled).worst_case_mse

    parts = [[at(small, g) for g in shares], [at(large, 1 - g) for g in shares]]
    total = np.log(parts[0]) + np.log(parts[1])
    lines = [
        Line("yes or no", shares, parts[0], GREEN, "dash"),
        Line("one of forty answers", shares, parts[1], ORANGE, "dot"),
        Line("geometric mean of both", shares, np.exp(total / 2), BLUE),
    ]
    titles = "share of the budget for yes or no", "error per person"
    return svg_of(Chart(lines, titles, "y"), surveys.__doc__)


def relating() -> str:
    """Squared error of a table of five by five answers per person: together, and apart."""
    budgets = np.linspace(0.5, 6, 23)

    def error(budget: float, answers: int) -> float:
        return best_design(PrivacyPolicy([budget], [answers])).worst_case_mse

    together = [error(b, 25) for b in budgets.tolist()]
    apart = [(error(b / 2, 5) + 1) ** 2 - 1 for b in budgets.tolist()]
    lines = [
        Line("asked together", budgets, together, BLUE),
        Line("asked apart, half the budget each", budgets, apart, ORANGE, "dash"),
    ]
    return svg_of(Chart(lines, ("epsilon", "error per person"), "y"), relating.__doc__)


def channels() -> str:
    """Worst error of an ordered answer's shares over the budget: best channel, best design."""
    budgets, answers = np.linspace(0.5, 4, 15), 6
    channel, counts = [], []
    for budget in budgets.tolist():
        names = [str(k) for k in range(answers)]
        policy = PrivacyPolicy([budget] * answers, [1] * answers, names=names)
        found = best_ordered_channel(policy)
        channel.append(
            worst_of_shares(found.matrix, shares_up_to(found).estimator, answers)
        )
        found = best_ordered_channel(policy, "counts")
        counts.append(
            worst_of_shares(found.matrix, shares_up_to(found).estimator, answers)
        )
    lines = [
        Line("best for shares up to an answer", budgets, channel, BLUE),
        Line("best for counts, added up", budgets, counts, ORANGE, "dash"),
    ]
    titles = "epsilon", "squared error of the shares per person"
    return svg_of(Chart(lines, titles, "y"), channels.__doc__)


def worst_of_shares(law: np.ndarray, estimator: np.ndarray, answers: int) -> float:
    """Largest total variance of shares up to each answer that one person's report adds."""
    wanted = np.tril(np.ones((answers, answers)))[:-1]
    return float((law @ (estimator**2).sum(axis=0) - (wanted**2).sum(axis=0)).max())


def rounds() -> str:
    """Error of one round over the rounds: each person reports once, or in all with a share."""
    times = list(range(1, 13))
    once = [n * best_design(PrivacyPolicy([2.0], [12])).worst_case_mse for n in times]
    split = [best_design(PrivacyPolicy([2.0 / n], [12])).worst_case_mse for n in times]
    lines = [
        Line("each person reports in one round, drawn by lot", times, once, BLUE),
        Line(
            "everybody in every round, the budget shared", times, split, ORANGE, "dash"
        ),
    ]
    titles = "rounds", "error of one round, per person"
    return svg_of(Chart(lines, titles, "y"), rounds.__doc__)


def sampling_privacy() -> str:
    """Standard error of the count of a value that 300 people have, over the budget of round two."""
    budgets = np.linspace(0.25, 5, 20)
    lines = []
    for values, colour, dash in (
        (1, BLUE, "solid"),
        (3, ORANGE, "dash"),
        (10, RED, "dot"),
    ):
        sampled = 1 / (1 + (values + 1) / np.expm1(budgets))
        errors = np.sqrt(300 * (1 - sampled) / sampled)
        lines.append(
            Line(f"{values} value{'s' * (values > 1)}", budgets, errors, colour, dash)
        )
    titles = "epsilon of round two seen alone", "people"
    return svg_of(Chart(lines, titles, "y"), sampling_privacy.__doc__)


def regression() -> str:
    """Standard error of an effect among 20,000 people of whom one half has 20 %, one half 30 %."""
    budgets = np.linspace(0.5, 6, 23)
    design = np.array([[1.0, 0.0], [1.0, 1.0]])
    people = np.array([10_000.0, 10_000.0])
    shares = np.array([0.2, 0.3])

    def error(variance: Callable[[np.ndarray], np.ndarray]) -> float:
        squares = people * (variance(shares) + shares**2)
        sums = PatternSums.of_answer(people, people * shares, squares)
        fitted = fit(("constant", "half"), design, sums, variance)
        changed = np.ones_like(design)
        before = np.array([[1.0, 0.0], [1.0, 0.0]])
        return 100 * fitted.average_effect("half", changed, before).standard_error

    def of_design(budget: float) -> float:
        law = of_item(
            "subset-design",
            SidesCollected.of(best_design(PrivacyPolicy([budget], [5]))),
        )
        return error(outcome_of(law, outcome_names(law)[0]).variance)

    private = [of_design(budget) for budget in budgets.tolist()]
    direct = [error(lambda share: share * (1 - share))] * budgets.size
    lines = [
        Line("private, five answers", budgets, private, BLUE),
        Line("asked directly", budgets, direct, GREY, "dash"),
    ]
    titles = ("epsilon", "standard error of the difference, in points")
    return svg_of(Chart(lines, titles, "y"), regression.__doc__)


PICTURES: dict[str, Callable[[], str]] = {
    "architecture": architecture,
    "convexity": convexity,
    "certificate": certificate,
    "designs": designs,
    "one-sided": one_sided,
    "many-levels": many_levels,
    "item-sets": item_sets,
    "reduction": reduction,
    "exact-integers": exact_integers,
    "answer-rates": answer_rates,
    "outsiders": outsiders,
    "surveys": surveys,
    "channels": channels,
    "rounds": rounds,
    "relating": relating,
    "regression": regression,
    "sampling-privacy": sampling_privacy,
}


def drawn(name: str) -> str:
    """A picture that stands alone: on white, in both themes."""
    style = 'xmlns="http://www.w3.org/2000/svg" style="background:#fff;font-family:sans-serif"'
    return PICTURES[name]().replace("<svg ", f"<svg {style} ", 1) + "\n"


if __name__ == "__main__":
    for one in sys.argv[1:] or PICTURES:
        (IMAGES / f"{one}.svg").write_text(drawn(one), encoding="utf-8")
