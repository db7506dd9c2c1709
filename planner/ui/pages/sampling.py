"""Page 4: counting rare answers by sampling, and what that protects from whom."""

from __future__ import annotations

from functools import partial
from statistics import NormalDist

import numpy as np
import streamlit as st

from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.planning.sampled import (
    ACKNOWLEDGEMENTS,
    SamplingPlan,
    SamplingQuestion,
    error_grid,
    smallest_budget,
)
from planner.policy.budget_text import magnitude_up, rounded_up
from planner.show.charts import sampling as charts
from planner.survey import Question
from planner.ui.draft.sampled import SampledDraft
from planner.ui.parts import cells, show
from planner.ui.parts.fields import edit_rows, kept, kept_item
from planner.ui.parts.questions import answer_names, part_of_survey, place_of, question_or_new
from planner.ui.parts.results import (
    DELTA_EPSILONS,
    sampling_deltas,
    sampling_guarantees,
    sampling_plan,
)
from planner.ui.parts.tables import show_table
from planner.ui.state import example_survey, session

_NORMAL_95 = NormalDist().inv_cdf(0.975)
_RELIES_ON = {
    "aggregates-only": "a trusted aggregator that releases totals only",
    "round-two": "nobody seeing both rounds of a person",
}
_GRID = np.linspace(0.1, 6.0, 40)


def page() -> None:
    """Show the question for editing, its parameters, errors and all three guarantees."""
    show.header(
        "Sampling Privacy",
        "How many people have a rare answer, when most have none? Everybody is asked twice; a "
        "sampled few move to their true answer. The error does not grow with those who have "
        "none. Read the three guarantees below before using it: they are far from equal.",
    )
    draft = question_or_new(SampledDraft, "sampling", _start)
    part_of_survey(draft, "sampling")
    _fields(draft)
    question, found = draft.build()
    with show.complaint():
        users = session().draft.read_users()
        show.problems(found, "The rest is planned below.")
        if question is not None:
            _results(draft, question, users)


def _start() -> SampledDraft:
    return SampledDraft.of(example_survey("sampled-ages").questions[0])


def _fields(draft: SampledDraft) -> None:
    survey, place = session().draft, place_of(draft)
    name, users = st.columns([2, 1])
    kept(name.text_input, "Question", f"s-name-{place}", draft, "name")
    kept(users.text_input, "Number of people asked", "s-users", survey, "users")
    text = st.column_config.TextColumn
    edit_rows(
        f"s-values-{place}",
        draft.rows,
        {
            "level": text("Level", default="", help="Values of one level share a budget."),
            "epsilon": text(
                "Budget in round two (epsilon)", default="", help="A number such as 1.5, or ln 4."
            ),
            "value": text("Value", default="", width="large", help="The answer that is counted."),
            "expected": text(
                "Expected people", default="", help="At the least; the guarantee leans on it."
            ),
        },
        partial(setattr, draft, "rows"),
    )
    cap, floor, none, everyone = st.columns(4, vertical_alignment="bottom")
    kept(
        cap.text_input,
        "Sampled at most",
        f"s-cap-{place}",
        draft,
        "cap",
        help="Largest probability of being sampled; under one half keeps the sampled in the "
        "minority.",
    )
    kept(
        floor.text_input,
        "Staying at none at least",
        f"s-floor-{place}",
        draft,
        "floor",
        help="Smallest probability of answering none in both rounds.",
    )
    kept(
        none.text_input,
        "Budget of the answer none",
        f"s-none-{place}",
        draft,
        "none_epsilon",
        help="Empty: the smallest budget in the table.",
    )
    kept(
        everyone.toggle,
        "Everyone has a value",
        f"s-everyone-{place}",
        draft,
        "everyone_has_value",
    )


def _results(draft: SampledDraft, question: Question, users: int) -> None:
    plan = sampling_plan(question, users)
    mechanism = plan.design.mechanism
    errors = plan.design.absolute_errors()
    limit = {"cap": "the largest sampling probability", "budgets": "the budgets"}
    show.figures(
        {
            "Sampled": (
                f"{mechanism.sampling:.1%}",
                f"Probability of moving to the true answer; limited by "
                f"{limit[plan.design.limited_by]}.",
            ),
            "Staying at none": (f"{mechanism.zero:.1%}", "Answering none in both rounds."),
            "Largest error": (
                f"{errors.max():.1f} people",
                "95 % of estimates of the most frequent value err by less than this.",
            ),
        }
    )
    _guarantees(question, users)
    _acknowledge(draft)
    _values(question, plan)
    left, right = st.columns(2)
    with left:
        _errors_by_budget(question, plan.design.question)
    with right:
        _errors_by_population(plan.design.question, users, errors.max())
    _target(plan.design.question)


