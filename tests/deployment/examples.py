"""A survey with every mechanism, frozen files, and documents with the hash that they need."""

from dataclasses import replace
from pathlib import Path

from planner import (
    Level,
    NumericDomain,
    Survey,
    best_design,
    plan_sampling,
    plan_survey,
    solve,
)
from planner.deployment.client.document import content_hash
from planner.mechanisms.making import (
    bisample_md,
    local_hashing,
    oue,
    padded,
    randomized_response,
    rappor,
    set_design,
    subset_selection,
    unary,
)
from planner.planning.channels import best_channel, five_populations
from planner.planning.distribution import plan_distribution
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.survey.choices import Categorical, ItemSet, SampledChoice, Sampling
from planner.survey.numeric import Numeric
from planner.survey.ordinal import Ordinal

FILES = Path(__file__).parent / "files"
LEVELS = (
    Level("severe", 1.0, ("HIV",)),
    Level("common", 2.0, ("flu", "cold", "x", "é\n")),
)
MATRIX = ((1.0, 2.5), (3.0, 2.0))
SIDED = (LEVELS[0], LEVELS[1].replacing(against=1.3))
ORDERED = Ordinal(
    "order", LEVELS, order=("flu", "HIV", "cold", "x", "é\n"), scores=(0, 1, 2.5, 3, 9)
)
CELLS = plan_distribution(
    -3, 7, epsilon=1.0, people=9, refusals=True, cells=3
).question("cells")


ANSWERS = {
    "idue": "flu",
    "avg": "cold",
    "matrix": "x",
    "rappor": "HIV",
    "oue": "é\n",
    "sets": "flu;x",
    "whole sets": "HIV;flu",
    "most": "",
    "grr": "x",
    "olh": "cold",
    "subset": "flu",
    "design": "flu",
    "design by avg": "HIV",
    "design by matrix": "é\n",
    "age": "53.5",
    "yes": "1",
    "hours": "40.25",
    "yes by channel": "",
    "order": "cold",
    "cells": "5.1",
    "sampled": "v",
    "one-sided": "HIV",
    "design one-sided": "x",
    "anchored": "flu",
    "check": "x",
    "design anchored": "cold",
    "check design": "HIV",
}


def every_mechanism():
    """A survey, and a mechanism for each of its questions; as many as there are kinds."""
    rules = {"idue": "min", "avg": "avg", "matrix": MATRIX, "design by avg": "avg"}
    rules["design by matrix"] = MATRIX
    names = ["idue", "avg", "matrix", "rappor", "oue", "sets", "grr", "olh", "subset"]
    names += ["design", "design by avg", "design by matrix", "whole sets", "most"]
    questions = []
    for name in names:
        questions.append(
            ItemSet(name, LEVELS, padding_length=2)
            if name in ("sets", "whole sets", "most")
            else Categorical(name, LEVELS, rules.get(name, "min"))
        )
    ages = NumericDomain(17, 90)
    yes = NumericDomain(0, 1, yes_no=True)
    questions += [
        Numeric("age", 17, 90, epsilon=2.0),
        Numeric("yes", 0, 1, yes_no=True, epsilon=1.0),
        Numeric("hours", 17, 90, epsilon=2.0),
        Numeric("yes by channel", 0, 1, yes_no=True, epsilon=1.0),
        ORDERED,
        CELLS,
        Categorical("one-sided", SIDED, "one-sided"),
        Categorical("design one-sided", SIDED, "one-sided"),
        SampledChoice(
            "sampled",
            (
                Level("a", 1.0, ("u", "v"), yes_counts=(10, 20)),
                Level("b", 1.5, ("w",), yes_counts=(30,)),
            ),
            sampling=Sampling("round-two", ACKNOWLEDGEMENTS["round-two"]),
        ),
        Categorical("anchored", LEVELS),
        Categorical("check", anchor="anchored", known="x"),
        Categorical("design anchored", LEVELS, "avg"),
        Categorical("check design", anchor="design anchored", known="flu"),
    ]
    survey = Survey("every mechanism", 1000, tuple(questions))
    most = set_design(
        questions[13].policy, 3, 1.5
    )  # of eight elements six: always one's own
    cut = ((5, 0.2),)
    ratios = 2605029348, 1580030169  # 2^32 e^-0.5 and 2^32 e^-1, rounded up
    tables = {question.name: solve(question.policy) for question in questions[:3]}
    mechanisms = tables | {
        "rappor": rappor(1.0, 5),
        "oue": oue(1.0, 5),
        "sets": padded(unary(tables["idue"]), 3).with_sizes(cut),
        "grr": randomized_response(1.0, 5),
        "olh": local_hashing(1.0, 5),
        "subset": subset_selection(1.0, 5),
        **{question.name: best_design(question.policy) for question in questions[9:12]},
        "whole sets": set_design(questions[12].policy, 2, 2.0).with_sizes(cut),
        "most": replace(
            most.with_sizes(cut), shape=replace(most.shape, held=6, ratios=ratios)
        ),
        "age": bisample_md(2.0, ages),
        "yes": bisample_md(1.0, yes),
        "hours": best_channel(2.0, five_populations(ages), points=4),
        "yes by channel": best_channel(
            1.0, five_populations(NumericDomain(0, 1)), points=2
        ),
        "order": plan_survey(Survey("s", 9, (ORDERED,))).questions[0].law,
        "cells": plan_survey(Survey("s", 9, (CELLS,))).questions[0].law,
        "one-sided": solve(questions[-7].policy),
        "design one-sided": best_design(questions[-6].policy),
        "sampled": plan_sampling(questions[-5], survey.users).law,
        "anchored": solve(questions[-4].policy),
        "design anchored": best_design(questions[-2].policy),
    }
    return survey, mechanisms


def sealed(document):
    """The document with the hash that belongs to it."""
    return document | {"hash": content_hash(document)}


def index(document, name):
    """Position of the question of that name."""
    return [question["name"] for question in document["questions"]].index(name)


def only(document, questions):
    """The document with these questions alone."""
    return sealed(document | {"questions": questions})


def singles(document):
    """The document's questions, one file for each."""
    return [only(document, [question]) for question in document["questions"]]
