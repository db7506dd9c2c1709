"""Page 3: the budget to offer when a larger one means less noise but fewer answers."""

from __future__ import annotations

import numpy as np
import streamlit as st

from planner.planning.answer_rates import AnswerRatePlan, channel_sentence
from planner.planning.whole_survey.cautions import assumed_mean
from planner.policy.budget_text import rounded_up
from planner.show.charts.answer_rate import answer_rate_figure, error_figure
from planner.survey import Question
from planner.survey.preferences import read_preferences
from planner.ui.draft.numeric import EVERYBODY, MODELS, NumericDraft
from planner.ui.parts import cells, show, uploads
from planner.ui.parts.accuracy import ENTRY, offer_people
from planner.ui.parts.fields import kept, kept_item
from planner.ui.parts.questions import part_of_survey, place_of, question_or_new
from planner.ui.parts.results import answer_rate_plan, channel_errors, enough
from planner.ui.parts.tables import show_table
from planner.ui.state import session

_MODELS = {
    "normal": "bell-shaped (normal)",
    "lognormal": "skewed (lognormal)",
    "gamma": "gamma",
    "histogram": "in bins (histogram)",
    "sample": "an uploaded sample",
    EVERYBODY: "of no importance: everybody answers",
}


def page() -> None:
    """Show the question for editing, and the best budget to offer."""
    show.header(
        "Answer rates",
        "People who find a budget too large do not answer. A small budget loses accuracy to "
        "noise, a large one loses people: in between is a best budget to offer.",
    )
    draft = question_or_new(NumericDraft, "answer-rates", lambda: NumericDraft("a number"))
    part_of_survey(draft, "answer-rates")
    _fields(draft)
    _preferences(draft)
    question, found = draft.build()
    show.problems(found, "The answer follows when this is mended.")
    if question is not None and draft.model == EVERYBODY:
        st.info(
            "Everybody answers at any budget: the larger, the more exact. There is no best one. "
            "The page Export plans the question and predicts its error."
        )
    elif question is not None:
        with show.complaint():
            users = session().draft.read_users()
            show.warnings(list(filter(None, [assumed_mean(question)])))
            _accuracy(question, users)
            _results(answer_rate_plan(question, users), users)


def _fields(draft: NumericDraft) -> None:
    place = place_of(draft)
    name, lower, upper, kind = st.columns([2, 1, 1, 1], vertical_alignment="bottom")
    kept(name.text_input, "Question", f"n-name-{place}", draft, "name")
    kept(lower.text_input, "Smallest answer", f"n-lower-{place}", draft, "lower")
    kept(upper.text_input, "Largest answer", f"n-upper-{place}", draft, "upper")
    kept(
        kind.toggle,
        "Yes or no",
        f"n-yes-no-{place}",
        draft,
        "yes_no",
        help="The only answers are the smallest (no) and the largest (yes).",
    )
    mean, sd, offered = st.columns(3, vertical_alignment="bottom")
    kept(
        mean.text_input,
        "Expected mean",
        f"n-mean-{place}",
        draft,
        "mean",
        help="Empty: the middle of the range.",
    )
    kept(
        sd.text_input,
        "Expected spread (standard deviation)",
        f"n-sd-{place}",
        draft,
        "sd",
        help="Empty: the largest possible.",
    )
    kept(
        offered.text_input,
        "Budget to offer (epsilon)",
        f"n-epsilon-{place}",
        draft,
        "epsilon",
        help="Empty while it is still open. Smaller is more private.",
    )


def _preferences(draft: NumericDraft) -> None:
    place = place_of(draft)
    model, *columns = st.columns(3, vertical_alignment="bottom")
    kept(
        model.selectbox,
        "The largest epsilon that people accept is",
        f"n-model-{place}",
        draft,
        "model",
        options=_MODELS,
    )
    for column, (name, (label, start)) in zip(columns, MODELS[draft.model].items(), strict=False):
        parameter = f"{draft.model}.{name}"
        kept_item(
            column.text_input, label, f"n-{parameter}-{place}", start, draft.parameters, parameter
        )
    if draft.model == "sample":
        with columns[0]:
            _sample(draft)