def _guarantees(question: Question, users: int) -> None:
    st.subheader("Who is protected from whom")
    alone, linkable, released = sampling_guarantees(question, users)
    first, second, third = st.columns(3)
    with first:
        st.info("**1. An observer of round two only**\n\n" + show.plain(alone))
    with second:
        st.error("**2. Whoever can link both rounds**\n\n" + show.plain(linkable))
    with third:
        st.info("**3. Readers of released totals**\n\n" + show.plain(released))
    picture, numbers = st.columns([3, 2])
    difference, totals = sampling_deltas(question, users)
    with picture:
        show.chart(
            charts.delta_figure(DELTA_EPSILONS, difference, totals),
            "deltas",
            "Delta falls with epsilon if only totals are released.",
        )
    with numbers:
        show_table(
            {
                "epsilon": DELTA_EPSILONS,
                "delta, estimates alone": list(map(magnitude_up, difference)),
                "delta, both totals": list(map(magnitude_up, totals)),
            }
        )


def _acknowledge(draft: SampledDraft) -> None:
    place = place_of(draft)
    kept(
        st.radio,
        "What the deployment relies on",
        f"s-relies-{place}",
        draft,
        "relies_on",
        options=_RELIES_ON,
        horizontal=True,
    )
    sentence = ACKNOWLEDGEMENTS[draft.relies_on]
    kept(
        st.checkbox,
        f"I vouch for this: {sentence}",
        f"s-agreed-{draft.relies_on}-{place}",
        draft,
        "vouched",
    )
    if not draft.vouched:
        st.caption("Until somebody vouches for it, no parameters are written.")


def _values(question: Question, plan: SamplingPlan) -> None:
    st.subheader("Value by value")
    names = answer_names(question)
    design = plan.design
    counts = np.array(design.question.yes_counts)
    errors = design.absolute_errors()
    show_table(
        {
            "value": names,
            "budget": [round(epsilon, 4) for epsilon in design.question.budgets[1:]],
            "loss in round two": [rounded_up(loss) for loss in plan.views.round_two_losses[1:]],
            "moves there by chance": [round(decoy, 4) for decoy in design.mechanism.decoys],
            "expected people": counts,
            "error at 95 %, people": errors.round(1),
            "error, %": [f"{e / c:.0%}" if c else "" for e, c in zip(errors, counts, strict=True)],
        }
    )


def _errors_by_budget(question: Question, asked: SamplingQuestion) -> None:
    st.subheader("Error against budget")
    grid = error_grid(asked, _GRID)
    show.chart(
        charts.budget_error_figure(grid, answer_names(question)),
        "s-budget",
        "The error falls with the budget until the sampling probability is at its cap.",
    )
    picked = slice(3, None, 6)
    show_table(
        {
            "epsilon": grid.epsilons[picked].round(3),
            "sampled": [f"{share:.1%}" for share in grid.sampling[picked]],
            "largest error, people": grid.errors[picked].max(axis=1).round(1),
        }
    )


def _errors_by_population(asked: SamplingQuestion, users: int, largest: float) -> None:
    st.subheader("Error against population")
    count, epsilon = max(asked.yes_counts), float(min(asked.budgets))
    populations = np.geomspace(max(2 * count, 20), max(100 * count, 10 * users), 9).round()
    coins = GeneralizedRandomizedResponse(epsilon, 2)
    variances = [coins.variance([int(n) - count, count])[1] for n in populations]
    deviations = _NORMAL_95 * np.sqrt(variances)
    ours = np.full(populations.size, largest)
    show.chart(
        charts.population_figure(populations, ours, deviations),
        "s-population",
        "Sampling Privacy's error is constant; that of two coins grows.",
    )
    show_table(
        {
            "people asked": populations.astype(int),
            "Sampling Privacy": ours.round(1),
            "two coins": deviations.round(1),
        }
    )
    st.caption(
        f"For {count:,} people with the most frequent value. The two coins have epsilon "
        f"{epsilon:.3f} towards everybody; Sampling Privacy has its epsilon towards observers "
        "of round two only."
    )


def _target(asked: SamplingQuestion) -> None:
    st.subheader("The other way round: from an error to a budget")
    typed = kept_item(st.text_input, "Largest error at 95 %, in people", "s-target", "30")
    with show.complaint():
        target = cells.number(typed, "largest error")
        found = smallest_budget(asked, target)
        scale = found.question.budgets[0] / asked.budgets[0]
        st.markdown(
            f"All budgets times **{scale:.4f}** are the smallest that keep every error within "
            f"{target:g} people: from {min(found.question.budgets):.4f} to "
            f"{max(found.question.budgets):.4f}."
        )
