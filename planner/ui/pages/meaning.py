"""Page 2: what a report says about a person, in odds, pictures and pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from planner.designs.table import UnaryTable
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.explain import belief_bounds, explain_level
from planner.policy.budget_text import rounded_up
from planner.policy.objective import Objective
from planner.show.charts import reports as charts
from planner.ui.parts import show
from planner.ui.parts.fields import kept
from planner.ui.parts.questions import categorical_question
from planner.ui.parts.results import answer
from planner.ui.parts.tables import show_table
from planner.ui.state import session

__all__ = ["page"]

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
    question = categorical_question("meaning")
    if question is None:
        return
    with show.complaint():
        table = answer(question, session().draft.read_users()).plan.table
        _odds(table, question.name)
        _beliefs(table)
        _pairs(table)


def _odds(table: UnaryTable, question: str) -> None:
    st.subheader("Of a hundred people")
    names = table.policy.names
    if len(names) > _MOST_LEVELS:
        chosen = kept(
            st.multiselect,
            "Levels to show",
            f"m-levels-{hash(names)}",
            list(names[:3]),
            options=list(names[:1000]),
            max_selections=_MOST_LEVELS,
        )
    else:
        chosen = list(names)
    for name in chosen:
        i = names.index(name)
        said = explain_level(table, question, i)
        st.markdown(show.plain(said.odds))
        show.chart(
            charts.people_figure(float(table.a[i]), float(table.b[i]), name),
            f"people-{i}",
            said.odds,
        )
    shown = [names.index(name) for name in chosen]
    show_table(
        {
            "level": chosen,
            "of 100 with the answer, report 1": (100 * table.a[shown]).round(1),
            "of 100 without, report 1": (100 * table.b[shown]).round(1),
        }
    )


def _beliefs(table: UnaryTable) -> None:
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
    policy = table.policy
    shown = slice(0, _MOST_LEVELS)
    ones = [_after(_BELIEFS, a, b) for a, b in zip(table.a[shown], table.b[shown], strict=True)]
    zeros = [
        _after(_BELIEFS, 1 - a, 1 - b) for a, b in zip(table.a[shown], table.b[shown], strict=True)
    ]
    low, high = belief_bounds(policy, share)
    show.chart(
        charts.posterior_figure(_BELIEFS, ones, zeros, policy.names[shown], share),
        "posterior",
        "Belief after a report against belief before it.",
    )
    prior_column = np.array([share])
    rows = range(min(policy.size, _MOST_PAIRS))
    show_table(
        {
            "level": [policy.names[i] for i in rows],
            "before": [f"{share:.0%}" for _ in rows],
            "after a 1": [_share(_after(prior_column, table.a[i], table.b[i])) for i in rows],
            "after a 0": [
                _share(_after(prior_column, 1 - table.a[i], 1 - table.b[i])) for i in rows
            ],
            "whole report: at least": [f"{np.floor(low[i] * 1e4) / 1e2:.2f} %" for i in rows],
            "whole report: at most": [f"{np.ceil(high[i] * 1e4) / 1e2:.2f} %" for i in rows],
        }
    )
    st.caption(
        "After a 1 or a 0: from the one bit that belongs to the answer. A whole report has a bit "
        "for every answer; the last two columns bound the belief after any report, whatever the "
        "observer knew about the other answers."
    )


def _pairs(table: UnaryTable) -> None:
    st.subheader("Every pair of levels: used and allowed")
    policy = table.policy
    if policy.size > _MOST_PAIRS:
        st.info(
            f"Pairs are drawn for up to {_MOST_PAIRS} levels; export lists and checks them all."
        )
        return
    realised, bounds = _pair_losses(table), policy.bounds()
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


def _pair_losses(table: UnaryTable) -> NDArray[np.float64]:
    """Two items of each level tell all there is to tell about its pairs."""
    policy = table.policy
    small = policy.with_changes(item_counts=np.minimum(policy.item_counts, 2))
    return UnaryMechanism(replace(table, policy=small, objective=Objective())).pair_losses()


def _after(prior: NDArray[np.float64], likely: float, otherwise: float) -> NDArray[np.float64]:
    """Bayes' rule for one bit."""
    return prior * likely / (prior * likely + (1 - prior) * otherwise)


def _share(belief: NDArray[np.float64]) -> str:
    return f"{100 * float(belief[0]):.2f} %"
