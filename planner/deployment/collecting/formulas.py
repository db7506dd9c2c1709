"""Formulas of models: what is modelled, on which known groups.

A formula names what is modelled, ``~``, and covariates: declared groups, which are known of people
and were not randomised. It is read by formulaic (Wilkinson's notation); it names variables and
joins them by ``+``, ``:``, ``*`` and brackets. Of code it runs one form alone, a power of a number,
``I(age**2)``, or of its distance from another, ``I((age - 40)**2)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, get_args

from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.regression import Link
from planner.mechanisms.outcomes import outcome_names

# The word that stands for every answer of every question.
EVERY_ANSWER = "answer"
_FORMULA_FIX = 'Write it as "answer ~ age + region", with groups of the survey.'
# How formulaic writes a power of a number, within I() or alone.
_POWER = re.compile(r"(\(?)([A-Za-z_]\w*)((?: [-+] [0-9.]+\))?) \*\* ([2-9])")
# Within these a formula is code.
_QUOTED_CODE = re.compile(r"I\([^()]*(?:\([^()]*\)[^()]*)?\)|\{[^{}]*\}")
_POWER_OF_A_TERM = re.compile(r"\b[A-Za-z_]\w*\s*(?:\*\*|\^)")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that fits the parameters; see :func:`read_model`.

    Attributes
    ----------
    text:
        As it was written.
    covariates:
        The right side.
    variables:
        The groups that it names, in the order of the parameters.
    weighting:
        The group by whose values people count for more or less, if the survey states one.
    outcomes:
        Question and answer, or number, of each model.
    link:
        ``"logit"`` or ``"linear"``; numbers are linear always.
    """

    text: str
    covariates: str
    variables: tuple[str, ...]
    weighting: str | None
    outcomes: tuple[tuple[str, str], ...]
    link: Link

    @property
    def pattern_groups(self) -> tuple[str, ...]:
        """The groups whose values tell patterns apart: people of one pattern are summed."""
        if self.weighting is None or self.weighting in self.variables:
            return self.variables
        return (*self.variables, self.weighting)


def read_model(text: str, link: str, parameters: Parameters) -> Formula:
    """A formula such as ``"diagnosis[HIV] ~ age + region"``, checked before anything is counted.

    The left side is a question, for all its answers, ``question[answer]``, an answer that one
    question alone has, or ``answer``: every answer of every question.

    Raises
    ------
    InputError
        ``link`` is not logit or linear; the formula cannot be read, or names what is no group; what
        is on its left is neither question nor answer.
    """
    if link not in get_args(Link):
        allowed = " or ".join(get_args(Link))
        remedy = "Leave it out for shares between 0 and 1."
        raise InputError("link", link, allowed, remedy)
    left, tilde, covariates = text.partition("~")
    if not tilde or not left.strip():
        raise InputError("model", text, "what is modelled, ~, and groups", _FORMULA_FIX)
    variables = _variables(covariates, parameters)
    outcomes = tuple(_outcomes(left.strip().strip("`"), parameters))
    return Formula(
        text=text.strip(),
        covariates=covariates.strip(),
        variables=variables,
        weighting=_weighting(parameters),
        outcomes=outcomes,
        link=cast("Link", link),
    )


def _weighting(parameters: Parameters) -> str | None:
    """The group with ``weights``, or parts of the population, for its values."""
    # The first that states any, as a survey's weights are of one variable.
    for group in parameters.document.get("groups", ()):
        if group["weights"] or group["population"]:
            return str(group["name"])
    return None


