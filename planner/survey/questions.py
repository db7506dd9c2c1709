"""All kinds of questions; a file has the same tables and keys."""

from __future__ import annotations

from typing import Annotated

from planner.survey.choices import Categorical, ItemSet, SampledChoice
from planner.survey.description import named, told_apart
from planner.survey.joint import Joint
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal

LevelledQuestion = Joint | Categorical | ItemSet | Ordinal | SampledChoice


# For annotations: a question of any kind, told apart by kind.
Question = LevelledQuestion | Numeric


_WHICH_KIND = (
    "Take categorical for one answer each, ordinal if the answers have an order, item-set for "
    "several, numeric for a mean, joint for two questions in one report."
)


QUESTIONS = named("kind", Categorical, ItemSet, SampledChoice, Numeric, Ordinal, Joint)


AnyQuestion = Annotated[
    Question, told_apart("kind", _WHICH_KIND, QUESTIONS, usual="categorical")
]
