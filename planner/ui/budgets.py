"""The plan of the bundled example, with its proof."""

from __future__ import annotations

import numpy as np
import streamlit as st

from planner.planning.frequency import Plan, plan_survey
from planner.survey_file import survey_from_text

__all__ = ["EXAMPLE", "page"]

EXAMPLE = """
[survey]
name = "health survey"
users = 100_000

[[question]]
name = "diagnosis"

[[question.level]]
name = "severe"
epsilon = "ln 4"
items = ["HIV"]

[[question.level]]
name = "common"
epsilon = "ln 6"
items = ["anemia", "headache", "stomachache", "toothache"]
"""


@st.cache_data(max_entries=16, show_spinner=False)
def _plan(text: str) -> Plan:
    return plan_survey(survey_from_text(text))


def page() -> None:
    """Show the levels, their probabilities, the alternatives and the certificate."""
    plan = _plan(EXAMPLE)
    question, users = plan.questions[0], plan.survey.users
    table = question.table
    st.title("Budgets")
    st.markdown(f"**{plan.survey.name}**, {users:,} users, question *{question.question.name}*")
    st.subheader("What a report does")
    st.dataframe(
        {
            "level": list(table.policy.names),
            "items": table.policy.item_counts,
            "epsilon": table.policy.epsilons.round(4),
            "a: a person with this answer reports 1": table.a.round(6),
            "b: a person without it reports 1": table.b.round(6),
            "standard error of a rare item's count, people": table.standard_errors(users).round(1),
        },
        hide_index=True,
    )
    st.subheader("Total error for the least favourable answers")
    st.dataframe(
        {
            "mechanism": list(question.alternatives),
            "root mean squared error, people": [
                round(float(np.sqrt(users * t.worst_case_mse)), 1)
                for t in question.alternatives.values()
            ],
        },
        hide_index=True,
    )
    if table.certificate is not None:
        st.success(
            f"Proven: no table that keeps these budgets has an error below "
            f"{table.certificate.lower_bound:.6f} per user; this one has "
            f"{table.worst_case_mse:.6f}."
        )
    for relaxation in question.relaxations:
        st.write(
            f"Relaxing **{relaxation.level}** by {relaxation.amount:g} lowers the total error "
            f"by {relaxation.saving:.1%}."
        )