def _variables(covariates: str, parameters: Parameters) -> tuple[str, ...]:
    """The groups that the right side names."""
    from formulaic import Formula as Wilkinson
    from formulaic.errors import FormulaicError
    from formulaic.parser.types import Factor

    # In this notation age**2 is age by age, which is age: nobody means that.
    power_of_term = _POWER_OF_A_TERM.search(_QUOTED_CODE.sub("", covariates))
    if power_of_term is not None:
        allowed = "I(age**2) for a square: the power of a term is the term itself"
        raise InputError("model", power_of_term[0], allowed, _FORMULA_FIX)
    try:
        # Only parsed, never evaluated: formulaic would run Python code in a formula.
        terms = list(cast("Any", Wilkinson(covariates)))
    except (FormulaicError, SyntaxError, ValueError, TypeError) as error:
        # Their first line is in words; the others mark a place in colours of a terminal.
        what, *_ = str(error).splitlines()
        reason = (
            f"the formula {covariates.strip()!r} cannot be read: {what.rstrip('.')}"
        )
        raise InputError.because("model", reason, _FORMULA_FIX) from None
    group_names = list(parameters.groups)
    names: set[str] = set()
    for term in terms:
        for factor in term.factors:
            if factor.eval_method is Factor.EvalMethod.LITERAL:
                # A number such as 1 or 0 stands for the constant, and names nothing.
                continue
            if factor.eval_method is Factor.EvalMethod.LOOKUP:
                names.add(factor.expr)
                continue
            # A factor of any other kind is code, of which a power alone may run; none
            # where a group is called like the function.
            taken = "I" in group_names
            power = power_of(factor.expr)
            if power is None or power.number not in parameters.numbers or taken:
                allowed = (
                    "names of groups, joined by +, : and *, or I(age**2) of a number"
                )
                raise InputError("model", factor.expr, allowed, _FORMULA_FIX)
            names.add(power.number)
    for name in sorted(names - set(group_names)):
        remedy = (
            "Declare groups in the survey: reports carry those of their parameters."
        )
        raise InputError.unknown("model", name, group_names, remedy)
    return tuple(name for name in group_names if name in names)


class PowerTerm(NamedTuple):
    """A power of a ``number``, as people read it: ``(age - 40)^2``."""

    number: str
    text: str


def power_of(factor: str) -> PowerTerm | None:
    """What a factor as formulaic writes it means, if it is a power of a number.

    Examples
    --------
    >>> power_of("I((age - 40) ** 2)")
    PowerTerm(number='age', text='(age - 40)^2')
    >>> power_of("I(age ** 2)").text, power_of("I(log(age) ** 2)")
    ('age^2', None)
    """
    inside = factor
    if factor.startswith("I(") and factor.endswith(")"):
        inside = factor[2:-1]
    match = _POWER.fullmatch(inside)
    if match is None or bool(match[1]) != bool(match[3]):
        return None
    return PowerTerm(match[2], f"{match[1]}{match[2]}{match[3]}^{match[4]}")


def _outcomes(left: str, parameters: Parameters) -> Iterator[tuple[str, str]]:
    """Question and answer of everything that the left side means."""
    questions = {law.name: law for law in parameters.questions}
    # A question's name comes before an answer's: written as question[answer], an answer
    # can always be named.
    if left in questions:
        yield from ((left, name) for name in outcome_names(questions[left]))
        return
    within = re.fullmatch(r"(.+)\[(.+)\]", left)
    if within and within[1] in questions:
        question, answer = within.groups()
        names = outcome_names(questions[question])
        if answer not in names:
            raise InputError.unknown("model", answer, names, "Name one of them.")
        yield question, answer
        return
    having = []
    for name, law in questions.items():
        # Rounds have no sums by person and pattern, which a model needs.
        once = law.again is None and len(law.rounds) == 1
        if once and left in outcome_names(law):
            having.append(name)
    if len(having) > 1:
        reason = f"{left!r} is an answer of {' and '.join(map(repr, having))}"
        remedy = f"Write {having[0]}[{left}]."
        raise InputError.because("model", reason, remedy)
    if having:
        yield having[0], left
        return
    if left != EVERY_ANSWER:
        remedy = (
            "Name a question, question[answer], an answer, or write answer for all."
        )
        raise InputError.unknown("model", left, list(questions), remedy)
    for name, law in questions.items():
        yield from ((name, answer) for answer in outcome_names(law))
