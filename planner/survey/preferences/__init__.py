"""How much epsilon people tolerate, and so how many of them answer at a given budget.

A preference model is a distribution of the largest epsilon that a person accepts.
Whoever accepts less than the collection's epsilon does not answer (BiSample paper,
algorithm 3), so the answer rate is ``R(eps) = Pr[preference >= eps]``. Mass at or below
zero is people who never answer.
"""

from planner.survey.preferences.distributions import (
    GammaPreferences,
    LognormalPreferences,
    NormalPreferences,
    Preferences,
)
from planner.survey.preferences.observed import (
    EmpiricalPreferences,
    HistogramPreferences,
    answering,
    read_preferences,
)

__all__ = [
    "EmpiricalPreferences",
    "GammaPreferences",
    "HistogramPreferences",
    "LognormalPreferences",
    "NormalPreferences",
    "Preferences",
    "answering",
    "read_preferences",
]
