"""Page 2: what a report says about a person, in odds, pictures and pairs."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from planner.outsiders.guarantee import CONDITION
from planner.outsiders.shown import delta_text
from planner.planning.explain import beliefs_after
from planner.planning.outsiders import NOTHING_TO_SAY, OutsiderView
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.promises import promises_of
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.realised import realised_budgets
from planner.planning.whole_survey.sentences import asked_sentence, report_sentence
from planner.policy.budget_text import rounded_up
from planner.show.charts import reports as charts
from planner.ui.parts import cells, show
from planner.ui.parts.fields import kept_item
from planner.ui.parts.questions import categorical_question
from planner.ui.parts.results import outsider_view, planned_with, together_view, wanted_sentence
from planner.ui.parts.tables import show_table

_MOST_LEVELS = 6
_MOST_PAIRS = 40
_BELIEFS = np.linspace(0.005, 0.995, 100)


def page() -> None:
    """Explain the plan of a categorical question for those whose answers it protects."""
    show.header(
        "What a report says",
        "What can somebody who sees one report conclude about the person who sent it? Odds first, "
        "then beliefs, then every pair of levels.",
    )
    draft, question = categorical_question("meaning")
    if draft is None or question is None:
        return
    with show.complaint():
        survey = planned_with(draft, question)
        plan = survey.question(question.name)
        st.markdown(show.plain(asked_sentence(plan)))
        if plan.explanations:
            _odds(plan)
            _beliefs(plan)
        else:
            _promises(plan)
        _pairs(plan)
        _outsiders(plan)
        _together(survey)


def _promises(plan: QuestionPlan) -> None:
    st.subheader("What is promised")
    st.markdown("\n".join(f"- {show.plain(sentence)}" for sentence in promises_of(plan)))


def _odds(plan: QuestionPlan) -> None:
    st.subheader("Of a hundred people")
    names = [one.level for one in plan.explanations]
    chosen = names
    if len(names) > _MOST_LEVELS:
        chosen = kept_item(
            st.multiselect,
            "Levels to show",
            f"m-levels-{hash(tuple(names))}",
            names[:3],
            options=names,
            max_selections=_MOST_LEVELS,
        )
    shown = [one for one in plan.explanations if one.level in chosen]
    for place, one in enumerate(shown):
        st.markdown(show.plain(one.odds))
        show.chart(
            charts.people_figure(one.with_answer, one.without_answer, one.level),
            f"people-{place}",
            one.odds,
        )
    show_table(
        {
            "level": [one.level for one in shown],
            "of 100 with the answer": [round(100 * one.with_answer, 1) for one in shown],
            "of 100 without": [round(100 * one.without_answer, 1) for one in shown],
        }
    )
    st.caption(show.plain(report_sentence(plan)))


def _beliefs(plan: QuestionPlan) -> None:
    st.subheader("What an observer may come to believe")
    prior = st.slider(
        "Belief before the report, in percent",
        1,
        99,
        10,
        key="prior",
        bind="query-params",
        help="How likely somebody thought it, before seeing the report, that the person has one "
        "particular answer.",
    )
    show.ends("1 %: nobody suspects it", "99 %: as good as known")
    share = prior / 100
    shown = plan.explanations[:_MOST_LEVELS]
    ones = [_after(_BELIEFS, one.with_answer, one.least_without_answer) for one in shown]
    zeros = [_after(_BELIEFS, 1 - one.with_answer, 1 - one.least_without_answer) for one in shown]
    show.chart(
        charts.posterior_figure(_BELIEFS, ones, zeros, [one.level for one in shown], share),
        "posterior",
        "Belief after a report against belief before it.",
    )
    column = np.array([share])
    rows = plan.explanations[:_MOST_PAIRS]
    low, high = beliefs_after(np.array([one.leakage for one in rows]), share)
    show_table(
        {
            "level": [one.level for one in rows],
            "before": [f"{share:.0%}" for _ in rows],
            "if supported": [
                _share(_after(column, x.with_answer, x.least_without_answer)) for x in rows
            ],
            "if not": [
                _share(_after(column, 1 - x.with_answer, 1 - x.least_without_answer)) for x in rows
            ],
            "whole report: at least": [f"{np.floor(x * 1e4) / 1e2:.2f} %" for x in low],
            "whole report: at most": [f"{np.ceil(x * 1e4) / 1e2:.2f} %" for x in high],
        }
    )
    st.caption(
        "A report supports an answer by a 1 for it, or by putting it on its high side. The last "
        "two columns bound the belief after any whole report, whatever the observer knew about "
        "the other answers."
    )


def _pairs(plan: QuestionPlan) -> None:
    st.subheader("Every pair of levels: used and allowed")
    policy = plan.deployed.policy
    if policy.size > _MOST_PAIRS:
        st.info(
            f"Pairs are drawn for up to {_MOST_PAIRS} levels; export lists and checks them all."
        )
        return
    realised, bounds = realised_budgets(plan), policy.bounds()
    show.chart(
        charts.pair_figure(policy.names, realised, bounds),
        "pairs",
        "Realised against demanded budget of every pair of levels.",
    )
    pairs = [
        (i, j)
        for i in range(policy.size)
        for j in range(i, policy.size)
        if not np.isnan(realised[i, j])
    ]
    show_table(
        {
            "level": [policy.names[i] for i, _ in pairs],
            "against": [policy.names[j] for _, j in pairs],
            "realised epsilon": [rounded_up(realised[pair], 12) for pair in pairs],
            "allowed epsilon": [show.allowed(bounds[pair]) for pair in pairs],
        }
    )
    st.caption(
        "Realised: the largest change of odds between an answer of one level and an answer of "
        "the other, in any report. Export proves the same in exact arithmetic."
    )


def _outsiders(plan: QuestionPlan) -> None:
    st.subheader("What an outsider learns")
    view = outsider_view(plan)
    if view is None:
        st.info(NOTHING_TO_SAY)
        return
    for sentence in view.sentences:
        st.markdown(show.plain(sentence))
    pairs = view.shuffled.pairs
    columns = {
        "between": [level for level, *_ in pairs],
        "and": [other for _, other, *_ in pairs],
        "epsilon of one report": [rounded_up(local, 4) for *_, local, _ in pairs],
        "epsilon if shuffled": [rounded_up(epsilon, 5) for *_, epsilon in pairs],
    }
    show_table(columns)
    st.caption(
        f"Epsilon if shuffled {CONDITION}, with delta {delta_text(view.shuffled.delta)}. Whoever "
        "sees reports with their senders has the epsilon of one report, and nothing else."
    )
    _wanted(view)


def _together(survey: SurveyPlan) -> None:
    """Of all questions, those of other kinds too; nothing where there is one."""
    if len(survey.questions) < 2 or (view := together_view(survey)) is None:
        return
    st.subheader("What an outsider learns from all questions")
    for sentence in view.sentences:
        st.markdown(show.plain(sentence))


def _wanted(view: OutsiderView) -> None:
    wanted = st.text_input(
        "Wanted epsilon if shuffled",
        key="wanted-central",
        help="Such as 0.1: which plain local budget reaches it, whatever mechanism keeps it. No "
        "reason to raise budgets where no shuffler is as trustworthy as the claim.",
    )
    if wanted.strip():
        with show.complaint():
            epsilon = cells.number(wanted, "wanted epsilon")
            st.markdown(show.plain(wanted_sentence(view, epsilon)))


def _after(prior: NDArray[np.float64], likely: float, otherwise: float) -> NDArray[np.float64]:
    """Bayes' rule for one bit."""
    return prior * likely / (prior * likely + (1 - prior) * otherwise)


def _share(belief: NDArray[np.float64]) -> str:
    return f"{100 * float(belief[0]):.2f} %"