def _sample(draft: NumericDraft) -> None:
    file = st.file_uploader(
        "Sample (CSV, one column)",
        type=["csv"],
        key=f"n-sample-{place_of(draft)}-{session().revision}",
        help="A header line, then one accepted epsilon per person asked in a pilot.",
    )
    if file is not None:
        draft.sample = ()  # one that is refused must not leave the results of the one before
        with show.complaint(), uploads.as_file(file.name, file.getvalue()) as path:
            draft.sample = tuple(read_preferences(path).sample.tolist())
    if draft.sample:
        st.caption(f"{len(draft.sample):,} people asked.")


def _accuracy(question: Question, users: int) -> None:
    box = show.drawer(ENTRY, "answer-accuracy")
    if not box.open:
        return
    with box, show.complaint():
        typed = kept_item(
            st.text_input,
            f"I have {users:,} people and need an error of the mean of at most",
            "n-target",
            "100",
            help="A root mean squared error, in the unit of the answer.",
        )
        found = enough(question, users, cells.number(typed, "error of the mean"))
        st.markdown(f"Now it is {show.plain(f'{found.reached:.4g}')} at the best budget.")
        if found.epsilon is None:
            st.markdown("**With these people, no budget is enough.**")
        else:
            st.markdown(f"**With these people, offer {rounded_up(found.epsilon, 3)}.**")
        offer_people(found.users, "At the best budget")


def _results(plan: AnswerRatePlan, users: int) -> None:
    best = plan.best
    show.figures(
        {
            "Best epsilon": (
                f"{best.epsilon:.3f}",
                "The budget with the smallest predicted error.",
            ),
            "Within 5 %": (
                f"{best.flat_lower:.2f} to {best.flat_upper:.2f}",
                "Any budget in this range has an error at most 5 % above the best: choose the "
                "smallest, it is the most private.",
            ),
            "Then answer": (f"{best.answer_rate:.0%}", "Share of the people who answer."),
            "Error of the mean": (
                f"{best.rmse:.4g}",
                "Predicted root mean squared error at the best budget, in the unit of the answer.",
            ),
        }
    )
    if not best.reliable:
        st.warning("So few people answer that the prediction is not reliable.")
    channels = channel_errors(plan)
    if channels is not None:
        st.markdown(show.plain(channel_sentence(plan, channels)))
    left, right = st.columns(2)
    with left:
        st.subheader("Who answers")
        show.chart(answer_rate_figure(plan), "answer-rate", "Share of people who answer falls.")
    with right:
        st.subheader("Error of the mean")
        show.chart(
            error_figure(plan, channels), "answer-error", "Predicted error against the budget."
        )
    curve = plan.curve
    picked = np.unique(np.linspace(0, curve.epsilon.size - 1, 12).round().astype(int))
    of_channel = {}
    if channels is not None:
        errors = channels.channel_errors(curve.epsilon[picked])
        of_channel = {
            "with the best channel": [f"{e:.4g}" if np.isfinite(e) else "" for e in errors]
        }
    show_table(
        {
            "epsilon": curve.epsilon[picked].round(3),
            "answer rate": [f"{rate:.1%}" for rate in curve.answer_rate[picked]],
            "error of the mean": [f"{value:.4g}" for value in curve.mean_rmse[picked]],
            **of_channel,
            "of the missing rate": [f"{value:.4g}" for value in curve.missing_rate_rmse[picked]],
            "if forced: TOP": [f"{value:.4g}" for value in plan.forced["top"].rmse[picked]],
            "if forced: random": [f"{value:.4g}" for value in plan.forced["random"].rmse[picked]],
        }
    )
    st.caption(
        f"Predicted for {users:,} people. Missing answers stay missing (BiSample, or the "
        "best channel: mechanism channel of the export page), against "
        "mechanisms that force an answer: unwilling people then always answer the largest value "
        "(TOP) or anything (random). Errors are root mean squared errors, not intervals."
    )
